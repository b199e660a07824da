// The small scripts: the bundle check, the choice of checks, .ci/run, the figures of the code.
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, expect, test } from "vitest";
import { chooseChecks } from "../../scripts/check.js";
import { type Bundle, checkBundles } from "../../scripts/check-bundles.js";
import { overBudget } from "../../scripts/measure-house.js";
import { plant, type Tree } from "./planted-tree.js";

describe("check:bundles", () => {
  const app = `export { servicePlugin } from "bivariant"`;
  const control = `export * from "bivariant"`;
  const never = { never: ["src/variant-b.ts"], neverText: ["/v1/auth/token"] };
  const bundles: readonly Bundle[] = [{ app, ...never, mostKB: 2, mostAtStartKB: 1 }];
  const large = (bytes: number) => `"${randomBytes(bytes).toString("hex")}";\n`;
  const sound: Tree = {
    "package.json": JSON.stringify({
      name: "bivariant",
      sideEffects: false,
      exports: { ".": { default: "./dist/src/index.js" } },
    }),
    "src/index.ts": `export * from "./variant-a.js";\nexport * from "./variant-b.js";\n`,
    "src/variant-a.ts": `export const servicePlugin = () => import("./lazy.js");\n`,
    "src/lazy.ts": `export const large = ${large(700)}`,
    "src/variant-b.ts": `export const serviceAccount = "b";\n`,
  };

  test("a bundle without the other variant has no findings", async () => {
    expect(await checkBundles(plant(sound), bundles, control)).toEqual([]);
  });

  const variantA = (code: string) => ({ "src/variant-a.ts": `${code}\n` });
  const other = `import { serviceAccount } from "./variant-b.js";`;
  const [index, plugin] = [`export * from "./variant-a.js";\n`, "export const servicePlugin ="];
  const both = `{ A: "/a", B: "/v1/auth/token" };`;
  const builtin = `export { readFileSync as servicePlugin } from "node:fs";`;
  const [contains, lazily] = [`${app} contains`, `() => import("./variant-b.js");`];
  const grown = { "src/lazy.ts": `export const large = ${large(2_000)}` };
  test.each<[name: string, change: Tree, finding: string]>([
    [
      "a module of the other",
      variantA(`${other}\n${plugin} [serviceAccount];`),
      `${contains} src/variant-b.ts`,
    ],
    ["a lazy module of the other", variantA(`${plugin} ${lazily}`), `${contains} src/variant-b.ts`],
    ["data of the other", variantA(`${plugin} ${both}`), `${contains} the text "/v1/auth/token"`],
    ["a large start", variantA(plugin + large(1_000)), "kB, more than its limit of 1"],
    ["large lazy modules", grown, "kB gzipped, more than its limit of 2"],
    ["no file of that name any more", { "src/index.ts": index }, "src/variant-b.ts is not in"],
    ["a builtin of Node", variantA(builtin), "node:fs"],
  ])("it is a finding that an app for one variant has %s", async (_, change, finding) => {
    const findings = await checkBundles(plant({ ...sound, ...change }), bundles, control);
    expect(findings).toEqual([expect.stringContaining(finding)]);
  });
});

describe("npm run check", () => {
  test("runs only scripts of package.json", () => {
    const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining([...chooseChecks([])]));
  });

  test.each([
    { args: ["--only", "lnt"], message: 'no check "lnt"' },
    { args: ["--onyl", "lint"], message: "--onyl" },
  ])("refuses $args", ({ args, message }) => {
    expect(() => chooseChecks(args)).toThrow(message);
  });
});

describe(".ci/run", () => {
  /**
   * `FAILS` names the scripts that fail; `REPORT` and `LONG_REPORT` are what vitest would have
   * written.
   */
  const npm = `#!/usr/bin/env bash
for word in "$@"; do
  case "$word" in
    --outputFile.json=*test:long) [ -n "$LONG_REPORT" ] && echo "$LONG_REPORT" > "\${word#*=}" ;;
    --outputFile.json=*) [ -n "$REPORT" ] && echo "$REPORT" > "\${word#*=}" ;;
  esac
done
case " $FAILS " in *" $1 "* | *" \${2:-} "*) exit 1 ;; esac
exit 0
`;
  const report = (passed: number, failed = 0, skipped = 0) =>
    JSON.stringify({ numPassedTests: passed, numFailedTests: failed, numPendingTests: skipped });
  const of = (passed: number, failed: number) => `${passed} passed, ${failed} failed`;

  test.each([
    { name: "everything passes", last: of(9, 0) },
    { name: "a long test fails", fails: "test:long", long: report(1, 1), last: of(8, 1) },
    { name: "a test file does not load", fails: "test", last: of(9, 1) },
    { name: "a short test is skipped", short: report(7, 0, 1), last: of(9, 1) },
    { name: "a check fails", fails: "check", last: of(9, 1) },
    { name: "tests and demo fail", fails: "test demo", short: report(5, 2), last: of(7, 3) },
    { name: "vitest writes no report", fails: "test", short: "", last: of(2, 1) },
    { name: "the install fails", fails: "ci", last: of(0, 1) },
  ])("ends with the totals when $name", ({ fails = "nothing", short, long, last }) => {
    // The programs are already installed, so that nothing is fetched here.
    const programs = ["chromium", "nginx", "redis-server", "redis-sentinel"];
    const planted = programs.map((name) => [`bin/${name}`, "#!/bin/sh\n"]);
    const folder = plant({ "bin/npm": npm, ...Object.fromEntries(planted) });
    cpSync(".ci", join(folder, ".ci"), { recursive: true });
    mkdirSync(join(folder, "tmp"));
    for (const name of ["npm", ...programs]) chmodSync(join(folder, "bin", name), 0o755);
    const env = {
      ...process.env,
      PATH: `${join(folder, "bin")}${delimiter}${process.env.PATH}`,
      TMPDIR: join(folder, "tmp"),
      FAILS: fails,
      REPORT: short ?? report(7),
      LONG_REPORT: long ?? report(2),
    };
    const options = { encoding: "utf8", env } as const;
    const { stdout, status } = spawnSync("bash", [join(folder, ".ci/run")], options);
    expect(stdout.trimEnd().split("\n").at(-1)).toBe(last);
    expect(status).toBe(last.endsWith(" 0 failed") ? 0 : 1);
  });
});

test("check:house reports what exceeds a held figure, and comments that are too long", () => {
  const page = (client: string) =>
    `| the client (src) | 1 tokens | ${client} |\n| the tools | 1 tokens | 0 tokens |\n` +
    "| tests | 1 lines | 1 lines |\n";
  const module = { "src/index.ts": `// ${"a".repeat(98)}\nexport const a = 1;\n` };
  const root = plant({
    ...module,
    "src/budgets.md": page("6 tokens"),
    "test/a.ts": "\n",
    "test/examples/consumer/generated/a.ts": module["src/index.ts"],
  });
  const comment = "src/index.ts:1 is a comment of 101 characters, 100 are allowed";
  expect(overBudget(root)).toEqual([comment]);
  writeFileSync(join(root, "src/budgets.md"), page("5 tokens"));
  writeFileSync(join(root, "test/a.ts"), "\n\n");
  expect(overBudget(root).slice(0, 2)).toEqual([
    "client has 6 tokens, 5 are allowed: take something away",
    "test has 2 lines, 1 are allowed: take something away",
  ]);
  writeFileSync(join(root, "src/budgets.md"), "");
  expect(overBudget(root)[0]).toBe("src/budgets.md holds no figure for client");
});
