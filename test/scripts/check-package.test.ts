// Breaks a small package in each way that a user would notice only after it is published.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { checkPackage } from "../../scripts/check-package.js";

type Tree = Readonly<Record<string, string>>;

const MANIFEST = {
  name: "bivariant",
  version: "1.0.0",
  type: "module",
  files: ["dist"],
  bin: { bivariant: "./dist/main.js" },
  exports: {
    ".": { types: "./dist/index.d.ts", default: "./dist/index.js" },
    "./page": { types: "./dist/page.d.ts", default: "./dist/page.js" },
    "./package.json": "./package.json",
  },
};

const SOUND: Tree = {
  "package.json": JSON.stringify(MANIFEST),
  "dist/index.js": "export const connect = 1;\n",
  "dist/index.d.ts": "export declare const connect: number;\n",
  "dist/page.js": "export const startSession = 1;\n",
  "dist/page.d.ts": "export declare const startSession: number;\n",
  "dist/main.js": `#!/usr/bin/env node\nconsole.log("Usage: bivariant");\n`,
};

const BROKEN: readonly { name: string; tree: Tree; findings: readonly RegExp[] }[] = [
  {
    name: "an entry point whose file is missing",
    tree: { "dist/page.js": "" },
    findings: [/^publint: .*exports\["\.\/page"\].*does not exist/],
  },
  {
    name: "types that are missing",
    tree: { "dist/page.d.ts": "" },
    findings: [/^publint: .*page"\]\.types.*does not exist/, /^attw: [\s\S]*bivariant\/page/],
  },
  {
    name: "an entry point that says nothing of types",
    tree: {
      "package.json": JSON.stringify({ ...MANIFEST, exports: { ".": { default: "./dist/index.js" } } }),
    },
    findings: [/^package.json: the entry point \. has no types$/],
  },
  {
    name: "an entry point that exports nothing",
    tree: { "dist/page.js": "globalThis.page = 1;\n" },
    findings: [/^import "bivariant\/page" exports nothing$/],
  },
  {
    name: "an entry point that needs what the package does not declare",
    tree: { "dist/page.js": `export * from "undeclared";\n` },
    findings: [/^import "bivariant\/page" fails: [\s\S]*Cannot find package 'undeclared'/],
  },
  {
    name: "types that need what the package does not declare",
    tree: { "dist/page.d.ts": `export { startSession } from "undeclared";\n` },
    findings: [/^the types of the installed package: .*page\.d\.ts.*Cannot find module 'undeclared'/],
  },
  {
    name: "types that need Node where a browser is meant",
    tree: { "dist/page.d.ts": `export declare const startSession: import("node:http").Server;\n` },
    findings: [/^the types of the installed package: .*page\.d\.ts.*node:http/],
  },
  {
    name: "types that need the DOM where a server is meant",
    tree: { "dist/index.d.ts": "export declare const connect: CryptoKey;\n" },
    findings: [/^the types of the installed package: .*index\.d\.ts.*CryptoKey/],
  },
  {
    name: "a file that is built but not packed",
    tree: { "package.json": JSON.stringify({ ...MANIFEST, files: ["dist/index.*", "dist/main.js"] }) },
    findings: [/^publint: .*page.*/, /^publint: .*page.*/, /^attw: /],
  },
  {
    name: "a command that does not run",
    tree: { "dist/main.js": `#!/usr/bin/env node\nthrow new Error("no command");\n` },
    findings: [/^npx bivariant --help fails: [\s\S]*no command/],
  },
];

/** An empty text plants no file. */
function plant(tree: Tree): { readonly root: string; readonly temporary: string } {
  const temporary = mkdtempSync(join(tmpdir(), "package-test-"));
  const root = join(temporary, "root");
  for (const [path, text] of Object.entries(tree)) {
    if (text === "") continue;
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  if (existsSync(join(root, "dist/main.js"))) chmodSync(join(root, "dist/main.js"), 0o755);
  // checkPackage works in the system's folder for temporary files: this one, so that leftovers are seen.
  vi.stubEnv("TMPDIR", temporary);
  return { root, temporary };
}

const planted: string[] = [];

async function findings(tree: Tree): Promise<readonly string[]> {
  const { root, temporary } = plant(tree);
  planted.push(temporary);
  const found = await checkPackage(root);
  expect(readdirSync(temporary)).toEqual(["root"]);
  return found;
}

afterEach(() => {
  vi.unstubAllEnvs();
  for (const folder of planted.splice(0)) rmSync(folder, { recursive: true });
});

test("a sound package has no finding and leaves nothing behind", async () => {
  expect(await findings(SOUND)).toEqual([]);
});

test.each(BROKEN)("$name is found", async ({ tree, findings: expected }) => {
  const found = await findings({ ...SOUND, ...tree });
  expect(found).toEqual(expected.map((pattern) => expect.stringMatching(pattern)));
});
