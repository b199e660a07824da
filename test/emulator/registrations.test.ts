// Registering and updating.
import { generateKeyPairSync } from "node:crypto";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { createEmulator } from "../../src/emulator/index.js";
import { expectNothingChanged } from "./expect-nothing-changed.js";
import { FormBrowser } from "./form-browser.js";
import { ada } from "./launched-plugin.js";
import { PluginClient, pluginKey } from "./plugin-client.js";
import { CALLBACK, PORTAL_SECRET, Portal } from "./portal.js";
import { newSigningKey } from "./signing-key.js";

describe("registrations", () => {
  const sheet = {
    clientId: "c",
    tenantId: "t",
    type: "service",
    jwks: { keys: [pluginKey.publicJwk] },
  } as const;
  const privateJwk = pluginKey.privateKey.export({ format: "jwk" });
  const ecJwk = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });
  const withKey = (...keys: object[]) => ({ ...sheet, jwks: { keys } });

  function thrownBy(action: () => unknown): unknown {
    try {
      action();
    } catch (error) {
      return error;
    }
    return undefined;
  }

  describe("a plugin registration is refused", () => {
    const rows: { name: string; input: object; code: string; issue: RegExp }[] = [
      {
        name: "without client_id",
        input: { ...sheet, clientId: undefined },
        code: "registration_invalid",
        issue: /^clientId/,
      },
      {
        name: "with an empty tenant",
        input: { ...sheet, tenantId: "" },
        code: "registration_invalid",
        issue: /^tenantId/,
      },
      {
        name: "with a literal {tenantId}",
        input: { ...sheet, tenantId: "{tenantId}" },
        code: "registration_invalid",
        issue: /^tenantId/,
      },
      {
        name: "with a tenant of dots",
        input: { ...sheet, tenantId: ".." },
        code: "registration_invalid",
        issue: /^tenantId/,
      },
      {
        name: "with a tenant that has a slash",
        input: { ...sheet, tenantId: "a/b" },
        code: "registration_invalid",
        issue: /^tenantId/,
      },
      {
        name: "of an unknown type",
        input: { ...sheet, type: "both" },
        code: "registration_invalid",
        issue: /^type/,
      },
      {
        name: "with a scope of no known form",
        input: { ...sheet, scopes: ["devices:list"] },
        code: "registration_invalid",
        issue: /^scopes\.0/,
      },
      {
        name: "with a misspelt field",
        input: { ...sheet, scope: [] },
        code: "registration_invalid",
        issue: /scope/,
      },
      { name: "without keys", input: withKey(), code: "key_invalid", issue: /no key/ },
      { name: "with a private key", input: withKey(privateJwk), code: "key_invalid", issue: /private/ },
      {
        name: "with a symmetric key",
        input: withKey({ kty: "oct", k: "c2VjcmV0" }),
        code: "key_invalid",
        issue: /symmetric/,
      },
      { name: "with an EC key", input: withKey(ecJwk), code: "key_invalid", issue: /kty/ },
      {
        name: "with an RSA key of 1024 bits",
        input: withKey(newSigningKey("k", 1024).publicJwk),
        code: "key_invalid",
        issue: /1024 bits/,
      },
      {
        name: "with an RSA key of 2047 bits",
        input: withKey(newSigningKey("k", 2047).publicJwk),
        code: "key_invalid",
        issue: /2047 bits/,
      },
      {
        name: "with a key for PS256",
        input: withKey({ ...pluginKey.publicJwk, alg: "PS256" }),
        code: "key_invalid",
        issue: /alg/,
      },
      {
        name: "with a key for encryption",
        input: withKey({ ...pluginKey.publicJwk, use: "enc" }),
        code: "key_invalid",
        issue: /use/,
      },
      {
        name: "with a key that may not verify",
        input: withKey({ ...pluginKey.publicJwk, key_ops: ["sign"] }),
        code: "key_invalid",
        issue: /key_ops/,
      },
      {
        name: "with a kid that is not a string",
        input: withKey({ ...pluginKey.publicJwk, kid: 1 }),
        code: "key_invalid",
        issue: /kid/,
      },
      {
        name: "with a key without modulus",
        input: withKey({ kty: "RSA", e: "AQAB" }),
        code: "key_invalid",
        issue: /RSA public key/,
      },
      {
        name: "with a bad second key",
        input: withKey(pluginKey.publicJwk, ecJwk),
        code: "key_invalid",
        issue: /^jwks\.keys\.1/,
      },
      {
        name: "with 33 keys",
        input: withKey(...Array(33).fill(pluginKey.publicJwk)),
        code: "key_invalid",
        issue: /more than 32/,
      },
    ];
    test.each(rows)("$name, naming the field", ({ input, code, issue }) => {
      const error = thrownBy(() => createEmulator().registerPlugin(input as typeof sheet));
      expect(error).toMatchObject({ name: "EmulatorError", code, issues: [expect.stringMatching(issue)] });
      expect(inspect(error)).not.toContain(privateJwk.d);
    });

    test("a second time in one tenant, though not in another", () => {
      const emulator = createEmulator();
      emulator.registerPlugin(sheet);
      emulator.registerPlugin({ ...sheet, tenantId: "other" });
      expect(thrownBy(() => emulator.registerPlugin(sheet))).toMatchObject({ code: "already_registered" });
    });
  });

  describe("a plugin update is refused and changes nothing", () => {
    const identity = { clientId: "reporter", tenantId: "acme" };
    const rows = [
      {
        name: "of a plugin that is not registered",
        input: { ...identity, clientId: "x" },
        code: "not_registered",
      },
      {
        name: "with a short key",
        input: { ...identity, scopes: [], jwks: withKey({ kty: "RSA", n: "AQ", e: "AQAB" }).jwks },
        code: "key_invalid",
      },
      { name: "with a bad scope", input: { ...identity, scopes: ["x"] }, code: "registration_invalid" },
      { name: "of the type", input: { ...identity, type: "user_interface" }, code: "registration_invalid" },
    ];
    test.each(rows)("$name", async ({ input, code }) => {
      const plugin = new PluginClient();
      expect(thrownBy(() => plugin.emulator.updatePlugin(input))).toMatchObject({
        name: "EmulatorError",
        code,
      });
      expect((await plugin.call(await plugin.accessToken())).status).toBe(200);
    });
  });

  describe("a service account registration is refused", () => {
    const account = { clientId: "c", clientSecret: "hunter2-hunter2", tenantId: "t" };
    const rows = [
      { name: "without a secret", input: { ...account, clientSecret: "" }, code: "registration_invalid" },
      { name: "with a bad tenant", input: { ...account, tenantId: "a b" }, code: "registration_invalid" },
      {
        name: "with a secret in the wrong field",
        input: { ...account, secret: account.clientSecret },
        code: "registration_invalid",
      },
    ];
    test.each(rows)("$name", ({ input, code }) => {
      const error = thrownBy(() => createEmulator().registerServiceAccount(input));
      expect(error).toMatchObject({ name: "EmulatorError", code });
      expect(inspect(error)).not.toContain("hunter2");
    });

    test("a second time, even in another tenant, for Variant B's path names none", () => {
      const emulator = createEmulator();
      emulator.registerServiceAccount(account);
      const again = () => emulator.registerServiceAccount({ ...account, tenantId: "other" });
      expect(thrownBy(again)).toMatchObject({ code: "already_registered" });
    });
  });

  describe("a user-interface plugin's page", () => {
    const page = { ...sheet, type: "user_interface" } as const;
    const rows: { name: string; input: object; issue: RegExp | undefined }[] = [
      {
        name: "may be https",
        input: { ...page, pageUrl: "https://plugin.example/p?a=1#b" },
        issue: undefined,
      },
      { name: "may be http", input: { ...page, pageUrl: "http://localhost:3000/" }, issue: undefined },
      { name: "is a script", input: { ...page, pageUrl: "javascript:alert(1)" }, issue: /^pageUrl/ },
      { name: "is a path", input: { ...page, pageUrl: "/page" }, issue: /^pageUrl/ },
      {
        name: "is not a service plugin's",
        input: { ...sheet, pageUrl: "https://p.example" },
        issue: /^pageUrl/,
      },
      { name: "has a name that is not empty", input: { ...page, name: "" }, issue: /^name/ },
    ];
    test.each(rows)("$name", ({ input, issue }) => {
      const error = thrownBy(() => createEmulator().registerPlugin(input as never));
      if (issue === undefined) return expect(error).toBeUndefined();
      return expect(error).toMatchObject({
        code: "registration_invalid",
        issues: [expect.stringMatching(issue)],
      });
    });

    test("moves by an update, for the next launch; a service plugin gets none", () => {
      const emulator = createEmulator();
      emulator.registerPlugin({ ...page, pageUrl: "https://old.example/" });
      emulator.registerPlugin({ ...sheet, clientId: "service" });
      emulator.registerOperator({ tenantId: "t", userId: "u" });
      emulator.updatePlugin({ clientId: "c", tenantId: "t", pageUrl: "https://new.example/" });
      const { url } = emulator.launch({ tenantId: "t", clientId: "c", userId: "u" });
      expect(new URL(url).origin).toBe("https://new.example");
      const update = { clientId: "service", tenantId: "t", pageUrl: "https://new.example/" };
      expect(thrownBy(() => emulator.updatePlugin(update))).toMatchObject({ code: "registration_invalid" });
    });
  });

  describe("an operator", () => {
    const operator = { tenantId: "t", userId: "u" };
    const rows: { name: string; input: object; issue: RegExp }[] = [
      { name: "needs a user id", input: { ...operator, userId: "" }, issue: /^userId/ },
      {
        name: "needs a tenant that can be one",
        input: { ...operator, tenantId: "../x" },
        issue: /^tenantId/,
      },
      {
        name: "has capabilities of a known form",
        input: { ...operator, capabilities: ["x"] },
        issue: /^capabilities\.0/,
      },
      {
        name: "has roles of a known form",
        input: { ...operator, roles: [{ name: "x" }] },
        issue: /^roles\.0/,
      },
      { name: "has no empty password", input: { ...operator, password: "" }, issue: /^password/ },
      { name: "has no misspelt field", input: { ...operator, firstName: "x" }, issue: /firstName/ },
    ];
    test.each(rows)("$name", ({ input, issue }) => {
      const error = thrownBy(() => createEmulator().registerOperator(input as never));
      expect(error).toMatchObject({ code: "registration_invalid", issues: [expect.stringMatching(issue)] });
    });

    test("is registered once per tenant, and updated only where registered", () => {
      const emulator = createEmulator();
      emulator.registerOperator(operator);
      emulator.registerOperator({ ...operator, tenantId: "other" });
      expect(thrownBy(() => emulator.registerOperator(operator))).toMatchObject({
        code: "already_registered",
      });
      const stranger = { ...operator, userId: "stranger" };
      expect(thrownBy(() => emulator.updateOperator(stranger))).toMatchObject({ code: "not_registered" });
    });
  });

  describe("an API client", () => {
    const client = { clientId: "portal", redirectUris: ["https://portal.example/cb"] };
    const withUri = (redirectUri: string) => ({ ...client, redirectUris: [redirectUri] });
    const refused: { name: string; input: object; issue: RegExp }[] = [
      { name: "without a redirect URI", input: { ...client, redirectUris: [] }, issue: /^redirectUris/ },
      { name: "with a path as redirect URI", input: withUri("/cb"), issue: /^redirectUris\.0/ },
      { name: "with a fragment", input: withUri("https://portal.example/cb#x"), issue: /^redirectUris\.0/ },
      {
        name: "with an empty fragment",
        input: withUri("https://portal.example/cb#"),
        issue: /^redirectUris\.0/,
      },
      {
        name: "with http to another machine",
        input: withUri("http://portal.example/cb"),
        issue: /^redirectUris\.0/,
      },
      {
        name: "with credentials",
        input: withUri("https://u:p@portal.example/cb"),
        issue: /^redirectUris\.0/,
      },
      { name: "with a script", input: withUri("javascript:alert(1)"), issue: /^redirectUris\.0/ },
      { name: "with data", input: withUri("data:text/html,x"), issue: /^redirectUris\.0/ },
      { name: "with a space", input: withUri("https://portal.example/ cb"), issue: /^redirectUris\.0/ },
      {
        name: "with a backslash",
        input: withUri("https://portal.example\\@evil.example"),
        issue: /^redirectUris\.0/,
      },
      { name: "with an empty secret", input: { ...client, clientSecret: "" }, issue: /^clientSecret/ },
      {
        name: "with a scope of no known form",
        input: { ...client, scopes: ["openid"] },
        issue: /^scopes\.0/,
      },
    ];
    test.each(refused)("is refused $name", ({ input, issue }) => {
      const error = thrownBy(() => createEmulator().registerApiClient(input as never));
      expect(error).toMatchObject({ code: "registration_invalid", issues: [expect.stringMatching(issue)] });
    });

    test.each([
      "https://portal.example",
      "http://127.0.0.1/cb",
      "http://[::1]:8080/cb?a=1",
      "http://localhost:3000/cb",
      "http://portal.localhost/cb",
      "com.example.portal:/cb",
    ])("may be sent to %s", (redirectUri) => {
      expect(thrownBy(() => createEmulator().registerApiClient(withUri(redirectUri)))).toBeUndefined();
    });

    test("has a client_id that is unique in Variant B", () => {
      const emulator = createEmulator();
      emulator.registerApiClient(client);
      const account = { clientId: "worker", clientSecret: "s", tenantId: "t" };
      emulator.registerServiceAccount(account);
      const taken = [
        () => emulator.registerApiClient(client),
        () => emulator.registerApiClient({ ...client, clientId: "worker" }),
        () => emulator.registerServiceAccount({ ...account, clientId: "portal" }),
      ];
      for (const register of taken) expect(thrownBy(register)).toMatchObject({ code: "already_registered" });
    });
  });
});

describe("updates of clients", () => {
  const account = { tenantId: "acme", clientId: "worker", clientSecret: "open sesame" };
  const worker = { clientId: "worker" };

  class Worker extends Portal {
    constructor() {
      super();
      this.emulator.registerServiceAccount(account);
    }

    ask(clientSecret: string): Promise<Response> {
      return this.post({
        grant_type: "client_credentials",
        client_id: "worker",
        client_secret: clientSecret,
      });
    }

    async token(clientSecret = account.clientSecret): Promise<string> {
      return ((await (await this.ask(clientSecret)).json()) as { access_token: string }).access_token;
    }
  }

  describe("a service account", () => {
    test("with another secret is refused its old one at once, and keeps its tokens", async () => {
      const client = new Worker();
      const token = await client.token();
      client.emulator.updateServiceAccount({ ...worker, clientSecret: "another" });
      expect((await client.ask(account.clientSecret)).status).toBe(401);
      expect(client.lastRule()).toBe("client.authentication");
      expect((await client.ask("another")).status).toBe(200);
      expect(await client.statusOf(token)).toBe(200);
    });

    test("with other scopes gets them with its next token, and with null every one", async () => {
      const client = new Worker();
      const token = await client.token();
      client.emulator.updateServiceAccount({ ...worker, scopes: ["schedules:read"] });
      expect(await client.statusOf(await client.token())).toBe(403);
      expect(client.lastRule()).toBe("route.scope");
      expect(await client.statusOf(token)).toBe(200);
      client.emulator.updateServiceAccount({ ...worker, clientSecret: "another" });
      expect(await client.statusOf(await client.token("another"))).toBe(403);
      client.emulator.updateServiceAccount({ ...worker, scopes: null });
      expect(await client.statusOf(await client.token("another"))).toBe(200);
    });

    test("keeps its secret and scopes in an update that names neither", async () => {
      const client = new Worker();
      client.emulator.updateServiceAccount({ ...worker, tenantId: "acme" });
      expect(await client.statusOf(await client.token())).toBe(200);
    });
  });

  describe("an API client", () => {
    test("with a secret is a confidential one at once, and with null a public one again", async () => {
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

    test("with other redirect URIs takes them for logins from then on; a code goes on with its own", async () => {
      const portal = new Portal();
      const code = portal.loginCode();
      const moved = "https://portal.example/moved";
      portal.emulator.updateApiClient({ clientId: "portal", redirectUris: [moved] });
      expect(() => portal.loginCode()).toThrow(
        expect.objectContaining({ issues: ["authorization.redirect-uri"] }),
      );
      expect((await portal.exchange(code)).status).toBe(200);
      const redirected = { redirect_uri: moved };
      expect((await portal.exchange(portal.loginCode(redirected), redirected)).status).toBe(200);
    });

    test("with other scopes asks for them from then on, and keeps what was allowed", async () => {
      const portal = new Portal();
      const tokens = await portal.tokens();
      portal.emulator.updateApiClient({ clientId: "portal", scopes: ["schedules:read"] });
      expect(await portal.statusOf((await portal.tokens()).access_token)).toBe(403);
      expect(await portal.statusOf(tokens.access_token)).toBe(200);
      const newer = await portal.tokens(await portal.refresh(tokens.refresh_token));
      expect(await portal.statusOf(newer.access_token)).toBe(200);
      portal.emulator.updateApiClient({ clientId: "portal", scopes: null });
      expect(await portal.statusOf((await portal.tokens()).access_token)).toBe(200);
    });

    test("of another tenant is for that one's people, and with null for all of them", () => {
      const portal = new Portal();
      portal.emulator.updateApiClient({ clientId: "portal", tenantId: "umbrella" });
      expect(() => portal.loginCode()).toThrow(expect.objectContaining({ issues: ["login.credentials"] }));
      portal.emulator.updateApiClient({ clientId: "portal", name: "Portal" });
      expect(() => portal.loginCode()).toThrow();
      portal.emulator.updateApiClient({ clientId: "portal", tenantId: null });
      expect(portal.loginCode().code).toMatch(/./);
    });

    test("lets a login in progress end as it began", async () => {
      const portal = new Portal({}, { name: "Portal" });
      const browser = await new FormBrowser(portal.emulator).open(portal.authorizationUrl());
      portal.emulator.updateApiClient({
        clientId: "portal",
        name: "Renamed",
        redirectUris: ["https://x.example/"],
      });
      await (await browser.submit({ userId: "ada", decision: "login" })).follow();
      expect(browser.text()).toContain("Allow Portal?");
      await browser.submit({ decision: "allow" });
      expect(browser.location).toMatch(`${CALLBACK}?code=`);
      await browser.open(portal.authorizationUrl({ redirect_uri: "https://x.example/" }));
      expect(browser.text()).toContain("Allow Renamed?");
    });

    test("keeps everything in an update that names nothing", async () => {
      const portal = new Portal(
        {},
        { clientSecret: PORTAL_SECRET, scopes: ["devices:read"], tenantId: ada.tenantId },
      );
      portal.emulator.updateApiClient({ clientId: "portal" });
      const secret = { client_secret: PORTAL_SECRET };
      const tokens = await portal.tokens(await portal.exchange(portal.loginCode(), secret));
      expect(await portal.statusOf(tokens.access_token)).toBe(200);
    });
  });

  describe("an update is refused and changes nothing", () => {
    const rows: {
      name: string;
      method: "updateServiceAccount" | "updateApiClient";
      input: unknown;
      code: string;
      issue?: RegExp;
    }[] = [
      {
        name: "of an unknown service account",
        method: "updateServiceAccount",
        input: { clientId: "x" },
        code: "not_registered",
      },
      {
        name: "of a service account of another tenant",
        method: "updateServiceAccount",
        input: { ...worker, tenantId: "x", scopes: [] },
        code: "not_registered",
      },
      {
        name: "of an API client as a service account",
        method: "updateServiceAccount",
        input: { clientId: "portal", scopes: [] },
        code: "not_registered",
      },
      {
        name: "with an empty secret",
        method: "updateServiceAccount",
        input: { ...worker, clientSecret: "" },
        code: "registration_invalid",
        issue: /^clientSecret: /,
      },
      {
        name: "with no secret at all",
        method: "updateServiceAccount",
        input: { ...worker, clientSecret: null },
        code: "registration_invalid",
        issue: /^clientSecret: /,
      },
      {
        name: "with a malformed scope",
        method: "updateServiceAccount",
        input: { ...worker, scopes: ["devices"] },
        code: "registration_invalid",
        issue: /^scopes\.0: /,
      },
      {
        name: "with a secret in the wrong field",
        method: "updateServiceAccount",
        input: { ...worker, secret: "open sesame" },
        code: "registration_invalid",
        issue: /"secret"/,
      },
      { name: "of nothing", method: "updateServiceAccount", input: undefined, code: "registration_invalid" },
      {
        name: "of an unknown API client",
        method: "updateApiClient",
        input: { clientId: "x" },
        code: "not_registered",
      },
      {
        name: "of a service account as an API client",
        method: "updateApiClient",
        input: { clientId: "worker" },
        code: "not_registered",
      },
      {
        name: "without redirect URIs",
        method: "updateApiClient",
        input: { clientId: "portal", redirectUris: [] },
        code: "registration_invalid",
        issue: /^redirectUris: /,
      },
      {
        name: "with an invalid redirect URI",
        method: "updateApiClient",
        input: { clientId: "portal", redirectUris: ["javascript:alert(1)"] },
        code: "registration_invalid",
        issue: /^redirectUris\.0: /,
      },
      {
        name: "with an empty name",
        method: "updateApiClient",
        input: { clientId: "portal", name: "" },
        code: "registration_invalid",
        issue: /^name: /,
      },
      {
        name: "with a tenant of dots",
        method: "updateApiClient",
        input: { clientId: "portal", tenantId: ".." },
        code: "registration_invalid",
        issue: /^tenantId: /,
      },
      {
        name: "with a misspelt field",
        method: "updateApiClient",
        input: { clientId: "portal", redirectUri: CALLBACK },
        code: "registration_invalid",
        issue: /"redirectUri"/,
      },
      { name: "of null", method: "updateApiClient", input: null, code: "registration_invalid" },
    ];
    test.each(rows)("$name", async ({ method, input, code, issue }) => {
      const { emulator } = new Worker();
      await expectNothingChanged(emulator, () => emulator[method](input as never), {
        code,
        issue,
        secret: "sesame",
      });
    });
  });
});
