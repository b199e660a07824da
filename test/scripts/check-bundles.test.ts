// Lets code of the other variant into a bundle in each way it can get there.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { type Bundle, checkBundles } from "../../scripts/check-bundles.js";

type Tree = Readonly<Record<string, string>>;

const APP = `export { servicePlugin } from "bivariant"`;
const CONTROL = `export * from "bivariant"`;
const BUNDLES: readonly Bundle[] = [{ app: APP, never: ["src/variant-b.ts"], neverText: ["/v1/auth/token"] }];

const SOUND: Tree = {
  "package.json": JSON.stringify({
    name: "bivariant",
    sideEffects: false,
    exports: { ".": { default: "./dist/src/index.js" } },
  }),
  "src/index.ts": `export * from "./variant-a.js";\nexport * from "./variant-b.js";\n`,
  "src/variant-a.ts": `export const servicePlugin = "a";\n`,
  "src/variant-b.ts": `export const serviceAccount = "b";\n`,
};

const BROKEN: readonly { name: string; tree: Tree; findings: readonly string[] }[] = [
  {
    name: "a module of the other variant that is used",
    tree: {
      "src/variant-a.ts": `import { serviceAccount } from "./variant-b.js";\nexport const servicePlugin = [serviceAccount];\n`,
    },
    findings: [`${APP} contains src/variant-b.ts`],
  },
  {
    name: "a module of the other variant that is loaded later",
    tree: { "src/variant-a.ts": `export const servicePlugin = () => import("./variant-b.js");\n` },
    findings: [`${APP} contains src/variant-b.ts`],
  },
  {
    name: "data of the other variant in a shared module",
    tree: { "src/variant-a.ts": `export const servicePlugin = { A: "/a", B: "/v1/auth/token" };\n` },
    findings: [`${APP} contains the text "/v1/auth/token"`],
  },
  {
    name: "a table that names a file that moved",
    tree: { "src/index.ts": `export * from "./variant-a.js";\n` },
    findings: [
      `src/variant-b.ts is not even in ${CONTROL}: the table of scripts/check-bundles.ts is out of date`,
    ],
  },
];

let root: string | undefined;

function plant(tree: Tree): string {
  root = mkdtempSync(join(tmpdir(), "bundles-"));
  for (const [path, text] of Object.entries(tree)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

afterEach(() => {
  if (root !== undefined) rmSync(root, { recursive: true });
});

test("a bundle without the other variant has no finding", async () => {
  expect(await checkBundles(plant(SOUND), BUNDLES, CONTROL)).toEqual([]);
});

test.each(BROKEN)("$name is found", async ({ tree, findings }) => {
  expect(await checkBundles(plant({ ...SOUND, ...tree }), BUNDLES, CONTROL)).toEqual(findings);
});

test.each([
  {
    name: "an entry point without its source",
    tree: { "src/index.ts": `export * from "./gone.js";\n` },
    says: "gone",
  },
  {
    name: "a builtin of Node below an entry point",
    tree: { "src/variant-a.ts": `export { readFileSync as servicePlugin } from "node:fs";\n` },
    says: "node:fs",
  },
])("$name is found", async ({ tree, says }) => {
  const findings = await checkBundles(plant({ ...SOUND, ...tree }), BUNDLES, CONTROL);
  expect(findings).toHaveLength(1);
  expect(findings[0]).toContain(says);
});
