// The forms of plugins and operators at /_emulator: what each does, and what becomes of a bad input. Without JavaScript.
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { at, expectRefused, type Filled } from "./admin-browser.js";
import { ada } from "./launched-plugin.js";
import { PluginClient } from "./plugin-client.js";
import { newSigningKey } from "./signing-key.js";

const PLUGIN = ["acme", "reporter"];

describe("a plugin", () => {
  test("is narrowed, live: its token gets a 403; and widened again", async () => {
    const { plugin, browser } = await at("/plugins");
    const token = await plugin.accessToken();
    const id = browser.formOf("scopes", ...PLUGIN);
    expect(browser.fields(id)).toContainEqual(["scopes", "devices:read"]);
    await browser.submit(id, { scopes: undefined, do: "scopes" });
    expect((await plugin.call(token)).status).toBe(403);
    expect(plugin.lastRule()).toBe("route.narrowed");
    expect(browser.text()).toContain("Done.");
    await browser.submit(id, { scopes: "devices:read", more: "schedules:write, a:execute", do: "scopes" });
    expect((await plugin.call(token)).status).toBe(200);
    const granted = browser.fields(id).filter(([name]) => name === "scopes");
    expect(granted.map(([, value]) => value)).toEqual(["a:execute", "devices:read", "schedules:write"]);
  });

  test("is disabled and enabled, and keeps everything else", async () => {
    const { plugin, browser } = await at("/plugins");
    const token = await plugin.accessToken();
    const id = browser.formOf("enabled", ...PLUGIN);
    await browser.submit(id, { enabled: "false" });
    expect((await plugin.call(token)).status).toBe(401);
    expect(browser.text()).toContain("disabled");
    await browser.submit(id, { enabled: "true" });
    expect((await plugin.call(token)).status).toBe(200);
  });

  test("is limited to devices, to none, and to nothing any more", async () => {
    const { plugin, browser } = await at("/plugins");
    const token = await plugin.accessToken();
    const id = browser.formOf("devices", ...PLUGIN);
    const status = async () => (await plugin.call(token, "/api/v1/acme/devices/device-1")).status;
    await browser.submit(id, {
      limited: "yes",
      devices: "device-2\r\n  device with spaces \r\n\r\n",
      do: "devices",
    });
    expect(await status()).toBe(403);
    expect(browser.fields(id)).toContainEqual(["devices", "device-2\ndevice with spaces"]);
    await browser.submit(id, { devices: "device-1", do: "devices" });
    expect(await status()).toBe(200);
    await browser.submit(id, { devices: "", do: "devices" });
    expect(await status()).toBe(403);
    await browser.submit(id, { limited: undefined, do: "devices" });
    expect(await status()).toBe(200);
  });

  test("has its keys replaced, and shows their ids and thumbprints", async () => {
    const { plugin, browser } = await at("/plugins");
    const key = newSigningKey("key-2");
    const id = browser.formOf("jwks", ...PLUGIN);
    await browser.submit(id, { jwks: JSON.stringify({ keys: [key.publicJwk] }) });
    expect((await plugin.requestToken()).status).toBe(400);
    expect((await plugin.requestToken({ key })).status).toBe(200);
    const { e, kty, n } = key.publicJwk as Record<string, string>;
    const thumbprint = createHash("sha256").update(JSON.stringify({ e, kty, n })).digest("base64url");
    expect(browser.text()).toContain(`key-2 SHA-256 ${thumbprint}`);
  });

  const short = newSigningKey("key-3", 1024).publicJwk;
  const bad: { name: string; kind: string; filled: Filled; issue: RegExp }[] = [
    {
      name: "a scope that is none",
      kind: "scopes",
      filled: { more: "devices:read devices", do: "scopes" },
      issue: /^scopes\.1: must have the form/,
    },
    {
      name: "markup for a scope",
      kind: "scopes",
      filled: { more: "<script>alert(1)</script>", do: "scopes" },
      issue: /^scopes\.1: /,
    },
    {
      name: "keys that are not JSON",
      kind: "jwks",
      filled: { jwks: "no json" },
      issue: /^jwks: is not JSON$/,
    },
    { name: "keys without a list", kind: "jwks", filled: { jwks: "{}" }, issue: /^jwks\.keys: / },
    { name: "keys that are null", kind: "jwks", filled: { jwks: "null" }, issue: /^jwks: / },
    { name: "an empty list of keys", kind: "jwks", filled: { jwks: '{"keys":[]}' }, issue: /^jwks\.keys: / },
    {
      name: "a key that is too short",
      kind: "jwks",
      filled: { jwks: JSON.stringify({ keys: [short] }) },
      issue: /^jwks\.keys\.0: has 1024 bits/,
    },
    {
      name: "a plugin that nobody registered",
      kind: "enabled",
      filled: { clientId: "nobody", enabled: "false" },
      issue: /^plugin "nobody" is not registered/,
    },
    {
      name: "a tenant id that is none",
      kind: "enabled",
      filled: { tenantId: "../etc", enabled: "false" },
      issue: /^tenantId: /,
    },
  ];
  test.each(bad)("stays as it is for $name, and nothing typed is lost", async ({ kind, filled, issue }) => {
    const { plugin, browser } = await at("/plugins");
    const id = browser.formOf(kind, ...PLUGIN);
    await browser.submit(id, filled);
    expectRefused(browser, issue);
    for (const name of ["more", "jwks"]) {
      if (name in filled) expect(browser.fields(id)).toContainEqual([name, filled[name]]);
    }
    expect((await plugin.requestToken()).status).toBe(200);
  });

  test("whose private key was pasted says so, and shows it to nobody", async () => {
    const { browser } = await at("/plugins");
    const id = browser.formOf("jwks", ...PLUGIN);
    const canary = "private-canary-0123456789";
    for (const jwks of [
      `{"keys":[{"kty":"RSA","d" : "${canary}"}]}`,
      `-----BEGIN PRIVATE KEY-----\n${canary}`,
    ]) {
      await browser.submit(id, { jwks });
      expect(browser.response.status).toBe(400);
      expect(browser.issues()[0]).toMatch(/^jwks(\.keys\.0: is a private|: is not JSON)/);
      expect(browser.html).not.toContain(canary);
    }
  });
});

describe("a plugin that is unregistered", () => {
  test("is gone after a second step; its token is refused, and the page says that it is done", async () => {
    const { plugin, emulator, browser } = await at("/plugins");
    const token = await plugin.accessToken();
    const id = browser.formOf("unregister", ...PLUGIN);
    expect(browser.html).toMatch(
      new RegExp(`<details class="confirm"><summary>[^<]*</summary>\\s*<form[^>]* id="${id}"`),
    );
    await browser.submit(id);
    expect(browser.text()).toContain("Done.");
    expect(browser.text()).toContain("No plugin is registered.");
    expect((await plugin.call(token)).status).toBe(401);
    expect(plugin.lastRule()).toBe("bearer.plugin-enabled");
    expect(emulator.journal.entries({ operation: "unregisterPlugin" })).toEqual([]);
  });

  test("by somebody else meanwhile is told so, whatever was to be done with it", async () => {
    for (const [kind, filled] of [
      ["unregister", {}],
      ["enabled", { enabled: "false" }],
    ] as const) {
      const { emulator, browser } = await at("/plugins");
      emulator.unregisterPlugin({ tenantId: "acme", clientId: "reporter" });
      await browser.submit(browser.formOf(kind, ...PLUGIN), filled);
      expectRefused(browser, /^plugin "reporter" is not registered in "acme"$/);
      expect(browser.html.match(/role="alert"/g)).toHaveLength(1);
    }
  });

  test("leaves the others on the page, with their forms", async () => {
    const { emulator, browser } = await at("/plugins");
    emulator.registerPlugin({ tenantId: "umbrella", clientId: "reporter", type: "service" });
    await browser.open("/_emulator/plugins");
    await browser.submit(browser.formOf("unregister", ...PLUGIN));
    expect(browser.text()).toContain("umbrella");
    await browser.submit(browser.formOf("unregister", "umbrella", "reporter"));
    expect(browser.text()).toContain("No plugin is registered.");
  });
});

describe("an operator", () => {
  const ids = ["acme", "ada"];
  async function atOperators() {
    const plugin = new PluginClient();
    plugin.emulator.registerOperator({ ...ada, password: "engine" });
    return at("/operators", plugin);
  }

  test("gets other capabilities, live", async () => {
    const { emulator, browser } = await atOperators();
    const id = browser.formOf("operator", ...ids);
    await browser.submit(id, { scopes: undefined, more: "schedules:execute" });
    expect(browser.fields(id).filter(([name]) => name === "scopes")).toEqual([
      ["scopes", "schedules:execute"],
    ]);
    expect(browser.text()).toContain("Password set");
    expect(JSON.stringify(emulator.snapshot().state)).toContain("schedules:execute");
  });

  test("keeps theirs for a bad one", async () => {
    const { browser } = await atOperators();
    const id = browser.formOf("operator", ...ids);
    await browser.submit(id, { more: "everything" });
    expectRefused(browser, /^capabilities\.1: must have the form/);
    expect(browser.fields(id)).toContainEqual(["more", "everything"]);
    expect(browser.form(id)).toMatch(/name="more"[^>]*aria-invalid="true"/s);
  });

  test("who is unregistered is gone, and can be registered again as somebody else", async () => {
    const { emulator, browser } = await atOperators();
    await browser.submit(browser.formOf("unregister", ...ids));
    expect(browser.text()).toContain("Done.");
    expect(browser.text()).toContain("No operator is registered.");
    emulator.registerOperator(ada);
    await browser.open("/_emulator/operators");
    expect(browser.text()).toContain("Ada Lovelace");
  });
});
