// How the tests run. A process runs one file after another, and there are as many processes as the
// machine has cores: the package is loaded once for each process and not for each file.
// `test/support/leaks.ts` fails a file that changes what the next one sees. Files named
// *.isolated.test.ts have a process of their own, each for the reason at its top: it replaces
// modules, or asks what was loaded or what memory is held. Files named *.long.test.ts (fuzzing,
// crowds, simulations, processes, public types, races by the hundred) run with `npm run test:long`,
// all others with `npm test`.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const shared = {
  testTimeout: 90_000,
  hookTimeout: 90_000,
  expect: { poll: { timeout: 20_000 } },
  globalSetup: "test/support/key-pool.ts",
  setupFiles: ["test/support/pooled-keys.ts", "test/support/finish.ts"],
};

/**
 * The generated code of the example consumer imports the package, which is not built while its
 * source is tested.
 */
const alias = {
  "bivariant/json-schema": new URL("src/json-schema/index.ts", import.meta.url).pathname,
};

const root = fileURLToPath(new URL(".", import.meta.url));
let consumersCode: Promise<unknown> | undefined;

/**
 * The example consumer generates its code with the command of its package.json, once, when a test
 * imports it.
 */
const generatedForConsumer = {
  name: "generated code of the example consumer",
  enforce: "pre",
  async resolveId(source: string, importer: string | undefined) {
    const example = `${root}test/examples/consumer/`;
    if (!source.startsWith("./generated/") || !importer?.startsWith(example)) return;
    const command = ["--import", "tsx", `${root}src/cli/main.ts`, "generate"];
    const flags = ["--overlay", "consumer.overlay.yaml", "--out", "generated"];
    consumersCode ??= promisify(execFile)(process.execPath, [...command, ...flags], {
      cwd: example,
    });
    await consumersCode;
    return `${example}${source.slice(2).replace(/\.js$/, ".ts")}`;
  },
} as const;

const long = "test/**/*.long.test.ts";
const isolated = "test/**/*.isolated.test.ts";
/** Journeys in three browsers, which `npm run test:browsers` and `npm run everywhere` make. */
const browsers = "test/**/*.browser.test.ts";

/** The files of `npm run test:long` that take minutes. They are small, and would otherwise start last. */
const longest = /(growth|limits|round-trip|simulation|logins)\.long\.test\.ts$/;

/** Starts the longest files first, so that no core waits for one of them at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLongest = (file: TestSpecification) => longest.test(file.moduleId);
    return [...sorted.filter(isLongest), ...sorted.filter((file) => !isLongest(file))];
  }
}

const config: ViteUserConfig = defineConfig({
  test: {
    maxWorkers: "100%",
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        plugins: [generatedForConsumer],
        resolve: { alias },
        test: {
          ...shared,
          name: "short",
          isolate: false,
          setupFiles: ["test/support/leaks.ts", ...shared.setupFiles],
          include: ["test/**/*.test.ts"],
          exclude: [long, isolated, browsers],
        },
      },
      { resolve: { alias }, test: { ...shared, name: "isolated", include: [isolated] } },
      {
        plugins: [generatedForConsumer],
        resolve: { alias },
        test: { ...shared, name: "long", include: [long], testTimeout: 300_000 },
      },
      { resolve: { alias }, test: { ...shared, name: "browsers", include: [browsers] } },
    ],
  },
});

export default config;
