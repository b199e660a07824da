// The pages of the package and their blocks of code, for tests to compile and to run against the sources.
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { onTestFinished } from "vitest";
import { entriesFromSources, readManifest } from "../../scripts/build.js";

export const root: string = fileURLToPath(new URL("../..", import.meta.url));

export const read = (path: string): string => readFileSync(join(root, path), "utf8");

const FOLDERS_WITH_PAGES = ["openapi", "src", "test"];

/** Paths from the root, with "/". The pages of examples are not in the package. */
export const pages: readonly string[] = [
  ...readdirSync(root).filter((name) => name.endsWith(".md")),
  ...FOLDERS_WITH_PAGES.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md") && !/^(?:examples|api)\b/.test(name))
      .map((name) => `${folder}/${name.replaceAll("\\", "/")}`),
  ),
];

/** The words of a page as `wc -w` counts them, with its code and tables. */
export const wordsOf = (page: string): number => read(page).split(/\s+/).filter(Boolean).length;

export interface Block {
  readonly page: string;
  readonly language: string;
  readonly code: string;
}

export const blocks: readonly Block[] = pages.flatMap((page) =>
  [...read(page).matchAll(/^ *```(\w*)[^\n]*\n([\s\S]*?)^ *```$/gm)].map(([, language = "", code = ""]) => ({
    page,
    language,
    code,
  })),
);

/** The one block that holds the text. */
export function blockWith(language: string, text: string): string {
  const found = blocks.filter((block) => block.language === language && block.code.includes(text));
  if (found.length !== 1 || found[0] === undefined) throw new Error(`${found.length} blocks hold ${text}`);
  return found[0].code;
}

/** The source of each entry point of the package. */
export const sources: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(readManifest(root).exports).flatMap(([entry, target]) =>
    typeof target === "string" || target.default === undefined
      ? []
      : [
          [
            entry.replace(".", "bivariant"),
            join(root, relative("dist", target.default).replace(/js$/, "ts")),
          ],
        ],
  ),
);

/** A new folder below node_modules, where dependencies resolve. The caller removes it. */
export function makeCacheFolder(): string {
  mkdirSync(join(root, "node_modules/.cache"), { recursive: true });
  return mkdtempSync(join(root, "node_modules/.cache/readme-"));
}

/** Makes a folder below node_modules that is removed after the test. */
export function cacheFolder(): string {
  const folder = makeCacheFolder();
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Bundles a program that imports the package by its name; resolves with the path of a module that Node runs. */
export async function bundleProgram(
  code: string,
  folder: string,
  name: string,
  resolveDir: string = root,
): Promise<string> {
  const outfile = join(folder, name);
  await build({
    stdin: { contents: code, resolveDir, loader: "ts" },
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    outfile,
    plugins: [entriesFromSources(root)],
  });
  return outfile;
}

/** Runs a TypeScript block of a page, the one that holds the text, as a module. */
export async function importBlock<Module>(text: string): Promise<Module> {
  const file = await bundleProgram(blockWith("ts", text), cacheFolder(), "block.mjs");
  return import(pathToFileURL(file).href);
}

/** What a reader has: settings, a framework such as Hono or Express, and the folder that `generate` wrote. */
const READER = `
declare const baseUrl: string, tenantId: string, clientId: string, privateKey: string, authorizationEndpoint: string;
declare const credentials: readonly import("bivariant").MachineCredential[];
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

/** The compiler's complaints about programs, each as "name TS1234". `generated` is the folder of generated modules. */
export function compile(
  programs: Readonly<Record<string, string>>,
  generated: string = join(root, "generated"),
): string[] {
  const folder = cacheFolder();
  for (const [name, code] of Object.entries(programs)) {
    writeFileSync(join(folder, `${name}.mts`), `${code}\nexport {};\n`);
  }
  mkdirSync(join(folder, "generated"));
  for (const name of ["operations", "schemas"]) {
    writeFileSync(join(folder, "generated", `${name}.ts`), `export * from "${join(generated, name)}.js";\n`);
  }
  writeFileSync(join(folder, "reader.d.ts"), READER);
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const compilerOptions = {
    ...{ target: "ES2022", module: "NodeNext", strict: true, noEmit: true, skipLibCheck: true },
    ...{ lib: ["ES2023", "DOM", "DOM.Iterable"], types: ["node"], noUnusedLocals: true },
    experimentalDecorators: true, // of NestJS
    typeRoots: [join(root, "node_modules/@types")],
    paths: Object.fromEntries(Object.entries(sources).map(([name, source]) => [name, [source]])),
  };
  const files = [...Object.keys(programs).map((name) => `${name}.mts`), "reader.d.ts"];
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
  const compiler = join(root, "node_modules/typescript-7/bin/tsc");
  const args = [compiler, "--pretty", "false"];
  const { stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
  return stdout
    .split("\n")
    .filter((line) => /^\S+\.mts/.test(line))
    .map((line) => line.replace(/^(\S+)\.mts(\(\d+),\d+\): error (TS\d+)/, "$1$2) $3"));
}

/** The headings of a page, as links name them. */
export function anchors(page: string): readonly string[] {
  const text = read(page).replace(/^```[\s\S]*?^```/gm, "");
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

export interface Link {
  readonly page: string;
  /** Path from the root. */
  readonly file: string;
  readonly anchor: string;
}

/** The links of all pages to files of this repository. */
export const links: readonly Link[] = pages.flatMap((page) => {
  const text = read(page)
    .replace(/^ *```[\s\S]*?^ *```/gm, "")
    .replace(/`[^`\n]*`/g, "");
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = ""]) => {
    if (/^[a-z]+:/.test(target)) return [];
    const [path = "", anchor = ""] = target.split("#");
    const file = path === "" ? page : join(dirname(page), path).replaceAll("\\", "/");
    return [{ page, file, anchor }];
  });
});

/** The pages to which no chain of links leads from the first page. */
export function unreachable(
  first: string,
  all: readonly string[],
  between: readonly Pick<Link, "page" | "file">[],
): string[] {
  const found = new Set([first]);
  // A set that grows while it is read is read to its end.
  for (const page of found) for (const link of between) if (link.page === page) found.add(link.file);
  return all.filter((page) => !found.has(page));
}

export const exists = (file: string): boolean => existsSync(join(root, file));
