// A plugin that was unregistered: "registered and enabled, or registered and disabled, or not registered" (section 3).
import { describe, expect, test } from "vitest";
import { createEmulator } from "../../src/emulator/index.js";
import { FormBrowser } from "./form-browser.js";
import { LaunchedPlugin } from "./launched-plugin.js";
import { newPkce } from "./pkce.js";
import { PluginClient, pluginKey, rejectedWith, rejection } from "./plugin-client.js";

const reporter = { tenantId: "acme", clientId: "reporter" };
const asRegistered = {
  ...reporter,
  jwks: { keys: [pluginKey.publicJwk] },
  scopes: ["devices:read"],
} as const;

describe("a plugin that was unregistered", () => {
  test("is refused a token as one that never was, and its token as a disabled plugin's is", async () => {
    const plugin = new PluginClient();
    const token = await plugin.accessToken();
    plugin.emulator.unregisterPlugin(reporter);
    expect(await rejection(await plugin.requestToken())).toEqual(rejectedWith("invalid_grant"));
    expect(plugin.lastRule()).toBe("plugin.registered");
    expect((await plugin.call(token)).status).toBe(401);
    expect(plugin.emulator.customerLog.last()).toMatchObject({
      rule: "bearer.plugin-enabled",
      actual: "not registered",
    });
  });

  test("differs for the caller in nothing from one that never was", async () => {
    const plugin = new PluginClient();
    const never = await plugin.requestToken({ form: { client_id: "nobody" } });
    plugin.emulator.unregisterPlugin(reporter);
    const gone = await plugin.requestToken();
    expect([...gone.headers]).toEqual([...never.headers]);
    expect(await rejection(gone)).toEqual(await rejection(never));
  });

  test("and is registered anew gets tokens, and has none of its former ones", async () => {
    const plugin = new PluginClient();
    const [token, form] = [await plugin.accessToken(), plugin.form()];
    await plugin.post(form);
    plugin.emulator.unregisterPlugin(reporter);
    plugin.emulator.registerPlugin({ ...asRegistered, type: "service" });
    expect((await plugin.call(token)).status).toBe(401);
    expect(plugin.emulator.customerLog.last()).toMatchObject({
      rule: "bearer.plugin-enabled",
      actual: "registered anew: a token of its former registration",
    });
    expect((await plugin.call(await plugin.accessToken())).status).toBe(200);
    // Nobody forgets an assertion that was accepted.
    expect((await plugin.post(form)).status).toBe(400);
    expect(plugin.lastRule()).toBe("assertion.replay");
    plugin.emulator.rules.enforce("bearer.plugin-enabled", false);
    expect((await plugin.call(token)).status).toBe(200);
  });

  test("leaves the plugin of that name in another tenant alone, and every other one", async () => {
    const plugin = new PluginClient();
    const { emulator } = plugin;
    emulator.registerPlugin({ ...asRegistered, tenantId: "umbrella", type: "service" });
    emulator.registerPlugin({ ...asRegistered, clientId: "other", type: "service" });
    const elsewhere = await plugin.accessToken({ tenantId: "umbrella" });
    const claims = { iss: "other", sub: "other" };
    const others = await plugin.accessToken({ claims, form: { client_id: "other" } });
    emulator.unregisterPlugin(reporter);
    expect((await plugin.call(elsewhere, "/api/v1/umbrella/devices")).status).toBe(200);
    expect((await plugin.call(others)).status).toBe(200);
    expect((await plugin.requestToken({ tenantId: "umbrella" })).status).toBe(200);
  });

  test("has no launches and no codes, neither then nor when it is registered anew", async () => {
    const plugin = new LaunchedPlugin();
    const { emulator } = plugin;
    const [code, late] = [plugin.launchedCode(), plugin.launchedCode()];
    const launch = emulator.launch({ ...reporter, userId: "ada" });
    emulator.unregisterPlugin(reporter);
    expect(() => emulator.launch({ ...reporter, userId: "ada" })).toThrow(/not registered/);
    expect(() => launch.authorize(newPkce())).toThrow(expect.objectContaining({ code: "launch_refused" }));
    expect(await rejection(await plugin.exchange(code))).toEqual(rejectedWith("invalid_grant"));
    expect(plugin.lastRule()).toBe("plugin.registered");
    emulator.registerPlugin({ ...asRegistered, type: "user_interface" });
    expect(() => launch.authorize(newPkce())).toThrow(expect.objectContaining({ issues: ["launch.known"] }));
    expect((await plugin.exchange(late)).status).toBe(400);
    expect(plugin.lastRule()).toBe("code.known");
    expect((await plugin.exchange(plugin.launchedCode())).status).toBe(200);
  });

  test("is in the host application's sidebar no longer", async () => {
    const { emulator } = new LaunchedPlugin({}, { name: "Planner" });
    const browser = await new FormBrowser(emulator).open("/host/acme");
    await (await browser.submit({ userId: "ada" })).follow();
    expect(browser.text()).toContain("Planner");
    emulator.unregisterPlugin(reporter);
    expect((await browser.open("/host/acme")).text()).not.toContain("Planner");
  });

  test("keeps its test key, and has the same when it is registered anew", () => {
    const emulator = createEmulator({ seed: { plugins: [{ ...reporter, type: "service" }] } });
    const key = emulator.testKey(reporter);
    emulator.unregisterPlugin(reporter);
    expect(emulator.testKey(reporter)).toEqual(key);
    emulator.registerPlugin({ ...reporter, type: "service" });
    expect(emulator.testKey(reporter)).toEqual(key);
  });
});
