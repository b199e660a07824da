// What a page costs: the whole entry in one bundle, as a browser downloads it.
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { pageBundle } from "./page-bundle.js";

const MAXIMUM_BYTES = 2048;

test("the whole entry, minified and gzipped, is at most 2 kB", async () => {
  expect(gzipSync(await pageBundle(), { level: 9 }).length).toBeLessThanOrEqual(MAXIMUM_BYTES);
});

test("nothing is imported: the bundle is complete, and no other package is in it", async () => {
  expect(await pageBundle()).not.toMatch(/\b(?:import|require)\b/);
});
