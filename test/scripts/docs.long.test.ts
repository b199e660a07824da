// The site of a small package, and the check of its docstrings and pages, in which each violation
// is a finding.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { pruneDeclarations } from "../../scripts/declarations.js";
import { plant, type Tree } from "./planted-tree.js";

const sound: Tree = {
  "package.json": JSON.stringify({
    name: "planted",
    version: "1.0.0",
    type: "module",
    exports: {
      ".": { types: "./dist/src/index.d.ts", default: "./dist/src/index.js" },
      "./more": { types: "./dist/src/more.d.ts", default: "./dist/src/more.js" },
    },
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

/** All are planted at once. */
const violations = [
  {
    name: "a public type has no docstring",
    file: "src/index.ts",
    from: "/** Whom to greet. */",
    to: "",
    finding: /planted\.Person \(Interface\).* does not have any documentation/,
  },
  {
    name: "a method has no docstring",
    file: "src/index.ts",
    from: "readonly name: string }",
    to: "readonly name: string; rename?(name: string): void }",
    finding: /planted\.Person\.rename \(CallSignature\).* does not have any documentation/,
  },
  {
    name: "a function has no example",
    file: "src/more.ts",
    from: " * @example\n * leaveAll([]);\n",
    to: "",
    finding: /^planted\/more\.leaveAll is a function, and its docstring has no @example/,
  },
  {
    name: "a constant that can be called has no example",
    file: "src/index.ts",
    from: " * @example\n * const value",
    to: " * const value",
    finding: /^planted\.isPerson is a function, and its docstring has no @example/,
  },
  {
    name: "an example does not compile",
    file: "src/index.ts",
    from: 'greet({ name: "Ada" })',
    to: 'greet("Ada")',
    finding: /^The example of planted\.greet\.greet does not compile: TS2345/,
  },
  {
    name: "an example uses a name that is neither public nor declared",
    file: "src/more.ts",
    from: " * leave(ada);",
    to: " * leave(grace);",
    finding: /^The example of planted\/more\.leave\.leave does not compile: TS2304/,
  },
  {
    name: "a docstring links to a name that does not exist",
    file: "src/index.ts",
    from: "{@link Person}",
    to: "{@link Persona}",
    finding: /Failed to resolve link to "Persona"/,
  },
  {
    name: "a page links to a file that does not exist",
    file: "src/part/README.md",
    from: "more.md",
    to: "gone.md",
    finding: /src\/part\/README\.md: The relative path gone\.md is not a file/,
  },
];

function docs(
  root: string,
  ...args: string[]
): { status: number | null; lines: readonly string[] } {
  const tsx = pathToFileURL("node_modules/tsx/dist/loader.mjs").href;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--import", tsx, join(process.cwd(), "scripts/docs.ts"), ...args],
    { cwd: root, encoding: "utf8" },
  );
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

test("a public type that names a bundled package is an error of the build", () => {
  const manifest = {
    name: "planted",
    exports: { ".": { types: "./dist/index.d.ts" } },
    dependencies: { zod: "4" },
  };
  const root = plant({
    "dist/index.d.ts": `export type * from "./inner.js";\nexport type { ZodType } from "zod";\n`,
    "dist/inner.d.ts": `export type { Hono } from "hono";\n`,
  });
  expect(pruneDeclarations(root, manifest)).toEqual([
    "dist/inner.d.ts names the types of hono, which is not installed.",
  ]);
});

describe("it is a finding that", () => {
  let findings: readonly string[];
  beforeAll(() => {
    const broken: Record<string, string> = { ...sound };
    for (const { file, from, to } of violations) {
      expect(broken[file]).toContain(from);
      broken[file] = broken[file]?.replace(from, to) ?? "";
    }
    const { status, lines } = docs(plant(broken), "--check");
    expect(status).toBe(1);
    findings = lines;
  }, 60_000);

  test.each(violations)("$name", ({ finding }) => {
    expect(findings.filter((one) => finding.test(one))).toHaveLength(1);
  });

  test("and nothing else is", () => {
    expect(findings).toHaveLength(violations.length);
  });
});
