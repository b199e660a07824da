// What an emulator loads. The file has a process of its own, since another would have loaded the
// parser.
import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { createEmulator, parseSeedFile } from "../../src/emulator/index.js";

/** Works for CommonJS packages; Node does not list ES modules. */
function isLoaded(name: string): boolean {
  const loaded = Object.keys(createRequire(import.meta.url).cache);
  return loaded.some((file) => file.includes(`/node_modules/${name}/`));
}

test("an emulator does not load the parser of seed files, which the first seed file loads", () => {
  createEmulator();
  expect(isLoaded("yaml")).toBe(false);
  createEmulator(parseSeedFile("{}", "empty.yaml"));
  expect(isLoaded("yaml")).toBe(true);
});
