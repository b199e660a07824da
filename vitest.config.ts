// How the tests run: nothing under test/ but *.test.ts, one process per file, as many as the machine has cores.
import { defineConfig, type ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 90_000,
    hookTimeout: 90_000,
    expect: { poll: { timeout: 20_000 } },
    maxWorkers: "100%",
  },
});

export default config;
