// What unregistering ends, for each kind of registration.
import { describe, expect, test } from "vitest";
import { createEmulator, type Emulator } from "../../src/emulator/index.js";
import { expectNothingChanged } from "./expect-nothing-changed.js";
import { FormBrowser } from "./form-browser.js";
import { ada, LaunchedPlugin } from "./launched-plugin.js";
import { newPkce } from "./pkce.js";
import { PluginClient, pluginKey, rejectedWith, rejection } from "./plugin-client.js";
import { PORTAL_SECRET, Portal } from "./portal.js";

describe("plugins", () => {
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
      // An accepted assertion is still remembered.
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
      expect(() => launch.authorize(newPkce())).toThrow(
        expect.objectContaining({ issues: ["launch.known"] }),
      );
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
});

describe("service accounts and API clients", () => {
  const account = { tenantId: "acme", clientId: "worker", clientSecret: "open sesame" };

  describe("a service account that was unregistered", () => {
    const ask = (emulator: Emulator, { clientId, clientSecret } = account) => {
      const body = { grant_type: "client_credentials", client_id: clientId, client_secret: clientSecret };
      const headers = { "content-type": "application/json" };
      return emulator.fetch("/v1/auth/token", { method: "POST", headers, body: JSON.stringify(body) });
    };

    test("is unknown, and its token is revoked; for good, whoever has its client_id then", async () => {
      const portal = new Portal();
      const { emulator } = portal;
      emulator.registerServiceAccount(account);
      const { access_token: token } = (await (await ask(emulator)).json()) as { access_token: string };
      expect(await portal.statusOf(token)).toBe(200);
      emulator.unregisterServiceAccount(account);
      expect((await ask(emulator)).status).toBe(401);
      expect(portal.lastRule()).toBe("client.authentication");
      expect(await portal.statusOf(token)).toBe(401);
      expect(emulator.customerLog.last()).toMatchObject({
        rule: "bearer.revoked",
        actual: "its service account was unregistered",
      });
      emulator.registerServiceAccount({ ...account, tenantId: "umbrella" });
      expect(await portal.statusOf(token)).toBe(401);
      expect((await ask(emulator)).status).toBe(200);
      emulator.rules.enforce("bearer.revoked", false);
      expect(await portal.statusOf(token)).toBe(200);
    });

    test("leaves its client_id to an API client, whose tokens are its own", async () => {
      const portal = new Portal();
      const { emulator } = portal;
      emulator.registerServiceAccount(account);
      emulator.unregisterServiceAccount({ clientId: "worker" });
      const redirectUris = ["https://worker.example/"];
      emulator.registerApiClient({ clientId: "worker", redirectUris });
      const mine = { client_id: "worker", redirect_uri: redirectUris[0] };
      const tokens = await portal.tokens(await portal.exchange(portal.loginCode(mine), mine));
      expect(await portal.statusOf(tokens.access_token)).toBe(200);
    });
  });

  test("a plugin and a service account of one name are two: each is unregistered alone", async () => {
    const plugin = new PluginClient();
    const { emulator } = plugin;
    const reporter = { tenantId: "acme", clientId: "reporter" };
    const worker = { ...account, clientId: "reporter" };
    const ofBoth = async () => {
      const token = await plugin.accessToken();
      const body = {
        grant_type: "client_credentials",
        client_id: "reporter",
        client_secret: account.clientSecret,
      };
      const init = {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      };
      const { access_token } = (await (await emulator.fetch("/v1/auth/token", init)).json()) as {
        access_token: string;
      };
      return async () => [
        (await plugin.call(token)).status,
        (await plugin.call(access_token, "/v1/devices")).status,
      ];
    };
    emulator.registerServiceAccount(worker);
    const first = await ofBoth();
    emulator.unregisterPlugin(reporter);
    expect(await first()).toEqual([401, 200]);
    emulator.registerPlugin({
      ...reporter,
      type: "service",
      jwks: { keys: [pluginKey.publicJwk] },
      scopes: ["devices:read"],
    });
    const second = await ofBoth();
    emulator.unregisterServiceAccount(worker);
    expect(await second()).toEqual([200, 401]);
    expect(await first()).toEqual([401, 401]);
  });

  describe("an API client that was unregistered", () => {
    test("is unknown, and what people allowed it is revoked; for good", async () => {
      const portal = new Portal();
      const { emulator } = portal;
      const tokens = await portal.tokens();
      const code = portal.loginCode();
      emulator.unregisterApiClient({ clientId: "portal" });
      expect((await portal.refresh(tokens.refresh_token)).status).toBe(401);
      expect((await portal.exchange(code)).status).toBe(401);
      expect(portal.lastRule()).toBe("api-client.authentication");
      expect(() => portal.loginCode()).toThrow(expect.objectContaining({ issues: ["authorization.client"] }));
      expect(await portal.statusOf(tokens.access_token)).toBe(401);
      expect(emulator.customerLog.last()).toMatchObject({
        rule: "bearer.revoked",
        actual: "its login was revoked",
      });
      emulator.registerApiClient({ clientId: "portal", redirectUris: ["https://portal.example/callback"] });
      expect(await portal.statusOf(tokens.access_token)).toBe(401);
      expect((await portal.refresh(tokens.refresh_token)).status).toBe(400);
      expect(portal.lastRule()).toBe("refresh.revoked");
      expect((await portal.exchange(code)).status).toBe(400);
      expect(portal.lastRule()).toBe("client-code.known");
      expect(await portal.statusOf((await portal.tokens()).access_token)).toBe(200);
    });

    test("ends the logins in progress: the person is told, and no code is handed out", async () => {
      const portal = new Portal();
      const browser = await new FormBrowser(portal.emulator).open(portal.authorizationUrl());
      await (await browser.submit({ userId: "ada", decision: "login" })).follow();
      portal.emulator.unregisterApiClient({ clientId: "portal" });
      await browser.submit({ decision: "allow" });
      expect(browser.response.status).toBe(400);
      expect(browser.text()).toContain("This login cannot go on");
      expect(portal.lastRule()).toBe("login.pending");
    });

    test("leaves every other client's alone", async () => {
      const portal = new Portal();
      const tokens = await portal.tokens();
      const browser = await new FormBrowser(portal.emulator).open(portal.authorizationUrl());
      const code = portal.loginCode();
      portal.emulator.registerApiClient({ clientId: "other", redirectUris: ["https://other.example/"] });
      portal.emulator.unregisterApiClient({ clientId: "other" });
      expect(await portal.statusOf(tokens.access_token)).toBe(200);
      expect((await portal.refresh(tokens.refresh_token)).status).toBe(200);
      expect((await portal.exchange(code)).status).toBe(200);
      await browser.submit({ userId: "ada", decision: "login" });
      expect(browser.response.status).toBe(303);
    });
  });
});

describe("operators and every kind", () => {
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
      expect(() => launch.authorize(newPkce())).toThrow(
        expect.objectContaining({ issues: ["launch.known"] }),
      );
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
});
