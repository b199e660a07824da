// The target of the page, as printed, has the same numbers of passed and skipped tests in every
// runner.
import { execFile } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify, stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { blockWith, bundleProgram, makeCacheFolder, root } from "../readme/pages.js";

const folder = makeCacheFolder();
const modules = join(root, "node_modules");
/** Jest and vitest leave out what is below node_modules, where this folder is. */
const jestConfig = JSON.stringify({
  rootDir: folder,
  transform: {},
  haste: { retainAllFiles: true },
  testMatch: ["**/jest-globals.test.mjs"],
  testPathIgnorePatterns: [],
});
const vitestConfig = 'export default { test: { include: ["vitest.test.mjs"], exclude: [] } };';

/** Of each runner the module, the program that runs the file, and how its report names a number. */
const runners = {
  "node:test": {
    run: (file: string) => ["--test", "--test-reporter=tap", file],
    count: (of: string) => `# ${of}[a-z]* (\\d+)$`,
  },
  vitest: {
    run: (file: string) => [join(modules, "vitest/vitest.mjs"), "run", "--root", folder, file],
    count: (of: string) => `Tests .*?(\\d+) ${of}[a-z]*\\b`,
  },
  "@jest/globals": {
    run: () => [
      "--experimental-vm-modules",
      join(modules, "jest/bin/jest.js"),
      "--config",
      jestConfig,
    ],
    count: (of: string) => `^Tests: .*?(\\d+) ${of}[a-z]*\\b`,
  },
  "bun:test": {
    run: (file: string) => ["test", file],
    count: (of: string) => `^ *(\\d+) ${of}[a-z]*$`,
  },
} as const;

/** What describeContract defines, which every runner must show. */
const defined = { passed: 0, skipped: 0 };

beforeAll(async () => {
  const page = blockWith("ts", "const target: ContractTarget = {").replace(/^use\(.*\);$/m, "");
  await writeFile(join(folder, "vitest.config.mjs"), vitestConfig);
  const end = `import { describeContract, type TestRunner } from "bivariant/contract";
    export const run = (runner: TestRunner) => describeContract(runner, target, options);`;
  const { run } = await import(await bundleProgram(page + end, folder, "page.mjs"));
  const test = Object.assign(() => void defined.passed++, { skip: () => void defined.skipped++ });
  await run({ describe: (_: string, define: () => void) => define(), test });
});

afterAll(() => rm(folder, { recursive: true, force: true }));

test.each(Object.keys(runners) as (keyof typeof runners)[])(
  "in %s no case that was not tried shows as passed",
  async (module) => {
    const name = `${module.replace("@", "").replace(/\W/g, "-")}.test.mjs`;
    const lines = [
      `import { describe, test } from "${module}";`,
      'import { run } from "./page.mjs";',
      "await run({ describe, test });",
    ];
    await writeFile(join(folder, name), lines.join("\n"));
    const { run, count } = runners[module];
    const program = module === "bun:test" ? join(modules, ".bin/bun") : process.execPath;
    // Vitest must not take the program for one of its own workers, nor node:test for a child of a
    // test.
    const env = Object.fromEntries(
      Object.entries(process.env).filter(([key]) => !/VITEST|NODE_TEST/.test(key)),
    );
    const options = { cwd: folder, env: { ...env, NO_COLOR: "1" } };
    const { stdout, stderr } = await promisify(execFile)(program, run(join(folder, name)), options);
    const report = stripVTControlCharacters(stdout + stderr);
    const counted = ["pass", "skip"].map((of) =>
      Number(new RegExp(count(of), "m").exec(report)?.[1]),
    );
    expect(counted, report).toEqual([defined.passed, defined.skipped]);
    expect(defined.skipped).toBeGreaterThan(50);
  },
);

test("the file of the page tests an emulated deployment, which it starts and stops", async () => {
  const command = `spawn(process.execPath, ["--import", "tsx", "${join(root, "src/cli/main.ts")}", `;
  const code = blockWith("js", "// deployment.mjs").replace(
    'spawn("node_modules/.bin/bivariant", [',
    command,
  );
  const file = await bundleProgram(code, folder, "deployment.mjs");
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([key]) => !/VITEST|NODE_TEST|BIVARIANT/.test(key)),
  );
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--test", "--test-reporter=tap", file],
    { cwd: root, env },
  );
  const numberOf = (name: string) =>
    Number(new RegExp(`^# ${name} (\\d+)$`, "m").exec(stdout)?.[1]);
  expect(numberOf("fail"), stdout).toBe(0);
  expect(numberOf("pass")).toBeGreaterThan(50);
});
