// Registrations that were taken away: an operator's, and what holds for each of the four kinds.
import { describe, expect, test } from "vitest";
import { expectNothingChanged } from "./expect-nothing-changed.js";
import { FormBrowser } from "./form-browser.js";
import { ada, LaunchedPlugin } from "./launched-plugin.js";
import { newPkce } from "./pkce.js";
import { PluginClient } from "./plugin-client.js";
import { PORTAL_SECRET, Portal } from "./portal.js";

const reporter = { tenantId: "acme", clientId: "reporter" };
const account = { tenantId: "acme", clientId: "worker", clientSecret: "open sesame" };

describe("an operator who was unregistered", () => {
  test("launches nothing, and a token that acts for them is revoked; for good", async () => {
    const plugin = new LaunchedPlugin();
    const { emulator } = plugin;
    emulator.registerOperator({ ...ada, userId: "eve" });
    const [token, code] = [await plugin.launchedToken(), plugin.launchedCode()];
    const launch = emulator.launch({ ...reporter, userId: "ada" });
    const hers = await plugin.launchedToken({ userId: "eve" });
    emulator.unregisterOperator(ada);
    expect((await plugin.call(token)).status).toBe(401);
    expect(emulator.customerLog.last()).toMatchObject({
      rule: "bearer.revoked",
      actual: "its operator was unregistered",
    });
    expect((await plugin.call(token, "/api/v1/acme/tenant-settings")).status).toBe(401);
    expect(() => plugin.launchedCode()).toThrow(expect.objectContaining({ issues: ["launch.signed-in"] }));
    emulator.registerOperator(ada);
    expect((await plugin.call(token)).status).toBe(401);
    expect(() => launch.authorize(newPkce())).toThrow(expect.objectContaining({ issues: ["launch.known"] }));
    expect((await plugin.exchange(code)).status).toBe(400);
    expect(plugin.lastRule()).toBe("code.known");
    expect((await plugin.call(hers)).status).toBe(200);
    expect((await plugin.call(await plugin.launchedToken())).status).toBe(200);
  });

  test("logs in nowhere, and what they allowed is revoked; for good", async () => {
    const portal = new Portal();
    const { emulator } = portal;
    const [tokens, code] = [await portal.tokens(), portal.loginCode()];
    emulator.unregisterOperator({ tenantId: "acme", userId: "ada" });
    expect(() => portal.loginCode()).toThrow(expect.objectContaining({ issues: ["login.credentials"] }));
    for (const again of [() => undefined, () => emulator.registerOperator(ada)]) {
      again();
      expect(await portal.statusOf(tokens.access_token)).toBe(401);
      expect((await portal.refresh(tokens.refresh_token)).status).toBe(400);
      expect(portal.lastRule()).toBe("refresh.revoked");
      expect((await portal.exchange(code)).status).toBe(400);
      expect(portal.lastRule()).toBe("client-code.known");
    }
    expect(await portal.statusOf((await portal.tokens()).access_token)).toBe(200);
  });

  test("is signed in nowhere any more, not even when they are registered anew", async () => {
    const [plugin, portal] = [new LaunchedPlugin(), new Portal()];
    const host = await new FormBrowser(plugin.emulator).open("/host/acme");
    await host.submit({ userId: "ada" });
    const login = await new FormBrowser(portal.emulator).open(portal.authorizationUrl());
    await login.submit({ userId: "ada", decision: "login" });
    for (const { emulator } of [plugin, portal]) {
      emulator.unregisterOperator(ada);
      emulator.registerOperator(ada);
    }
    expect((await host.open("/host/acme")).text()).toContain("Sign in");
    expect((await login.open(portal.authorizationUrl())).html).toContain('value="login"');
  });
});

describe("what is unregistered", () => {
  type Unregistering =
    | "unregisterPlugin"
    | "unregisterServiceAccount"
    | "unregisterApiClient"
    | "unregisterOperator";
  const rows: { name: string; method: Unregistering; input: unknown; code: string; issue?: RegExp }[] = [
    {
      name: "an unknown plugin",
      method: "unregisterPlugin",
      input: { ...reporter, clientId: "x" },
      code: "not_registered",
    },
    {
      name: "a plugin of another tenant",
      method: "unregisterPlugin",
      input: { ...reporter, tenantId: "x" },
      code: "not_registered",
    },
    {
      name: "a plugin without tenant",
      method: "unregisterPlugin",
      input: { clientId: "reporter" },
      code: "registration_invalid",
      issue: /^tenantId: /,
    },
    {
      name: "a plugin that is nothing",
      method: "unregisterPlugin",
      input: undefined,
      code: "registration_invalid",
    },
    {
      name: "an unknown service account",
      method: "unregisterServiceAccount",
      input: { clientId: "x" },
      code: "not_registered",
    },
    {
      name: "a service account of another tenant",
      method: "unregisterServiceAccount",
      input: { ...account, tenantId: "x" },
      code: "not_registered",
    },
    {
      name: "an API client for a service account",
      method: "unregisterServiceAccount",
      input: { clientId: "portal" },
      code: "not_registered",
    },
    {
      name: "a service account that is a string",
      method: "unregisterServiceAccount",
      input: "worker",
      code: "registration_invalid",
    },
    {
      name: "an unknown API client",
      method: "unregisterApiClient",
      input: { clientId: "x" },
      code: "not_registered",
    },
    {
      name: "an API client without client_id",
      method: "unregisterApiClient",
      input: {},
      code: "registration_invalid",
      issue: /^clientId: /,
    },
    {
      name: "an unknown operator",
      method: "unregisterOperator",
      input: { tenantId: "acme", userId: "x" },
      code: "not_registered",
    },
    {
      name: "an operator of another tenant",
      method: "unregisterOperator",
      input: { tenantId: "x", userId: "ada" },
      code: "not_registered",
    },
    {
      name: "an operator without userId",
      method: "unregisterOperator",
      input: { tenantId: "acme" },
      code: "registration_invalid",
      issue: /^userId: /,
    },
  ];
  test.each(rows)("$name is refused, and all others stay", async ({ method, input, code, issue }) => {
    const { emulator } = new LaunchedPlugin();
    emulator.registerServiceAccount(account);
    emulator.registerApiClient({
      clientId: "portal",
      redirectUris: ["https://portal.example/"],
      clientSecret: PORTAL_SECRET,
    });
    await expectNothingChanged(emulator, () => emulator[method](input as never), {
      code,
      issue,
      secret: "sesame",
    });
  });

  test("and is unknown is told only if it looks like an id: it may be a secret in the wrong place", () => {
    const { emulator } = new LaunchedPlugin();
    const secret = "Sesame-7x9!kQ";
    const attempts = [
      () => emulator.unregisterPlugin({ tenantId: "acme", clientId: secret }),
      () => emulator.unregisterServiceAccount({ clientId: secret }),
      () => emulator.updateServiceAccount({ clientId: secret, scopes: [] }),
      () => emulator.unregisterApiClient({ clientId: secret }),
      () => emulator.updateApiClient({ clientId: secret, name: "x" }),
      () => emulator.unregisterOperator({ tenantId: "acme", userId: secret }),
    ];
    for (const attempt of attempts) {
      expect(attempt).toThrow(/ a string of length 13 is not registered/);
    }
    expect(() => emulator.unregisterPlugin({ tenantId: "acme", clientId: "reporter-2" })).toThrow(
      'plugin "reporter-2" is not registered in "acme"',
    );
  });

  test("leaves its requests in the journal, and its refusals in the log", async () => {
    const plugin = new PluginClient();
    await plugin.requestToken({ claims: { aud: "https://elsewhere.example" } });
    plugin.emulator.unregisterPlugin(reporter);
    expect(plugin.emulator.journal.tokenRequests(reporter)).toHaveLength(1);
    expect(plugin.emulator.customerLog.entries(reporter)).toHaveLength(1);
  });
});
