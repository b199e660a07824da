// The option table: every choice of createEmulator is in it, and what it gives as the default is the default.
import { describe, expect, test } from "vitest";
import { createEmulator, type EmulatorOptions, options } from "../../src/emulator/index.js";
import { optionNames } from "../../src/emulator/options.js";
import { PluginClient } from "./plugin-client.js";

/** What the description has no say in: how an emulator is run, and what is in it. */
const MACHINERY = ["now", "rules", "seed", "randomSeed"];
/** Told by the entry of what they are part of. */
const PARTS = ["refreshTokens", "rateLimit.requests", "rateLimit.windowSeconds"];

test("every option of createEmulator that is a choice is in the table, and nothing else is", () => {
  const choices = optionNames.filter((name) => !MACHINERY.includes(name) && !PARTS.includes(name));
  expect(Object.keys(options).sort()).toEqual([...choices].sort());
});

test("each entry is plain data with a section, a sentence and a default", () => {
  expect(JSON.parse(JSON.stringify(options))).toEqual(options);
  for (const { section, says, default: value } of Object.values(options)) {
    expect(section).toMatch(/^(\d|not shown)/);
    expect(says).toMatch(/\.$/);
    expect(value).not.toBeUndefined();
  }
});

test("createEmulator takes each default, and is then what it is without", async () => {
  const given: Record<string, unknown> = { refreshTokens: {} };
  for (const [id, { default: value }] of Object.entries(options)) {
    const [name = "", part] = id.split(".");
    if (part === undefined) given[name] = value;
    else if (name === "refreshTokens") Object.assign(given.refreshTokens as object, { [part]: value });
  }
  const answers = async (settings: EmulatorOptions) => {
    const plugin = new PluginClient(settings);
    const refused = await plugin.requestToken({ claims: { aud: "x" } });
    const { access_token: _, ...body } = (await (await plugin.requestToken()).json()) as Record<
      string,
      unknown
    >;
    return { refused: await refused.text(), body, url: plugin.emulator.publicUrl };
  };
  expect(await answers(given as EmulatorOptions)).toEqual(await answers({}));
});

describe("createEmulator refuses", () => {
  const wrong: { name: string; settings: object }[] = [
    { name: "a bearer status that is no refusal", settings: { bearerStatus: 200 } },
    { name: "a status of another kind", settings: { pluginTokenRefusedStatus: 500 } },
    { name: "an envelope without a member", settings: { envelope: { full: "" } } },
    { name: "an extra field that is a token", settings: { tokenResponseExtras: { access_token: "x" } } },
    { name: "an extra field that is no JSON", settings: { tokenResponseExtras: { expires_in: () => 1 } } },
    { name: "another shape of revo", settings: { revoShape: "deep" } },
    { name: "an error for plugins that is no error", settings: { refusedPluginError: "nobody" } },
  ];
  test.each(wrong)("$name", ({ settings }) => {
    expect(() => createEmulator(settings)).toThrow(expect.objectContaining({ code: "option_invalid" }));
  });
});
