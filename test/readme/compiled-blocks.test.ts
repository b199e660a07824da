// What the README shows in TypeScript compiles as it stands, its imports complete; only the reader's own names are given.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { blocks, root, sources } from "./readme-blocks.js";

const folder = mkdtempSync(join(tmpdir(), "readme-test-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** What a reader has: settings, and a framework such as Hono. */
const reader = `
declare const baseUrl: string, tenantId: string, clientId: string, privateKey: string, authorizationEndpoint: string;
declare const credentials: readonly import("bivariant").MachineCredential[];
declare function use(data: unknown): void;
declare function show(what: unknown): void;
interface Context { readonly req: { readonly raw: Request }; json(data: unknown): Response }
type Handler = (context: Context) => Response | Promise<Response>;
declare const app: { all(path: string, handler: Handler): void; get(path: string, handler: Handler): void };
`;

const compiled = blocks("ts").filter((code) => code.includes('from "bivariant'));

/** The compiler's complaints, by the number of the block. */
function compile(codes: readonly string[]): string[] {
  const files = codes.map((code, index) => {
    const file = join(folder, `block-${index}.mts`);
    writeFileSync(file, `${code}\nexport {};\n`);
    return file;
  });
  const generated = join(folder, "generated");
  mkdirSync(generated, { recursive: true });
  for (const name of ["operations", "schemas"])
    writeFileSync(join(generated, `${name}.ts`), `export * from "${root}generated/${name}.js";\n`);
  writeFileSync(join(folder, "reader.d.ts"), reader);
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const compilerOptions = {
    ...{ target: "ES2022", module: "NodeNext", strict: true, noEmit: true, skipLibCheck: true },
    ...{ lib: ["ES2023", "DOM", "DOM.Iterable"], types: ["node"] },
    noUnusedLocals: true,
    typeRoots: [join(root, "node_modules/@types")],
    paths: Object.fromEntries(Object.entries(sources).map(([name, source]) => [name, [source]])),
  };
  const project = { compilerOptions, files: [...files, join(folder, "reader.d.ts")] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(project));
  const compiler = join(root, "node_modules/typescript-7/bin/tsc");
  const { stdout } = spawnSync(process.execPath, [compiler, "--pretty", "false"], {
    cwd: folder,
    encoding: "utf8",
  });
  return stdout.split("\n").filter((line) => line.startsWith("block-"));
}

test("every block that imports the package compiles, and uses what it imports", () => {
  expect(compiled.length).toBeGreaterThanOrEqual(4);
  expect(compile(compiled)).toEqual([]);
});

test("a block that lacks an import, or has one too many, is found", () => {
  const [first = ""] = compiled;
  const found = compile([
    first.replace(/import \{ createConnector, /, "import { "),
    `import { connect } from "bivariant";\n`,
  ]);
  expect(found.map((line) => line.replace(/\(.*error /, " ").slice(0, 16))).toEqual([
    "block-0.mts TS23",
    "block-1.mts TS61",
  ]);
});
