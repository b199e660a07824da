// Registrations: what is refused, what an update changes and keeps, and what unregistering ends.
import { generateKeyPairSync } from "node:crypto";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { createEmulator, type Emulator, EmulatorError } from "../../src/emulator/index.js";
import {
  accessTokenIn,
  ada,
  CALLBACK,
  LaunchedPlugin,
  PluginClient,
  PORTAL_SECRET,
  Portal,
  pluginKey,
  reporter,
  requestAccountToken,
  service,
  tokensIn,
} from "./deployment.js";
import { FormBrowser } from "./form-browser.js";
import { newPkce, newSigningKey } from "./signing-key.js";

const SECRET = "sesame-7x9!kQ";
const account = { tenantId: "acme", clientId: "worker", clientSecret: SECRET };
const client = { clientId: "portal", redirectUris: [CALLBACK] };

type Method = Extract<keyof Emulator, `${"register" | "update" | "unregister"}${string}`>;
type Refused = readonly [name: string, method: Method, input: unknown, issue?: RegExp];

/** Expects the error, and that the pages show the same registrations as before. */
async function expectRefused(code: string, [, method, input, issue]: Refused): Promise<void> {
  const { emulator } = new LaunchedPlugin();
  emulator.registerServiceAccount(account);
  emulator.registerApiClient(client);
  const pages = ["plugins", "clients", "operators", "accounts"];
  const registered = () =>
    Promise.all(pages.map(async (page) => (await emulator.fetch(`/_emulator/${page}`)).text()));
  const before = await registered();
  let thrown: unknown;
  try {
    emulator[method](input as never);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(EmulatorError);
  const issues = issue === undefined ? expect.anything() : [expect.stringMatching(issue)];
  expect(thrown).toMatchObject({ code, issues });
  for (const secret of [SECRET, String(privateJwk.d)])
    expect(inspect(thrown)).not.toContain(secret);
  expect(await registered()).toEqual(before);
}

const privateJwk = pluginKey.privateKey.export({ format: "jwk" });
const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });
const ecJwk = ec.publicKey.export({ format: "jwk" });
const sheet = { clientId: "c", tenantId: "t", type: "service", jwks: service.jwks } as const;
const page = { ...sheet, type: "user_interface" } as const;
const keys = (...keys: object[]) => ({ ...sheet, jwks: { keys } });
const key = (changes: object) => keys({ ...pluginKey.publicJwk, ...changes });
const many = keys(...Array(33).fill(pluginKey.publicJwk));
const small = keys(newSigningKey("k", 2047).publicJwk);
const withUri = (uri: string) => ({ clientId: "c", redirectUris: [uri] });
const uris = [
  ...["/cb", `${CALLBACK}#`, "http://portal.example/cb", "https://u:p@portal.example/cb"],
  ...["javascript:alert(1)", `${CALLBACK} x`, "https://portal.example\\@evil.example"],
];

const refused: Readonly<Record<string, readonly Refused[]>> = {
  registration_invalid: [
    ["a tenant of dots", "registerPlugin", { ...sheet, tenantId: ".." }, /^tenantId/],
    ["a script as page", "registerPlugin", { ...page, pageUrl: "data:text/html,x" }, /^pageUrl/],
    ["a page of a service", "registerPlugin", { ...sheet, pageUrl: "https://p.example" }, /^page/],
    ["another type", "updatePlugin", { ...reporter, type: "service" }, /type/],
    ["no tenant", "unregisterPlugin", { clientId: "reporter" }, /^tenantId: /],
    ["an empty secret", "registerServiceAccount", { ...account, clientSecret: "" }, /^clientSec/],
    ["a string", "unregisterServiceAccount", "worker", /object/],
    ...uris.map((uri): Refused => [uri, "registerApiClient", withUri(uri), /^redirectUris\.0/]),
    ["an empty name", "updateApiClient", { clientId: "portal", name: "" }, /^name: /],
    ["a tenant with a slash", "registerOperator", { ...ada, tenantId: "../x" }, /^tenantId/],
  ],
  key_invalid: [
    ["no keys", "registerPlugin", keys(), /no key/],
    ["a private key", "registerPlugin", keys(privateJwk), /private/],
    ["a symmetric key", "registerPlugin", keys({ kty: "oct", k: "c2VjcmV0" }), /symmetric/],
    ["an EC key", "registerPlugin", keys(ecJwk), /kty/],
    ["an RSA key of 2047 bits", "registerPlugin", small, /2047 bits/],
    ["a key for PS256", "registerPlugin", key({ alg: "PS256" }), /alg/],
    ["a key for encryption", "registerPlugin", key({ use: "enc" }), /use/],
    ["a key that may not verify", "registerPlugin", key({ key_ops: ["sign"] }), /key_ops/],
    ["an empty kid", "registerPlugin", key({ kid: "" }), /kid/],
    ["a key without modulus", "registerPlugin", keys({ kty: "RSA", e: "AQAB" }), /RSA public key/],
    ["a bad second key", "registerPlugin", keys(pluginKey.publicJwk, ecJwk), /^jwks\.keys\.1/],
    ["33 keys", "registerPlugin", many, /more than 32/],
  ],
  already_registered: [
    ["a plugin", "registerPlugin", { ...sheet, ...reporter }],
    ["an account, in another tenant", "registerServiceAccount", { ...account, tenantId: "x" }],
    ["the id of an API client", "registerServiceAccount", { ...account, clientId: "portal" }],
    ["an API client", "registerApiClient", client],
    ["the id of an account", "registerApiClient", { ...client, clientId: "worker" }],
    ["an operator", "registerOperator", ada],
  ],
  not_registered: [
    ["a plugin", "updatePlugin", { ...reporter, clientId: "x" }],
    ["a plugin of another tenant", "unregisterPlugin", { ...reporter, tenantId: "x" }],
    ["an account", "updateServiceAccount", { clientId: "x" }],
    ["another tenant's account", "updateServiceAccount", { clientId: "worker", tenantId: "x" }],
    ["another tenant's account", "unregisterServiceAccount", { ...account, tenantId: "x" }],
    ["a client", "updateApiClient", { clientId: "x" }],
    ["a client", "unregisterApiClient", { clientId: "x" }],
    ["an operator", "updateOperator", { ...ada, userId: "x" }],
    ["an operator of another tenant", "unregisterOperator", { tenantId: "x", userId: "ada" }],
  ],
};
for (const [code, rows] of Object.entries(refused))
  for (const row of rows)
    test(`${row[1]} refuses with ${code} and changes nothing: ${row[0]}`, () =>
      expectRefused(code, row));

test("an error quotes an unknown id unless it may be a misplaced secret", () => {
  const { emulator } = new LaunchedPlugin();
  const attempts = [
    () => emulator.unregisterPlugin({ tenantId: "acme", clientId: SECRET }),
    () => emulator.unregisterServiceAccount({ clientId: SECRET }),
    () => emulator.updateServiceAccount({ clientId: SECRET, scopes: [] }),
    () => emulator.unregisterApiClient({ clientId: SECRET }),
    () => emulator.updateApiClient({ clientId: SECRET, name: "x" }),
    () => emulator.unregisterOperator({ tenantId: "acme", userId: SECRET }),
  ];
  for (const attempt of attempts)
    expect(attempt).toThrow(/ a string of length 13 is not registered/);
  const named = () => emulator.unregisterPlugin({ tenantId: "acme", clientId: "reporter-2" });
  expect(named).toThrow('plugin "reporter-2" is not registered in "acme"');
});

test("an API client may have redirect URIs with https, http to loopback, or an app's own scheme", () => {
  const redirectUris = [
    ...["https://portal.example", "http://127.0.0.1/cb", "http://[::1]:8080/cb?a=1"],
    ...["http://localhost:3000/cb", "http://portal.localhost/cb", "com.example.portal:/cb"],
  ];
  const { registerApiClient } = createEmulator();
  expect(() => registerApiClient({ clientId: "c", redirectUris })).not.toThrow();
});

describe("an update", () => {
  test("of a plugin's page counts from the next launch on; what is undefined stays", () => {
    const { emulator } = new LaunchedPlugin();
    const pageUrl = "http://localhost:3000/new";
    emulator.updatePlugin({ ...reporter, pageUrl, scopes: undefined });
    const { url } = emulator.launch({ ...reporter, userId: "ada" });
    expect(url).toMatch(/^http:\/\/localhost:3000\/new\?/);
    const { emulator: other } = new PluginClient();
    expect(() => other.updatePlugin({ ...reporter, pageUrl })).toThrow(EmulatorError);
  });

  test("of an account requires the new secret at once, keeps tokens, and changes scopes of later ones", async () => {
    const worker = new Worker();
    const { emulator } = worker;
    const token = await worker.token();
    const clientSecret = "another";
    emulator.updateServiceAccount({ clientId: "worker", clientSecret, scopes: ["schedules:read"] });
    expect((await worker.ask()).status).toBe(401);
    expect(await worker.statusOf(await worker.token(clientSecret))).toBe(403);
    expect(await worker.statusOf(token)).toBe(200);
    emulator.updateServiceAccount({ clientId: "worker", scopes: null });
    expect(await worker.statusOf(await worker.token(clientSecret))).toBe(200);
  });

  test("of a client's secret makes it confidential at once, until the secret is null", async () => {
    const portal = new Portal();
    const { updateApiClient } = portal.emulator;
    const tokens = await portal.personTokens();
    updateApiClient({ clientId: "portal", clientSecret: PORTAL_SECRET });
    expect((await portal.refresh(tokens.refresh_token)).status).toBe(401);
    expect(await portal.statusOf(tokens.access_token)).toBe(200);
    const secret = { client_secret: PORTAL_SECRET };
    const newer = await tokensIn(portal.refresh(tokens.refresh_token, secret));
    updateApiClient({ clientId: "portal", name: "Portal" });
    expect((await portal.refresh(newer.refresh_token)).status).toBe(401);
    updateApiClient({ clientId: "portal", clientSecret: null });
    expect((await portal.refresh(newer.refresh_token, secret)).status).toBe(401);
    expect((await portal.refresh(newer.refresh_token)).status).toBe(200);
  });

  test("of a client's scopes limits later logins; an earlier login keeps its scopes", async () => {
    const portal = new Portal();
    const tokens = await portal.personTokens();
    portal.emulator.updateApiClient({ clientId: "portal", scopes: ["schedules:read"] });
    expect(await portal.statusOf((await portal.personTokens()).access_token)).toBe(403);
    const newer = await tokensIn(portal.refresh(tokens.refresh_token));
    expect(await portal.statusOf(newer.access_token)).toBe(200);
    portal.emulator.updateApiClient({ clientId: "portal", scopes: null });
    expect(await portal.statusOf((await portal.personTokens()).access_token)).toBe(200);
  });

  test("of a client's name and redirect URIs does not change a login in progress or an issued code", async () => {
    const portal = new Portal({}, { name: "Portal" });
    const code = portal.loginCode();
    const browser = await new FormBrowser(portal.emulator).open(portal.authorizationUrl());
    const moved = { redirect_uri: "https://portal.example/moved" };
    const renamed = { name: "Renamed", redirectUris: [moved.redirect_uri] };
    portal.emulator.updateApiClient({ clientId: "portal", ...renamed });
    await (await browser.submit({ userId: "ada", decision: "login" })).follow();
    expect(browser.text()).toContain("Allow Portal?");
    await browser.submit({ decision: "allow" });
    expect(browser.location).toMatch(`${CALLBACK}?code=`);
    await browser.open(portal.authorizationUrl(moved));
    expect(browser.text()).toContain("Allow Renamed?");
    const issues = ["authorization.redirect-uri"];
    expect(() => portal.loginCode()).toThrow(expect.objectContaining({ issues }));
    expect((await portal.exchangeLogin(code)).status).toBe(200);
    expect((await portal.exchangeLogin(portal.loginCode(moved), moved)).status).toBe(200);
  });
});

/** A portal with a service account. */
class Worker extends Portal {
  constructor() {
    super();
    this.emulator.registerServiceAccount(account);
  }

  ask(clientSecret = SECRET): Promise<Response> {
    return requestAccountToken(this.emulator, { ...account, clientSecret });
  }

  token(clientSecret?: string): Promise<string> {
    return accessTokenIn(this.ask(clientSecret));
  }
}

const refusedBy = (...issues: string[]) => expect.objectContaining({ issues });

describe("an unregistered plugin", () => {
  test("loses its tokens for good, but not its spent assertions; its name elsewhere is not affected", async () => {
    const plugin = new PluginClient();
    const { emulator } = plugin;
    emulator.registerPlugin({ ...service, clientId: "reporter", tenantId: "umbrella" });
    emulator.registerServiceAccount({ ...account, clientId: "reporter" });
    const elsewhere = await plugin.pluginToken({ tenantId: "umbrella" });
    const namesakes = { ...account, clientId: "reporter" };
    const ofAccount = await accessTokenIn(requestAccountToken(emulator, namesakes));
    const [token, form] = [await plugin.pluginToken(), plugin.form()];
    await plugin.postForm(form);
    emulator.unregisterPlugin(reporter);
    await plugin.requestToken();
    expect(plugin.lastRule()).toBe("plugin.registered");
    expect((await plugin.call(token)).status).toBe(401);
    const rule = "bearer.plugin-enabled";
    expect(emulator.customerLog.last()).toMatchObject({ rule, actual: "not registered" });
    expect((await plugin.call(elsewhere, "/api/v1/umbrella/devices")).status).toBe(200);
    expect((await plugin.call(ofAccount, "/v1/devices")).status).toBe(200);
    emulator.registerPlugin({ ...service, ...reporter });
    expect((await plugin.call(token)).status).toBe(401);
    const actual = "registered anew: a token of its former registration";
    expect(emulator.customerLog.last()).toMatchObject({ rule, actual });
    const newer = await plugin.pluginToken();
    emulator.unregisterServiceAccount(namesakes);
    expect((await plugin.call(newer)).status).toBe(200);
    await plugin.postForm(form);
    expect(plugin.lastRule()).toBe("assertion.replay");
    emulator.rules.enforce(rule, false);
    expect((await plugin.call(token)).status).toBe(200);
  });

  test("loses its launches, its codes and its place in the host application for good", async () => {
    const plugin = new LaunchedPlugin({}, { name: "Planner" });
    const { emulator } = plugin;
    const browser = await new FormBrowser(emulator).open("/host/acme");
    await (await browser.submit({ userId: "ada" })).follow();
    expect(browser.text()).toContain("Planner");
    const [code, late] = [plugin.launchedCode(), plugin.launchedCode()];
    const launch = emulator.launch({ ...reporter, userId: "ada" });
    emulator.unregisterPlugin(reporter);
    expect((await browser.open("/host/acme")).text()).not.toContain("Planner");
    expect(() => plugin.launchedCode()).toThrow(/not registered/);
    const refused = await plugin.exchange(code);
    expect([refused.status, (await refused.json()).error]).toEqual([400, "invalid_grant"]);
    emulator.registerPlugin({ ...service, ...reporter, type: "user_interface" });
    expect(() => launch.authorize(newPkce())).toThrow(refusedBy("launch.known"));
    await plugin.exchange(late);
    expect(plugin.lastRule()).toBe("code.known");
    expect((await plugin.exchange(plugin.launchedCode())).status).toBe(200);
  });
});

test("an unregistered service account is unknown, and its token is revoked for good", async () => {
  const worker = new Worker();
  const { emulator } = worker;
  const token = await worker.token();
  emulator.unregisterServiceAccount(account);
  expect((await worker.ask()).status).toBe(401);
  expect(worker.lastRule()).toBe("client.authentication");
  expect(await worker.statusOf(token)).toBe(401);
  const actual = "its service account was unregistered";
  expect(emulator.customerLog.last()).toMatchObject({ rule: "bearer.revoked", actual });
  emulator.registerServiceAccount({ ...account, tenantId: "umbrella" });
  expect(await worker.statusOf(token)).toBe(401);
  expect((await worker.ask()).status).toBe(200);
  emulator.rules.enforce("bearer.revoked", false);
  expect(await worker.statusOf(token)).toBe(200);
});

test("an unregistered API client is unknown, and its logins and codes are revoked for good; others go on", async () => {
  const portal = new Portal();
  const { emulator } = portal;
  const tokens = await portal.personTokens();
  const code = portal.loginCode();
  const browser = await new FormBrowser(emulator).open(portal.authorizationUrl());
  emulator.registerApiClient({ ...client, clientId: "other" });
  emulator.unregisterApiClient({ clientId: "other" });
  await (await browser.submit({ userId: "ada", decision: "login" })).follow();
  expect(await portal.statusOf(tokens.access_token)).toBe(200);
  emulator.unregisterApiClient({ clientId: "portal" });
  await browser.submit({ decision: "allow" });
  expect([browser.response.status, browser.location]).toEqual([400, ""]);
  expect(portal.lastRule()).toBe("login.pending");
  expect((await portal.refresh(tokens.refresh_token)).status).toBe(401);
  expect((await portal.exchangeLogin(code)).status).toBe(401);
  expect(portal.lastRule()).toBe("api-client.authentication");
  expect(() => portal.loginCode()).toThrow(refusedBy("authorization.client"));
  emulator.registerApiClient(client);
  expect(await portal.statusOf(tokens.access_token)).toBe(401);
  const actual = "its API client was unregistered";
  expect(emulator.customerLog.last()).toMatchObject({ rule: "bearer.revoked", actual });
  await portal.refresh(tokens.refresh_token);
  expect(portal.lastRule()).toBe("refresh.revoked");
  await portal.exchangeLogin(code);
  expect(portal.lastRule()).toBe("client-code.known");
  expect(await portal.statusOf((await portal.personTokens()).access_token)).toBe(200);
});

describe("an unregistered operator", () => {
  test("launches nothing, and loses launches, codes and tokens for good; another operator keeps theirs", async () => {
    const plugin = new LaunchedPlugin();
    const { emulator } = plugin;
    emulator.registerOperator({ ...ada, userId: "eve" });
    const [token, code] = [await plugin.launchedToken(), plugin.launchedCode()];
    const launch = emulator.launch({ ...reporter, userId: "ada" });
    const eves = await plugin.launchedToken({ userId: "eve" });
    emulator.unregisterOperator(ada);
    expect((await plugin.call(token)).status).toBe(401);
    const actual = "its operator was unregistered";
    expect(emulator.customerLog.last()).toMatchObject({ rule: "bearer.revoked", actual });
    expect(() => plugin.launchedCode()).toThrow(refusedBy("launch.signed-in"));
    emulator.registerOperator(ada);
    expect((await plugin.call(token)).status).toBe(401);
    expect(() => launch.authorize(newPkce())).toThrow(refusedBy("launch.known"));
    await plugin.exchange(code);
    expect(plugin.lastRule()).toBe("code.known");
    expect((await plugin.call(eves)).status).toBe(200);
    expect((await plugin.call(await plugin.launchedToken())).status).toBe(200);
    emulator.unregisterPlugin(reporter);
    await plugin.call(token);
    expect(emulator.customerLog.last()).toMatchObject({ rule: "bearer.revoked", actual });
  });

  test("logs in nowhere, and the tokens and codes of its logins are revoked for good", async () => {
    const portal = new Portal();
    const { emulator } = portal;
    const [tokens, code] = [await portal.personTokens(), portal.loginCode()];
    emulator.unregisterOperator(ada);
    expect(() => portal.loginCode()).toThrow(refusedBy("login.credentials"));
    for (const then of [() => {}, () => emulator.registerOperator(ada)]) {
      then();
      expect(await portal.statusOf(tokens.access_token)).toBe(401);
      await portal.refresh(tokens.refresh_token);
      expect(portal.lastRule()).toBe("refresh.revoked");
      await portal.exchangeLogin(code);
      expect(portal.lastRule()).toBe("client-code.known");
    }
    expect(await portal.statusOf((await portal.personTokens()).access_token)).toBe(200);
  });

  test("is signed out of both pages, also after a new registration", async () => {
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
