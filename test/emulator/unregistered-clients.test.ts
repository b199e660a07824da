// Variant B's clients that were unregistered: service accounts and API clients, their tokens, codes and logins.
import { describe, expect, test } from "vitest";
import type { Emulator } from "../../src/emulator/index.js";
import { FormBrowser } from "./form-browser.js";
import { PluginClient, pluginKey } from "./plugin-client.js";
import { Portal } from "./portal.js";

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
