// What is loaded with the emulator, and what only with the first use of it: everybody's tests wait for the former.
import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { createEmulator, parseSeedFile } from "../../src/emulator/index.js";
import { PluginClient } from "./plugin-client.js";

/** CommonJS packages; Node lists no modules of the other kind. */
const isLoaded = (name: string) =>
  Object.keys(createRequire(import.meta.url).cache).some((file) => file.includes(`/node_modules/${name}/`));

test("the parser of seed files is loaded with the first of them, and not by an emulator at work", async () => {
  const plugin = new PluginClient();
  expect((await plugin.call(await plugin.accessToken())).status).toBe(200);
  const { close } = await plugin.emulator.listen();
  await close();
  expect(isLoaded("yaml")).toBe(false);
  createEmulator(parseSeedFile("{}", "empty.yaml"));
  expect(isLoaded("yaml")).toBe(true);
});
