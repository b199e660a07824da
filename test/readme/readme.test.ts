/** Holds the README against what is there: its example runs as written, its tables are complete. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const readme = read("README.md");
const example = /```js\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";

/** Beside the sources, so that the package's own name leads to them instead of to a build. */
const file = join(root, "test/readme/first-example.tmp.ts");
afterAll(() => rmSync(file, { force: true }));

function run(source: string) {
  const fromSources = source
    .replace('"bivariant/emulator"', '"../../src/emulator/index.js"')
    .replace('"bivariant"', '"../../src/index.js"');
  writeFileSync(file, fromSources);
  return spawnSync(process.execPath, ["--import", "tsx", file], {
    cwd: root,
    encoding: "utf8",
    timeout: 20_000,
  });
}

describe("the first example", () => {
  test("has at most 20 lines", () => {
    expect(example.trim().split("\n").length).toBeLessThanOrEqual(20);
    expect(example).toContain('from "bivariant"');
  });

  test.each([
    { name: "as written", from: "", to: "", variant: "A" },
    { name: "on the other variant, as its comment suggests", from: '["A"]', to: '["B"]', variant: "B" },
  ])("runs $name and lists three devices", ({ from, to, variant }) => {
    const { status, stdout, stderr } = run(example.replace(from, to));
    expect(stderr).toBe("");
    expect(status).toBe(0);
    expect(stdout).toContain(`Variant ${variant}:`);
    expect(stdout.match(/id: 'device-/g)).toHaveLength(3);
  });

  test("fails visibly on neither", () => {
    const { status, stderr } = run(example.replace('["A"]', "[]"));
    expect(status).not.toBe(0);
    expect(stderr).toContain("variant_not_served");
  });
});

describe("the tables", () => {
  const unions = read("src/errors.ts").match(/export type \w*ErrorCode =[^;]+;/g) ?? [];
  const codes = unions.flatMap((union) => [...union.matchAll(/"([a-z_]+)"/g)].map(([, code]) => code));

  test("the error table names every code", () => {
    expect(codes.length).toBeGreaterThan(30);
    expect(codes.filter((code) => !readme.includes(`\`${code}\``))).toEqual([]);
  });

  test("the event table names every type", () => {
    const types = [...read("src/auth/events.ts").matchAll(/type: "([a-z_]+)"/g)].map(([, type]) => type);
    expect(types.length).toBeGreaterThan(10);
    expect(types.filter((type) => !readme.includes(`\`${type}\``))).toEqual([]);
  });

  test("the table of a page's errors names every code", () => {
    const codesOfPages = [...read("src/page/page-error.ts").matchAll(/^ {2}\| "([a-z_]+)"/gm)].map(
      ([, code]) => code,
    );
    expect(codesOfPages.length).toBeGreaterThan(15);
    const table = /rejects with a `PageError`([\s\S]*?)\n### /.exec(readme)?.[1] ?? "";
    expect(codesOfPages.filter((code) => !table.includes(`\`${code}\``))).toEqual([]);
  });

  test("the table of settings names every variable", () => {
    const variables = [...read("src/cli/settings.ts").matchAll(/env: "(\w+)"/g)].map(([, name = ""]) =>
      name.replace(/_FILE$/, (end) => (name === "BIVARIANT_STORE_FILE" ? end : "")),
    );
    expect(variables.length).toBeGreaterThan(15);
    expect(variables.filter((name) => !readme.includes(`\`${name}\``))).toEqual([]);
  });

  test("what finds a person's tokens again is given by every function of the table", () => {
    const calls = [
      ...readme.matchAll(/^\| `(?:redeemLaunch|beginLogin|completeLogin|resumeAuth)\((.*?)\)`/gm),
    ];
    expect(calls).toHaveLength(4);
    for (const [, options = ""] of calls) expect(options).toContain("baseUrl, tenantId, credential");
  });

  test("what only a clone holds is said to be there", () => {
    const paragraphs = readme.split("\n\n");
    const ofClones = paragraphs.filter((text) => /\btest\/|npm run |npm ci/.test(text));
    expect(ofClones.length).toBeGreaterThan(2);
    // The first block of commands follows the sentence that says so; the tree is under its own title.
    const unsaid = ofClones.filter(
      (text) => !/repository/.test(text) && !/^(?:```sh\nnpm ci| {4})/.test(text),
    );
    expect(unsaid).toEqual([]);
  });

  test("every folder of the tree is there", () => {
    const tree = /## The tree\n\n([\s\S]*?)\n\n/.exec(readme)?.[1] ?? "";
    const folders = [...tree.matchAll(/^ {4}([\w/]+)\//gm)].map(([, folder]) => folder ?? "");
    expect(tree.split("\n").length).toBeLessThanOrEqual(10);
    expect(folders.length).toBeGreaterThan(6);
    expect(folders.filter((folder) => !existsSync(join(root, folder)))).toEqual([]);
  });

  test("the two commands call scripts that are there", () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    expect(readme).toContain("npm ci && npm run demo");
    expect(readme).toContain("npm ci && npm test");
    expect(scripts.demo).toBeDefined();
    expect(scripts.test).toBeDefined();
  });
});
