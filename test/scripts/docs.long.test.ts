// The site of a small package, and the check of its docstrings and pages, in which each violation
// is a finding.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { pruneDeclarations } from "../../scripts/declarations.js";
import { plant, type Tree } from "./planted-tree.js";

const entry = (name: string) => ({
  types: `./dist/src/${name}.d.ts`,
  default: `./dist/src/${name}.js`,
});
const sound: Tree = {
  "package.json": JSON.stringify({
    name: "planted",
    version: "1.0.0",
    type: "module",
    exports: { ".": entry("index"), "./more": entry("more") },
  }),
  "tsconfig.build.json": JSON.stringify({
    compilerOptions: { module: "NodeNext", target: "ES2022", strict: true, types: [] },
    include: ["src"],
  }),
  "CHANGELOG.md": "# Changelog\n",
  "openapi/README.md": "# The description\n",
  "test/README.md": "# Tests\n",
  "README.md": "# Planted\n\nSee [the part](src/part/README.md).\n",
  "src/part/README.md": "# The part\n\nSee [more](more.md).\n",
  "src/part/more.md": "# More\n\nSee [the first page](../../README.md).\n",
  "src/index.ts": `
interface Hidden { readonly secret: string }
/** Whom to greet. */
export interface Person { readonly name: string }
/** Names a type that is not public. */
export type Known = Hidden | Person;
/**
 * Greets a {@link Person}.
 *
 * @example
 * const text = greet({ name: "Ada" });
 */
export function greet(person: Person): string { return person.name }
/**
 * Whether a value is a person.
 *
 * @function
 * @example
 * const value: unknown = { name: "Ada" };
 * if (isPerson(value)) greet(value);
 */
export const isPerson: (value: unknown) => value is Person = (value): value is Person => value instanceof Object;
`,
  "src/more.ts": `
import type { Person } from "./index.js";
/**
 * Takes leave of a person, with names of this entry and of the main one.
 *
 * @example
 * const ada: Person = { name: "Ada" };
 * leave(ada);
 */
export function leave(person: Person): void { person.name }
/**
 * Takes leave of many.
 *
 * @example
 * leaveAll([]);
 */
export function leaveAll(persons: readonly (Person | undefined)[]): void { persons.length }
`,
};

const name = "readonly name: string";
const rename = `${name}; rename?(name: string): void }`;
/** What replaces a text of a file, and the finding about it. */
const violations: [file: string, from: string, to: string, finding: RegExp][] = [
  ["src/index.ts", "/** Whom to greet. */", "", /Person \(Interface\).* not have any documentat/],
  ["src/index.ts", `${name} }`, rename, /Person\.rename \(CallSig.* not have any documentation/],
  ["src/more.ts", " * @example\n * leaveAll([]);\n", "", /^planted\/more\.leaveAll .* no @example/],
  ["src/index.ts", " * @example\n * const value", " * const value", /^planted\.isPerson .* no @ex/],
  ["src/index.ts", 'greet({ name: "Ada" })', 'greet("Ada")', /greet does not compile: TS2345/],
  ["src/more.ts", " * leave(ada);", " * leave(grace);", /leave does not compile: TS2304/],
  ["src/index.ts", "{@link Person}", "{@link Persona}", /Failed to resolve link to "Persona"/],
  ["src/part/README.md", "more.md", "gone.md", /README\.md: The relative path gone\.md is not a/],
];

function docs(cwd: string, ...args: string[]) {
  const tsx = pathToFileURL("node_modules/tsx/dist/loader.mjs").href;
  const command = ["--import", tsx, join(process.cwd(), "scripts/docs.ts"), ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, {
    cwd,
    encoding: "utf8",
  });
  return { status, lines: `${stdout}${stderr}`.trim().split("\n") };
}

test("the site of a sound package has its pages, its entries, and the types that are not public", () => {
  const root = plant(sound);
  expect(docs(root)).toEqual({ status: 0, lines: ["site/: 2 entries and 5 pages"] });
  const pages = [
    ...["index.html", "assets/search.js", "documents/More.html", "modules/planted_more.html"],
    ...["functions/planted.greet.html", "interfaces/planted.Other_types.Hidden.html"],
  ];
  expect(pages.filter((page) => !existsSync(join(root, "site", page)))).toEqual([]);
  // The compiler's options count, such as strictNullChecks.
  const signature = readFileSync(join(root, "site/functions/planted_more.leaveAll.html"), "utf8");
  expect(signature).toContain('<span class="tsd-signature-type">undefined</span>');
}, 60_000);

test("each violation is a finding, and nothing else is", () => {
  const broken: Record<string, string> = { ...sound };
  for (const [file, from, to] of violations) {
    expect(broken[file]).toContain(from);
    broken[file] = broken[file]?.replace(from, to) ?? "";
  }
  const { status, lines } = docs(plant(broken), "--check");
  expect(status).toBe(1);
  for (const [, , , finding] of violations)
    expect(lines.filter((line) => finding.test(line))).toHaveLength(1);
  expect(lines).toHaveLength(violations.length);
}, 60_000);

test("a public type that names a bundled package is an error of the build", () => {
  const exports = { ".": { types: "./dist/index.d.ts" } };
  const root = plant({
    "dist/index.d.ts": `export type * from "./inner.js";\nexport type { ZodType } from "zod";\n`,
    "dist/inner.d.ts": `export type { Hono } from "hono";\n`,
  });
  const manifest = { name: "planted", exports, dependencies: { zod: "4" } };
  const finding = "dist/inner.d.ts names the types of hono, which is not installed.";
  expect(pruneDeclarations(root, manifest)).toEqual([finding]);
});
