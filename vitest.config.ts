// How the tests run. A process runs one file after another, and there are as many processes as the machine has cores:
// the package is loaded once for each process and not for each file. `test/support/leaks.ts` fails a file that changes
// what the next one sees. Files named *.isolated.test.ts have a process of their own, each for the reason at its top:
// it replaces modules, or asks what was loaded. Files named *.long.test.ts (fuzzing, crowds, simulations, races by the
// hundred) run with `npm run test:long`, all others with `npm test`.
import { defineConfig, type ViteUserConfig } from "vitest/config";

const shared = {
  testTimeout: 90_000,
  hookTimeout: 90_000,
  expect: { poll: { timeout: 20_000 } },
  globalSetup: "test/support/key-pool.ts",
  setupFiles: ["test/support/pooled-keys.ts", "test/support/leaks.ts"],
};

/** The generated code of the example consumer imports the package, which is not built while its source is tested. */
const alias = {
  "bivariant/json-schema": new URL("src/json-schema/index.ts", import.meta.url).pathname,
};

const long = "test/**/*.long.test.ts";
const isolated = "test/**/*.isolated.test.ts";

const config: ViteUserConfig = defineConfig({
  test: {
    maxWorkers: "100%",
    projects: [
      {
        resolve: { alias },
        test: {
          ...shared,
          name: "short",
          isolate: false,
          include: ["test/**/*.test.ts"],
          exclude: [long, isolated],
        },
      },
      { test: { ...shared, name: "isolated", include: [isolated] } },
      { test: { ...shared, name: "long", include: [long], testTimeout: 300_000 } },
    ],
  },
});

export default config;
