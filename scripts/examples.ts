// Compiles the examples of pages and docstrings against the sources, as a reader's project would
// against the package.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readManifest } from "./build.js";

const repository = fileURLToPath(new URL("..", import.meta.url));

/**
 * The source of each entry point of the package at `root`, by the name with which it is imported.
 */
export function entrySources(root: string): Readonly<Record<string, string>> {
  const { name, exports } = readManifest(root);
  return Object.fromEntries(
    Object.entries(exports).flatMap(([entry, target]) =>
      typeof target === "string" || target.default === undefined
        ? []
        : [
            [
              entry.replace(".", name),
              join(root, target.default.replace("dist/", "").replace(/js$/, "ts")),
            ],
          ],
    ),
  );
}

/** Makes a new folder below node_modules, where dependencies resolve. The caller removes it. */
export function makeCacheFolder(): string {
  const cache = join(repository, "node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  return mkdtempSync(join(cache, "examples-"));
}

/**
 * What a reader has: settings, a framework such as Hono or Express, and the folder that `generate`
 * wrote.
 */
const READER = `
declare const baseUrl: string, tenantId: string, clientId: string, privateKey: string, authorizationEndpoint: string;
declare const credentials: readonly import("bivariant").MachineCredential[];
declare const customers: readonly import("bivariant").ConnectTarget[];
declare const accounts: ReadonlyMap<string, { clientId: string; clientSecret: string }>;
declare function use(data: unknown): void;
declare function show(what: unknown): void;
interface Context { readonly req: { readonly raw: Request }; json(data: unknown): Response }
type Handler = (context: Context) => Response | Promise<Response>;
declare module "cloudflare:workers" { export function waitUntil(promise: Promise<unknown>): void }
declare const app: { all(path: string, handler: Handler): void; get(path: string, handler: Handler): void };
declare module "express" {
  type Response = import("node:http").ServerResponse & { json(data: unknown): void };
  type Handler = (req: import("node:http").IncomingMessage, res: Response) => unknown;
  type Add = (path: string, handler: Handler) => void;
  export default function express(): { use: Add; get: Add; listen(port: number): import("node:http").Server };
}
`;

/**
 * Returns the compiler's complaints about programs, each as "name(line) TS1234: message".
 * `generated` is what `generate` wrote.
 */
export function compile(
  programs: Readonly<Record<string, string>>,
  generated: string = join(repository, "generated"),
  root: string = repository,
): string[] {
  const folder = makeCacheFolder();
  try {
    for (const [name, code] of Object.entries(programs)) {
      writeFileSync(join(folder, `${name}.mts`), `${code}\nexport {};\n`);
    }
    mkdirSync(join(folder, "generated"));
    for (const name of ["operations", "schemas"]) {
      const text = `export * from "${join(generated, name)}.js";\n`;
      writeFileSync(join(folder, "generated", `${name}.ts`), text);
    }
    writeFileSync(join(folder, "reader.d.ts"), READER);
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    const sources = Object.entries(entrySources(root));
    const compilerOptions = {
      target: "ES2022",
      module: "NodeNext",
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      lib: ["ES2023", "DOM", "DOM.Iterable"],
      types: ["node"],
      noUnusedLocals: true,
      experimentalDecorators: true, // of NestJS
      typeRoots: [join(repository, "node_modules/@types")],
      paths: Object.fromEntries(sources.map(([name, source]) => [name, [source]])),
    };
    const files = [...Object.keys(programs).map((name) => `${name}.mts`), "reader.d.ts"];
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
    const args = [join(repository, "node_modules/typescript-7/bin/tsc"), "--pretty", "false"];
    const { stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
    return stdout
      .split("\n")
      .filter((line) => /^\S+\.mts/.test(line))
      .map((line) => line.replace(/^(\S+)\.mts(\(\d+),\d+\): error (TS\d+)/, "$1$2) $3"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
