// How the tests run: one process per file, as many as the machine has cores. Files named *.long.test.ts (fuzzing, crowds,
// simulations, races by the hundred) run with `npm run test:long`, all others with `npm test`.
import { defineConfig, type ViteUserConfig } from "vitest/config";

const shared = {
  testTimeout: 90_000,
  hookTimeout: 90_000,
  expect: { poll: { timeout: 20_000 } },
  globalSetup: "test/support/key-pool.ts",
  setupFiles: "test/support/pooled-keys.ts",
};

/** The generated code of the example consumer imports the package, which is not built while its source is tested. */
const alias = {
  "bivariant/json-schema": new URL("src/json-schema/index.ts", import.meta.url).pathname,
};

const config: ViteUserConfig = defineConfig({
  test: {
    maxWorkers: "100%",
    projects: [
      {
        resolve: { alias },
        test: {
          ...shared,
          name: "short",
          include: ["test/**/*.test.ts"],
          exclude: ["test/**/*.long.test.ts"],
        },
      },
      { test: { ...shared, name: "long", include: ["test/**/*.long.test.ts"], testTimeout: 300_000 } },
    ],
  },
});

export default config;
