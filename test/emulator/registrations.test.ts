// Registrations: what is refused, what an update changes and keeps, and what unregistering ends.
import { generateKeyPairSync } from "node:crypto";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { createEmulator, type Emulator, EmulatorError } from "../../src/emulator/index.js";
import { FormBrowser } from "./form-browser.js";
import {
  accessTokenIn,
  ada,
  LaunchedPlugin,
  PluginClient,
  pluginKey,
  rejectedWith,
  rejection,
  reporter,
  requestAccountToken,
  service,
} from "./plugin-client.js";
import { CALLBACK, PORTAL_SECRET, Portal } from "./portal.js";
import { newPkce, newSigningKey } from "./signing-key.js";

const SECRET = "sesame-7x9!kQ";
const account = { tenantId: "acme", clientId: "worker", clientSecret: SECRET };

/** One registration of each kind. */
function everything(): Emulator {
  const { emulator } = new LaunchedPlugin();
  emulator.registerServiceAccount(account);
  emulator.registerApiClient({ clientId: "portal", redirectUris: [CALLBACK] });
  return emulator;
}

type Method = Extract<keyof Emulator, `${"register" | "update" | "unregister"}${string}`>;
/** The issue of a registration that is not valid, else the code; `key_invalid` has an issue too. */
type RefusedRow = readonly [
  name: string,
  input: unknown,
  as: RegExp | string,
  issue?: RegExp | string,
];

async function expectRefused(method: Method, [, input, as, issue = as]: RefusedRow): Promise<void> {
  const emulator = everything();
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
  expect(thrown).toMatchObject({
    code: typeof as === "string" ? as : "registration_invalid",
    issues: typeof issue === "string" ? expect.anything() : [expect.stringMatching(issue)],
  });
  const shown = inspect(thrown);
  expect(shown).not.toContain(SECRET);
  expect(shown).not.toContain(String(privateJwk.d));
  expect(await registered()).toEqual(before);
}

const privateJwk = pluginKey.privateKey.export({ format: "jwk" });
const ecJwk = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({
  format: "jwk",
});
const sheet = { clientId: "c", tenantId: "t", type: "service", jwks: service.jwks } as const;
const page = { ...sheet, type: "user_interface" } as const;
const withKeys = (...keys: object[]) => ({ ...sheet, jwks: { keys } });
const withKey = (changes: object) => withKeys({ ...pluginKey.publicJwk, ...changes });
const key = (name: string, input: object, issue: RegExp): RefusedRow => {
  return [name, input, "key_invalid", issue];
};
const client = { clientId: "c", redirectUris: [CALLBACK] };
const withUri = (uri: string) => ({ ...client, redirectUris: [uri] });
const uris = [
  ...[
    "/cb",
    `${CALLBACK}#x`,
    `${CALLBACK}#`,
    "http://portal.example/cb",
    "https://u:p@portal.example/cb",
  ],
  ...[
    "javascript:alert(1)",
    "data:text/html,x",
    `${CALLBACK} x`,
    "https://portal.example\\@evil.example",
  ],
];
const again = "already_registered";
const unknown = "not_registered";

const refused: Readonly<Partial<Record<Method, readonly RefusedRow[]>>> = {
  registerPlugin: [
    ["a tenant of dots", { ...sheet, tenantId: ".." }, /^tenantId/],
    ["a tenant with a slash", { ...sheet, tenantId: "a/b" }, /^tenantId/],
    ["a script as page", { ...page, pageUrl: "javascript:alert(1)" }, /^pageUrl/],
    ["the page of a service", { ...sheet, pageUrl: "https://p.example" }, /^pageUrl/],
    ["an empty name", { ...page, name: "" }, /^name/],
    key("no keys", withKeys(), /no key/),
    key("a private key", withKeys(privateJwk), /private/),
    key("a symmetric key", withKeys({ kty: "oct", k: "c2VjcmV0" }), /symmetric/),
    key("an EC key", withKeys(ecJwk), /kty/),
    key("an RSA key of 2047 bits", withKeys(newSigningKey("k", 2047).publicJwk), /2047 bits/),
    key("a key for PS256", withKey({ alg: "PS256" }), /alg/),
    key("a key for encryption", withKey({ use: "enc" }), /use/),
    key("a key that may not verify", withKey({ key_ops: ["sign"] }), /key_ops/),
    key("a kid that is a number", withKey({ kid: 1 }), /kid/),
    key("an empty kid", withKey({ kid: "" }), /kid/),
    key("a key without modulus", withKeys({ kty: "RSA", e: "AQAB" }), /RSA public key/),
    key("a bad second key", withKeys(pluginKey.publicJwk, ecJwk), /^jwks\.keys\.1/),
    key("33 keys", withKeys(...Array(33).fill(pluginKey.publicJwk)), /more than 32/),
    ["one that is registered", { ...sheet, ...reporter }, again],
  ],
  updatePlugin: [
    ["an unknown plugin", { ...reporter, clientId: "x" }, unknown],
    ["the type", { ...reporter, type: "service" }, /type/],
  ],
  unregisterPlugin: [
    ["an unknown plugin", { ...reporter, clientId: "x" }, unknown],
    ["a plugin of another tenant", { ...reporter, tenantId: "x" }, unknown],
    ["no tenant", { clientId: "reporter" }, /^tenantId: /],
  ],
  registerServiceAccount: [
    ["no secret", { ...account, clientId: "c", clientSecret: "" }, /^clientSecret/],
    ["one that is registered in another tenant", { ...account, tenantId: "x" }, again],
    ["the client_id of an API client", { ...account, clientId: "portal" }, again],
  ],
  updateServiceAccount: [
    ["an unknown account", { clientId: "x" }, unknown],
    ["an account of another tenant", { clientId: "worker", tenantId: "x" }, unknown],
  ],
  unregisterServiceAccount: [
    ["an unknown account", { clientId: "x" }, unknown],
    ["an account of another tenant", { ...account, tenantId: "x" }, unknown],
    ["a string", "worker", /object/],
  ],
  registerApiClient: [
    ...uris.map((uri): RefusedRow => [`the URI ${uri}`, withUri(uri), /^redirectUris\.0/]),
    ["one that is registered", { ...client, clientId: "portal" }, again],
    ["the client_id of an account", { ...client, clientId: "worker" }, again],
  ],
  updateApiClient: [
    ["an unknown client", { clientId: "x" }, unknown],
    ["an empty name", { clientId: "portal", name: "" }, /^name: /],
    ["a tenant of dots", { clientId: "portal", tenantId: ".." }, /^tenantId: /],
  ],
  unregisterApiClient: [["an unknown client", { clientId: "x" }, unknown]],
  registerOperator: [
    ["a tenant with a slash", { ...ada, tenantId: "../x" }, /^tenantId/],
    ["one that is registered", ada, again],
  ],
  updateOperator: [["an unknown operator", { ...ada, userId: "x" }, unknown]],
  unregisterOperator: [
    ["an unknown operator", { tenantId: "acme", userId: "x" }, unknown],
    ["an operator of another tenant", { tenantId: "x", userId: "ada" }, unknown],
  ],
};
for (const [method, rows] of Object.entries(refused)) {
  describe(`${method} refuses and changes nothing:`, () => {
    for (const row of rows) test(row[0], () => expectRefused(method as Method, row));
  });
}

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

const permitted = [
  ...["https://portal.example", "http://127.0.0.1/cb", "http://[::1]:8080/cb?a=1"],
  ...["http://localhost:3000/cb", "http://portal.localhost/cb", "com.example.portal:/cb"],
];
test.each(permitted)("an API client may have the redirect URI %s", (uri) => {
  expect(() => createEmulator().registerApiClient(withUri(uri))).not.toThrow();
});

test("one name may be registered in two tenants, and in one tenant for a plugin and an account", () => {
  const { emulator } = new LaunchedPlugin();
  emulator.registerPlugin({ ...service, ...reporter, tenantId: "globex" });
  emulator.registerOperator({ ...ada, tenantId: "globex" });
  emulator.registerServiceAccount({ ...account, clientId: "reporter" });
});

test("a plugin's new page counts from the next launch on, and a service plugin cannot have a page", () => {
  const { emulator } = new LaunchedPlugin();
  emulator.updatePlugin({ ...reporter, pageUrl: "http://localhost:3000/new" });
  expect(emulator.launch({ ...reporter, userId: "ada" }).url).toMatch(
    /^http:\/\/localhost:3000\/new\?/,
  );
  const { emulator: other } = new PluginClient();
  expect(() => other.updatePlugin({ ...reporter, pageUrl: "https://p.example/" })).toThrow(
    EmulatorError,
  );
});

/** Returns a portal with a service account. */
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

test("an updated service account needs its new secret at once, keeps its tokens, and gets its scopes later", async () => {
  const worker = new Worker();
  const { emulator } = worker;
  const token = await worker.token();
  emulator.updateServiceAccount({
    clientId: "worker",
    clientSecret: "another",
    scopes: ["schedules:read"],
  });
  expect((await worker.ask()).status).toBe(401);
  expect(worker.lastRule()).toBe("client.authentication");
  expect(await worker.statusOf(await worker.token("another"))).toBe(403);
  expect(await worker.statusOf(token)).toBe(200);
  emulator.updateServiceAccount({ clientId: "worker", scopes: null });
  expect(await worker.statusOf(await worker.token("another"))).toBe(200);
});

describe("an updated API client", () => {
  test("with a secret is confidential at once, until the secret is null", async () => {
    const portal = new Portal();
    const tokens = await portal.tokens();
    portal.emulator.updateApiClient({ clientId: "portal", clientSecret: PORTAL_SECRET });
    expect((await portal.refresh(tokens.refresh_token)).status).toBe(401);
    expect(await portal.statusOf(tokens.access_token)).toBe(200);
    const secret = { client_secret: PORTAL_SECRET };
    const newer = await portal.tokens(await portal.refresh(tokens.refresh_token, secret));
    portal.emulator.updateApiClient({ clientId: "portal", name: "Portal" });
    expect((await portal.refresh(newer.refresh_token)).status).toBe(401);
    portal.emulator.updateApiClient({ clientId: "portal", clientSecret: null });
    expect((await portal.refresh(newer.refresh_token, secret)).status).toBe(401);
    expect((await portal.refresh(newer.refresh_token)).status).toBe(200);
  });

  test("with other redirect URIs requires them in later logins; an issued code keeps the old one", async () => {
    const portal = new Portal();
    const code = portal.loginCode();
    const moved = { redirect_uri: "https://portal.example/moved" };
    portal.emulator.updateApiClient({ clientId: "portal", redirectUris: [moved.redirect_uri] });
    const issues = ["authorization.redirect-uri"];
    expect(() => portal.loginCode()).toThrow(expect.objectContaining({ issues }));
    expect((await portal.exchange(code)).status).toBe(200);
    expect((await portal.exchange(portal.loginCode(moved), moved)).status).toBe(200);
  });

  test("with other scopes limits later logins; an earlier login keeps its scopes", async () => {
    const portal = new Portal();
    const tokens = await portal.tokens();
    portal.emulator.updateApiClient({ clientId: "portal", scopes: ["schedules:read"] });
    expect(await portal.statusOf((await portal.tokens()).access_token)).toBe(403);
    const newer = await portal.tokens(await portal.refresh(tokens.refresh_token));
    expect(await portal.statusOf(newer.access_token)).toBe(200);
    portal.emulator.updateApiClient({ clientId: "portal", scopes: null });
    expect(await portal.statusOf((await portal.tokens()).access_token)).toBe(200);
  });

  test("keeps its old name and redirect URIs in a login that is in progress", async () => {
    const portal = new Portal({}, { name: "Portal" });
    const browser = await new FormBrowser(portal.emulator).open(portal.authorizationUrl());
    const renamed = { name: "Renamed", redirectUris: ["https://x.example/"] };
    portal.emulator.updateApiClient({ clientId: "portal", ...renamed });
    await (await browser.submit({ userId: "ada", decision: "login" })).follow();
    expect(browser.text()).toContain("Allow Portal?");
    await browser.submit({ decision: "allow" });
    expect(browser.location).toMatch(`${CALLBACK}?code=`);
    await browser.open(portal.authorizationUrl({ redirect_uri: "https://x.example/" }));
    expect(browser.text()).toContain("Allow Renamed?");
  });
});

describe("an unregistered plugin", () => {
  test("loses its tokens for good, but not its spent assertions and test key", async () => {
    const plugin = new PluginClient();
    const { emulator } = plugin;
    const [token, form] = [await plugin.accessToken(), plugin.form()];
    await plugin.post(form);
    emulator.unregisterPlugin(reporter);
    await plugin.requestToken();
    expect(plugin.lastRule()).toBe("plugin.registered");
    expect((await plugin.call(token)).status).toBe(401);
    const rule = "bearer.plugin-enabled";
    expect(emulator.customerLog.last()).toMatchObject({ rule, actual: "not registered" });
    emulator.registerPlugin({ ...service, ...reporter });
    expect((await plugin.call(token)).status).toBe(401);
    const actual = "registered anew: a token of its former registration";
    expect(emulator.customerLog.last()).toMatchObject({ rule, actual });
    expect((await plugin.call(await plugin.accessToken())).status).toBe(200);
    await plugin.post(form);
    expect(plugin.lastRule()).toBe("assertion.replay");
    emulator.rules.enforce(rule, false);
    expect((await plugin.call(token)).status).toBe(200);
  });

  test("does not affect the same name in another tenant or any other plugin", async () => {
    const plugin = new PluginClient();
    const { emulator } = plugin;
    emulator.registerPlugin({ ...service, clientId: "reporter", tenantId: "umbrella" });
    emulator.registerPlugin({ ...service, clientId: "other", tenantId: "acme" });
    const elsewhere = await plugin.accessToken({ tenantId: "umbrella" });
    const claims = { iss: "other", sub: "other" };
    const others = await plugin.accessToken({ claims, form: { client_id: "other" } });
    emulator.unregisterPlugin(reporter);
    expect((await plugin.call(elsewhere, "/api/v1/umbrella/devices")).status).toBe(200);
    expect((await plugin.call(others)).status).toBe(200);
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
    expect(await rejection(await plugin.exchange(code))).toEqual(rejectedWith("invalid_grant"));
    emulator.registerPlugin({ ...service, ...reporter, type: "user_interface" });
    const issues = ["launch.known"];
    expect(() => launch.authorize(newPkce())).toThrow(expect.objectContaining({ issues }));
    await plugin.exchange(late);
    expect(plugin.lastRule()).toBe("code.known");
    expect((await plugin.exchange(plugin.launchedCode())).status).toBe(200);
  });

  test("keeps the test key of the emulator", () => {
    const emulator = createEmulator({ seed: { plugins: [{ ...reporter, type: "service" }] } });
    const key = emulator.testKey(reporter);
    emulator.unregisterPlugin(reporter);
    expect(emulator.testKey(reporter)).toEqual(key);
    emulator.registerPlugin({ ...reporter, type: "service" });
    expect(emulator.testKey(reporter)).toEqual(key);
  });
});

test("a token of two unregistered records is refused for the first one", async () => {
  const plugin = new LaunchedPlugin();
  const token = await plugin.launchedToken();
  plugin.emulator.unregisterOperator(ada);
  plugin.emulator.unregisterPlugin(reporter);
  await plugin.call(token);
  const actual = "its operator was unregistered";
  expect(plugin.emulator.customerLog.last()).toMatchObject({ rule: "bearer.revoked", actual });
});

test("a member of an update that is undefined stays as it is", async () => {
  const plugin = new PluginClient();
  plugin.emulator.updatePlugin({ ...reporter, scopes: undefined });
  expect((await plugin.call(await plugin.accessToken())).status).toBe(200);
});

describe("an unregistered service account", () => {
  test("is unknown, and its token is revoked for good", async () => {
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

  test("does not affect a plugin of the same name, nor does that plugin affect the account", async () => {
    const plugin = new PluginClient();
    const { emulator } = plugin;
    const worker = { ...account, clientId: "reporter" };
    const ofBoth = async () => {
      const tokens = [
        await plugin.accessToken(),
        await accessTokenIn(requestAccountToken(emulator, worker)),
      ];
      const paths = ["/api/v1/acme/devices", "/v1/devices"];
      return () =>
        Promise.all(tokens.map(async (token, i) => (await plugin.call(token, paths[i])).status));
    };
    emulator.registerServiceAccount(worker);
    const first = await ofBoth();
    emulator.unregisterPlugin(reporter);
    expect(await first()).toEqual([401, 200]);
    emulator.registerPlugin({ ...service, ...reporter });
    const second = await ofBoth();
    emulator.unregisterServiceAccount(worker);
    expect(await second()).toEqual([200, 401]);
    expect(await first()).toEqual([401, 401]);
  });
});

describe("an unregistered API client", () => {
  test("is unknown, and its logins and codes are revoked for good", async () => {
    const portal = new Portal();
    const { emulator } = portal;
    const tokens = await portal.tokens();
    const code = portal.loginCode();
    emulator.unregisterApiClient({ clientId: "portal" });
    expect((await portal.refresh(tokens.refresh_token)).status).toBe(401);
    expect((await portal.exchange(code)).status).toBe(401);
    expect(portal.lastRule()).toBe("api-client.authentication");
    expect(() => portal.loginCode()).toThrow(
      expect.objectContaining({ issues: ["authorization.client"] }),
    );
    expect(await portal.statusOf(tokens.access_token)).toBe(401);
    const actual = "its API client was unregistered";
    expect(emulator.customerLog.last()).toMatchObject({ rule: "bearer.revoked", actual });
    emulator.registerApiClient({ ...client, clientId: "portal" });
    expect(await portal.statusOf(tokens.access_token)).toBe(401);
    await portal.refresh(tokens.refresh_token);
    expect(portal.lastRule()).toBe("refresh.revoked");
    await portal.exchange(code);
    expect(portal.lastRule()).toBe("client-code.known");
    expect(await portal.statusOf((await portal.tokens()).access_token)).toBe(200);
  });

  test("ends its logins in progress: the page shows an error, and no code is issued", async () => {
    const portal = new Portal();
    const browser = await new FormBrowser(portal.emulator).open(portal.authorizationUrl());
    await (await browser.submit({ userId: "ada", decision: "login" })).follow();
    portal.emulator.unregisterApiClient({ clientId: "portal" });
    await browser.submit({ decision: "allow" });
    expect([browser.response.status, browser.location]).toEqual([400, ""]);
    expect(portal.lastRule()).toBe("login.pending");
  });

  test("does not affect another client's tokens, codes and logins in progress", async () => {
    const portal = new Portal();
    const tokens = await portal.tokens();
    const browser = await new FormBrowser(portal.emulator).open(portal.authorizationUrl());
    const code = portal.loginCode();
    portal.emulator.registerApiClient({
      clientId: "other",
      redirectUris: ["https://other.example/"],
    });
    portal.emulator.unregisterApiClient({ clientId: "other" });
    expect(await portal.statusOf(tokens.access_token)).toBe(200);
    expect((await portal.refresh(tokens.refresh_token)).status).toBe(200);
    expect((await portal.exchange(code)).status).toBe(200);
    await browser.submit({ userId: "ada", decision: "login" });
    expect(browser.response.status).toBe(303);
  });
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
    expect((await plugin.call(token, "/api/v1/acme/tenant-settings")).status).toBe(401);
    expect(() => plugin.launchedCode()).toThrow(
      expect.objectContaining({ issues: ["launch.signed-in"] }),
    );
    emulator.registerOperator(ada);
    expect((await plugin.call(token)).status).toBe(401);
    const issues = ["launch.known"];
    expect(() => launch.authorize(newPkce())).toThrow(expect.objectContaining({ issues }));
    await plugin.exchange(code);
    expect(plugin.lastRule()).toBe("code.known");
    expect((await plugin.call(eves)).status).toBe(200);
    expect((await plugin.call(await plugin.launchedToken())).status).toBe(200);
  });

  test("logs in nowhere, and the tokens and codes of its logins are revoked for good", async () => {
    const portal = new Portal();
    const { emulator } = portal;
    const [tokens, code] = [await portal.tokens(), portal.loginCode()];
    emulator.unregisterOperator(ada);
    expect(() => portal.loginCode()).toThrow(
      expect.objectContaining({ issues: ["login.credentials"] }),
    );
    for (const then of [() => {}, () => emulator.registerOperator(ada)]) {
      then();
      expect(await portal.statusOf(tokens.access_token)).toBe(401);
      await portal.refresh(tokens.refresh_token);
      expect(portal.lastRule()).toBe("refresh.revoked");
      await portal.exchange(code);
      expect(portal.lastRule()).toBe("client-code.known");
    }
    expect(await portal.statusOf((await portal.tokens()).access_token)).toBe(200);
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
