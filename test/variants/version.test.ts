// The version that the User-Agent tells is that of the package.
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { version } from "../../src/version.js";

test("the version is that of package.json", async () => {
  const manifest = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
  expect(version).toBe(manifest.version);
});
