// How the tests run: nothing under test/ but *.test.ts, one process per file, as many as the machine has cores.
import { defineConfig, type ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    maxWorkers: "100%",
  },
});

export default config;
