// Variant A's token endpoint: requests, opaque refusals, and the rate limit.

import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import type { EmulatorOptions, RateLimit } from "../../src/emulator/index.js";
import {
  ASSERTION_TYPE,
  type Changed,
  PluginClient,
  pluginKey,
  REJECTED,
  rejectedWith,
  rejection,
  START,
} from "./plugin-client.js";
import { CALLBACK, Portal } from "./portal.js";
import { newSigningKey } from "./signing-key.js";

describe("requests", () => {
  const otherKey = newSigningKey("key-1");

  test("a service plugin is answered the token response of section 2.3", async () => {
    const plugin = new PluginClient(
      { tokenLifetimeSeconds: 120 },
      { roles: [{ name: "reader", group: "reports" }] },
    );
    const response = await plugin.requestToken();
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(await response.json()).toEqual({
      access_token: expect.stringMatching(/^[\w-]{43}$/),
      token_type: "Bearer",
      expires_in: 120,
      revo: { tenant: "acme", roles: [{ name: "reader", group: "reports" }] },
    });
  });

  test("every token is another one and expires_in is 3600 unless told otherwise", async () => {
    const plugin = new PluginClient();
    const [first, second] = await Promise.all([plugin.accessToken(), plugin.accessToken()]);
    expect(first).not.toBe(second);
    expect(await (await plugin.requestToken()).json()).toMatchObject({ expires_in: 3600 });
  });

  describe("a token request is refused with the error code of section 7.1", () => {
    const rows: { name: string; changed: Changed; error: string; rule: string }[] = [
      ...[
        "refresh_token",
        "password",
        "implicit",
        "urn:ietf:params:oauth:grant-type:device_code",
        "CLIENT_CREDENTIALS",
        "",
      ].map((grant) => ({
        name: `grant_type "${grant}"`,
        changed: { form: { grant_type: grant } },
        error: "unsupported_grant_type",
        rule: "token-request.grant-type",
      })),
      {
        name: "no grant_type",
        changed: { form: { grant_type: undefined } },
        error: "unsupported_grant_type",
        rule: "token-request.grant-type",
      },
      {
        name: "another client_assertion_type",
        changed: {
          form: { client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:saml2-bearer" },
        },
        error: "invalid_request",
        rule: "token-request.assertion-type",
      },
      {
        name: "no client_assertion_type",
        changed: { form: { client_assertion_type: undefined } },
        error: "invalid_request",
        rule: "token-request.assertion-type",
      },
      {
        name: "no client_id",
        changed: { form: { client_id: undefined } },
        error: "invalid_request",
        rule: "token-request.client-id",
      },
      {
        name: "a client_secret beside the assertion",
        changed: { form: { client_secret: "s" } },
        error: "invalid_request",
        rule: "token-request.one-authentication",
      },
      {
        name: "a client_id that is not registered",
        changed: { form: { client_id: "nobody" } },
        error: "invalid_grant",
        rule: "plugin.registered",
      },
      {
        name: "a client_id named like an object's member",
        changed: { form: { client_id: "__proto__" } },
        error: "invalid_grant",
        rule: "plugin.registered",
      },
      {
        name: "a tenant in which the plugin is not registered",
        changed: { tenantId: "globex" },
        error: "invalid_grant",
        rule: "plugin.registered",
      },
      {
        name: "the literal {tenantId} as tenant",
        changed: { tenantId: "{tenantId}" },
        error: "invalid_grant",
        rule: "plugin.registered",
      },
      {
        name: "authorization_code by a service plugin",
        changed: { form: { grant_type: "authorization_code", code: "c", code_verifier: "v" } },
        error: "invalid_grant",
        rule: "plugin.grant",
      },
      {
        name: "authorization_code by a service plugin with a wrong key",
        changed: { key: otherKey, form: { grant_type: "authorization_code" } },
        error: "invalid_client",
        rule: "assertion.signature",
      },
    ];
    test.each(rows)("$name", async ({ changed, error, rule }) => {
      const plugin = new PluginClient();
      expect(await rejection(await plugin.requestToken(changed))).toEqual(rejectedWith(error));
      expect(plugin.lastRule()).toBe(rule);
    });

    const userInterfaceRows = [
      { name: "client_credentials by a user-interface plugin", form: {}, rule: "plugin.grant" },
      {
        name: "authorization_code with an unknown code",
        form: { grant_type: "authorization_code", code: "c", code_verifier: "v" },
        rule: "code.known",
      },
      {
        name: "authorization_code without a code",
        form: { grant_type: "authorization_code" },
        rule: "code.known",
      },
    ];
    test.each(userInterfaceRows)("$name", async ({ form, rule }) => {
      const plugin = new PluginClient({}, { type: "user_interface" });
      expect(await rejection(await plugin.requestToken({ form }))).toEqual(rejectedWith("invalid_grant"));
      expect(plugin.lastRule()).toBe(rule);
    });

    test("a disabled plugin, until it is enabled again", async () => {
      const plugin = new PluginClient();
      const identity = { clientId: "reporter", tenantId: "acme" };
      plugin.emulator.updatePlugin({ ...identity, enabled: false });
      expect(await rejection(await plugin.requestToken())).toEqual(rejectedWith("invalid_grant"));
      expect(plugin.lastRule()).toBe("plugin.enabled");
      plugin.emulator.updatePlugin({ ...identity, enabled: true });
      expect((await plugin.requestToken()).status).toBe(200);
    });
  });

  describe("a body that is not a form of single parameters is refused as invalid_request", () => {
    const form = "application/x-www-form-urlencoded";
    const good = (plugin: PluginClient) => String(plugin.form());
    type Row = {
      name: string;
      type?: string;
      headers?: HeadersInit;
      body: (p: PluginClient) => BodyInit;
      rule?: string;
    };
    const rows: Row[] = [
      { name: "a charset parameter is allowed", type: `${form}; charset=UTF-8`, body: good },
      { name: "an upper-case media type is allowed", type: form.toUpperCase(), body: good },
      { name: "unknown parameters are ignored", type: form, body: (p) => `${good(p)}&foo=bar&scope=` },
      {
        name: "an empty client_secret counts as omitted",
        type: form,
        body: (p) => `${good(p)}&client_secret=`,
      },
      {
        name: "JSON",
        type: "application/json",
        body: (p) => JSON.stringify(Object.fromEntries(p.form())),
        rule: "media-type",
      },
      { name: "a form called text", type: "text/plain", body: good, rule: "media-type" },
      { name: "a form of another charset", type: `${form}; charset=utf-16`, body: good, rule: "media-type" },
      { name: "a form without a media type", body: (p) => Buffer.from(good(p)), rule: "media-type" },
      {
        name: "bytes that are not UTF-8",
        type: form,
        body: () => Buffer.from([0xff, 0xfe]),
        rule: "media-type",
      },
      {
        name: "a duplicated grant_type",
        type: form,
        body: (p) => `${good(p)}&grant_type=client_credentials`,
        rule: "duplicate-parameter",
      },
      {
        name: "a duplicated unknown parameter",
        type: form,
        body: (p) => `${good(p)}&x=1&x=1`,
        rule: "duplicate-parameter",
      },
      {
        name: "a body of exactly 65536 bytes is read",
        type: form,
        body: (p) => `${good(p)}&x=`.padEnd(65_536, "x"),
      },
      {
        name: "a body of 65537 bytes",
        type: form,
        body: (p) => `${good(p)}&x=`.padEnd(65_537, "x"),
        rule: "body-size",
      },
      {
        name: "a body of one megabyte",
        type: form,
        body: (p) => `${good(p)}&x=`.padEnd(1_000_000, "x"),
        rule: "body-size",
      },
      {
        name: "Basic authentication beside the assertion",
        type: form,
        headers: { authorization: "Basic eDp5" },
        body: good,
        rule: "one-authentication",
      },
      {
        name: "a bearer beside the assertion",
        type: form,
        headers: { authorization: "Bearer x" },
        body: good,
        rule: "one-authentication",
      },
      { name: "an empty body", type: form, body: () => "", rule: "grant-type" },
    ];
    test.each(rows)("$name", async ({ type, headers, body, rule }) => {
      const plugin = new PluginClient();
      const contentType: HeadersInit = type === undefined ? {} : { "content-type": type };
      const init = { method: "POST", headers: { ...contentType, ...headers }, body: body(plugin) };
      const response = await plugin.emulator.fetch(plugin.tokenUrl(), init);
      expect(plugin.lastRule()).toBe(rule && `token-request.${rule}`);
      if (rule === undefined) return expect(response.status).toBe(200);
      const error = rule === "grant-type" ? "unsupported_grant_type" : "invalid_request";
      return expect(await rejection(response)).toEqual(rejectedWith(error));
    });

    test("multipart/form-data", async () => {
      const plugin = new PluginClient();
      const body = new FormData();
      for (const [name, value] of plugin.form()) body.set(name, value);
      const response = await plugin.emulator.fetch(plugin.tokenUrl(), { method: "POST", body });
      expect(await rejection(response)).toEqual(rejectedWith("invalid_request"));
    });
  });
});

describe("malformed requests and codes", () => {
  const RUNS = 40;
  const plugin = new PluginClient({ rateLimit: false });
  plugin.emulator.registerServiceAccount({ clientId: "worker", clientSecret: "s", tenantId: "acme" });

  const part = fc.oneof(
    fc.json().map((json) => Buffer.from(json).toString("base64url")),
    fc.base64String(),
    fc.constant(plugin.assertion().split(".")[0] ?? ""),
  );
  const value = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("client_credentials", "authorization_code", "reporter", ASSERTION_TYPE, "__proto__"),
    fc.tuple(part, part, part).map((parts) => parts.join(".")),
  );
  const name = fc.oneof(
    fc.constantFrom(
      "grant_type",
      "client_id",
      "client_assertion_type",
      "client_assertion",
      "code",
      "client_secret",
    ),
    fc.string(),
  );

  test("every POST to Variant A's token endpoint is answered 400 unless it is right", async () => {
    const form = fc.array(fc.tuple(name, value)).map((pairs) => String(new URLSearchParams(pairs)));
    const body = fc.oneof(form, fc.string({ unit: "binary" }));
    await fc.assert(
      fc.asyncProperty(body, async (text) => {
        expect((await plugin.post(text)).status).toBe(400);
      }),
      { numRuns: RUNS },
    );
  });

  test("a valid assertion with any one claim or header replaced is answered 200 or 400", async () => {
    const member = fc.constantFrom(
      "iss",
      "sub",
      "aud",
      "jti",
      "iat",
      "exp",
      "nbf",
      "alg",
      "kid",
      "crit",
      "b64",
      "typ",
    );
    await fc.assert(
      fc.asyncProperty(member, fc.jsonValue(), async (key, changed) => {
        const part = ["alg", "kid", "crit", "b64", "typ"].includes(key) ? "header" : "claims";
        const { status } = await plugin.requestToken({ [part]: { [key]: changed } });
        expect([200, 400]).toContain(status);
      }),
      { numRuns: RUNS },
    );
  });

  test("Variant B's token endpoint answers any JSON with a 4xx", async () => {
    const fields = fc.dictionary(
      fc.oneof(name, fc.constantFrom("code_verifier", "redirect_uri")),
      fc.oneof(value, fc.jsonValue()),
    );
    const body = fc.oneof(
      fields.map((object) => JSON.stringify(object)),
      fc.json(),
      fc.string({ unit: "binary" }),
    );
    await fc.assert(
      fc.asyncProperty(body, async (text) => {
        const init = { method: "POST", headers: { "content-type": "application/json" }, body: text };
        const { status } = await plugin.emulator.fetch("/v1/auth/token", init);
        expect([400, 401]).toContain(status);
      }),
      { numRuns: RUNS },
    );
  });

  test("any path, method and Authorization header is answered below 500", async () => {
    const segment = fc.oneof(
      fc.webSegment(),
      fc.constantFrom("api", "v1", "acme", "devices", "auth", "token", "%", "%2e", ".."),
    );
    const path = fc.array(segment, { maxLength: 7 }).map((segments) => `/${segments.join("/")}`);
    const method = fc.constantFrom("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY");
    const authorization = fc.string().map((text) => `Bearer ${text}`);
    await fc.assert(
      fc.asyncProperty(path, method, authorization, async (pathname, verb, header) => {
        const init = { method: verb, headers: { authorization: header } };
        const { status } = await plugin.emulator.fetch(new URL(`http://h.example${pathname}`), init);
        expect(status).toBeGreaterThanOrEqual(400);
        expect(status).toBeLessThan(500);
      }),
      { numRuns: RUNS },
    );
  });

  test("Variant B's authorization endpoint answers any query with a page or a redirect to the registered URI", async () => {
    const portal = new Portal();
    const names = ["response_type", "client_id", "redirect_uri", "state", "code_challenge", "scope"];
    const change = fc.dictionary(fc.constantFrom(...names, "code_challenge_method", "x"), fc.string());
    await fc.assert(
      fc.asyncProperty(change, async (changes) => {
        const response = await portal.emulator.fetch(portal.authorizationUrl(changes));
        expect([200, 302, 400]).toContain(response.status);
        const location = response.headers.get("location");
        if (response.status === 302) expect(location?.startsWith(`${CALLBACK}?error=`)).toBe(true);
      }),
      { numRuns: RUNS },
    );
  });

  test("the pages' forms and the host's script endpoints answer any body with a 4xx or a redirect to a page", async () => {
    const { emulator } = new Portal();
    const paths = ["/v1/auth/login", "/v1/auth/consent", "/host/acme/sign-in", "/host/acme/sign-out"];
    const path = fc.constantFrom(...paths, "/host/acme/launches", "/host/acme/authorizations");
    const type = fc.constantFrom("application/json", "application/x-www-form-urlencoded", "text/plain", "");
    const body = fc.oneof(fc.json(), fc.string(), fc.constant("form_token=&request=&decision=allow"));
    await fc.assert(
      fc.asyncProperty(path, type, body, fc.string(), async (pathname, contentType, text, token) => {
        const headers = {
          "content-type": contentType,
          "x-form-token": encodeURIComponent(token),
          cookie: "a=b",
        };
        const { status } = await emulator.fetch(pathname, { method: "POST", headers, body: text });
        expect([303, 400, 403]).toContain(status);
      }),
      { numRuns: RUNS },
    );
  });
});

describe("opaque refusals", () => {
  const otherKey = newSigningKey("key-1");

  test("rules are applied in the order rate limit, grant_type, client_assertion_type, plugin, assertion, type, code", async () => {
    const limited = { requests: 8, windowSeconds: 60 };
    const plugin = new PluginClient({ rateLimit: limited }, { type: "user_interface", enabled: false });
    const identity = { clientId: "reporter", tenantId: "acme" };
    const form: Record<string, unknown> = {
      grant_type: "x",
      client_assertion_type: "x",
      client_id: "nobody",
    };
    const changed = { key: otherKey, form };
    const mend: [string, () => void][] = [
      ["token-request.grant-type", () => Object.assign(form, { grant_type: "client_credentials" })],
      ["token-request.assertion-type", () => delete form.client_assertion_type],
      ["plugin.registered", () => Object.assign(form, { client_id: "reporter" })],
      ["plugin.enabled", () => plugin.emulator.updatePlugin({ ...identity, enabled: true })],
      ["assertion.signature", () => Object.assign(changed, { key: pluginKey })],
      ["plugin.grant", () => Object.assign(form, { grant_type: "authorization_code", code: "c" })],
      ["code.known", () => {}],
      ["code.known", () => {}],
      ["token-request.rate-limit", () => {}],
    ];
    for (const [rule, repair] of mend) {
      await plugin.requestToken(changed);
      expect(plugin.lastRule()).toBe(rule);
      repair();
    }
  });

  describe("the answer is opaque", () => {
    const reasons: { name: string; changed: Changed; error: string }[] = [
      { name: "a wrong key", changed: { key: otherKey }, error: "invalid_client" },
      { name: "a wrong aud", changed: { claims: { aud: "x" } }, error: "invalid_client" },
      { name: "an expired assertion", changed: { claims: { iat: 1, exp: 2 } }, error: "invalid_client" },
      { name: "alg none", changed: { header: { alg: "none" } }, error: "invalid_client" },
      { name: "a missing kid", changed: { header: { kid: undefined } }, error: "invalid_client" },
      { name: "no assertion", changed: { form: { client_assertion: undefined } }, error: "invalid_client" },
      { name: "a missing plugin", changed: { form: { client_id: "nobody" } }, error: "invalid_grant" },
      { name: "a wrong tenant", changed: { tenantId: "globex" }, error: "invalid_grant" },
      { name: "a disabled plugin", changed: { form: { client_id: "off" } }, error: "invalid_grant" },
      {
        name: "a wrong grant",
        changed: { form: { grant_type: "authorization_code", code: "c" } },
        error: "invalid_grant",
      },
    ];
    test.each(reasons)(
      "$name: status, headers and body are byte for byte the same",
      async ({ changed, error }) => {
        const plugin = new PluginClient();
        const jwks = { keys: [pluginKey.publicJwk] };
        plugin.emulator.registerPlugin({
          clientId: "off",
          tenantId: "acme",
          type: "service",
          jwks,
          enabled: false,
        });
        const response = await plugin.requestToken(changed);
        expect(response.status).toBe(400);
        expect(Object.fromEntries(response.headers)).toEqual({
          "cache-control": "no-store",
          "content-type": "application/json",
          date: "Thu, 01 Jan 2026 12:00:00 GMT",
          pragma: "no-cache",
        });
        expect(await response.text()).toBe(`{"error":"${error}","error_description":"${REJECTED}"}`);
      },
    );

    test("the customer's log has rule, section, what was expected, what came, and the remedy", async () => {
      const plugin = new PluginClient();
      await plugin.requestToken({ claims: { aud: "http://emulator.localhost" } });
      expect(plugin.emulator.customerLog.entries()).toEqual([
        {
          at: plugin.now,
          requestId: 1,
          tenantId: "acme",
          clientId: "reporter",
          outcome: { status: 400, error: "invalid_client" },
          rule: "assertion.audience",
          section: "2.2, 7.1",
          expected: `aud "${plugin.tokenUrl()}"`,
          actual: '"http://emulator.localhost"',
          remedy: "Substitute the tenant in the exact URL, as one string and not as an array.",
        },
      ]);
    });
  });

  /** What a caller sees on the wire, but the time of day. */
  async function onTheWire(plugin: PluginClient, changed: Changed): Promise<Seen> {
    const url = `${plugin.emulator.url}/api/v1/acme/external-plugin/oauth/token`;
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const sent = request(url, { method: "POST", headers }).end(String(plugin.form(changed)));
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    let body = "";
    for await (const chunk of answer) body += chunk;
    const raw = answer.rawHeaders.map((value, index) =>
      answer.rawHeaders[index - 1]?.toLowerCase() === "date" ? "…" : value,
    );
    return { statusLine: `${answer.httpVersion} ${answer.statusCode} ${answer.statusMessage}`, raw, body };
  }

  interface Seen {
    readonly statusLine: string;
    /** Names and values in turn, as they came. */
    readonly raw: readonly string[];
    readonly body: string;
  }

  const callers = {
    "a missing plugin": { form: { client_id: "nobody" }, claims: { iss: "nobody", sub: "nobody" } },
    "a wrong key": { key: otherKey },
    "a disabled plugin": { form: { client_id: "off" }, claims: { iss: "off", sub: "off" } },
  } satisfies Record<string, Changed>;

  async function seenBy(options: EmulatorOptions): Promise<Record<keyof typeof callers, Seen>> {
    const plugin = new PluginClient(options);
    const jwks = { keys: [pluginKey.publicJwk] };
    const off = { clientId: "off", tenantId: "acme", type: "service", enabled: false, jwks } as const;
    plugin.emulator.registerPlugin(off);
    const { close } = await plugin.emulator.listen();
    onTestFinished(close);
    const seen: [string, Seen][] = [];
    for (const [name, changed] of Object.entries(callers))
      seen.push([name, await onTheWire(plugin, changed)]);
    return Object.fromEntries(seen) as Record<keyof typeof callers, Seen>;
  }

  describe("over HTTP, a missing plugin, a wrong key and a disabled plugin", () => {
    test("differ in the error that the table of section 7.1 demands, and in nothing else", async () => {
      const seen = await seenBy({});
      expect(seen["a missing plugin"]).toEqual(seen["a disabled plugin"]);
      const { "a missing plugin": missing, "a wrong key": wrong } = seen;
      expect(wrong.statusLine).toBe(missing.statusLine);
      expect(JSON.parse(missing.body)).toEqual({ error: "invalid_grant", error_description: REJECTED });
      // The two codes are of different lengths, so the lengths of the bodies differ with them.
      const asMissing = (text: string) => text.replace("invalid_client", "invalid_grant");
      expect(asMissing(wrong.body)).toBe(missing.body);
      const lengthOf = ({ body }: Seen) => String(body.length);
      expect(wrong.raw.map((value) => (value === lengthOf(wrong) ? lengthOf(missing) : value))).toEqual(
        missing.raw,
      );
    });

    test("cannot be told apart by a byte, where the option settles it as the sentence of section 7.1 has it", async () => {
      const seen = await seenBy({ refusedPluginError: "invalid_client" });
      expect(seen["a missing plugin"]).toEqual(seen["a wrong key"]);
      expect(seen["a disabled plugin"]).toEqual(seen["a wrong key"]);
      expect(JSON.parse(seen["a wrong key"].body)).toEqual({
        error: "invalid_client",
        error_description: REJECTED,
      });
    });
  });

  describe("a method other than POST is answered 405", () => {
    test.each(["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"])("%s", async (method) => {
      const plugin = new PluginClient();
      const response = await plugin.emulator.fetch(plugin.tokenUrl(), { method });
      expect(response.status).toBe(405);
      expect(response.headers.get("allow")).toBe("POST");
      expect(await response.text()).toBe("");
    });
  });
});

describe("the rate limit", () => {
  const limited = (rateLimit: RateLimit) => new PluginClient({ rateLimit });
  const statusOf = async (response: Promise<Response>) => (await response).status;

  test("without numbers there is no limit", async () => {
    const plugin = new PluginClient();
    for (let i = 0; i < 200; i++) expect(await statusOf(plugin.requestToken())).toBe(200);
  });

  test("a slot frees exactly windowSeconds after the request that took it, not at a bucket's end", async () => {
    const plugin = limited({ requests: 3, windowSeconds: 10 });
    const steps: [atMs: number, status: number][] = [
      [0, 200],
      [4000, 200],
      [9000, 200],
      [9500, 429],
      [9999, 429],
      [10_000, 200],
      [10_001, 429],
      [13_999, 429],
      [14_000, 200],
      [14_000, 429],
      [18_999, 429],
      [19_000, 200],
    ];
    for (const [at, status] of steps) {
      plugin.now = START + at;
      expect({ at, status: await statusOf(plugin.requestToken()) }).toEqual({ at, status });
    }
  });

  test("refused requests count, those answered 429 do not", async () => {
    const plugin = limited({ requests: 2, windowSeconds: 10 });
    expect(await statusOf(plugin.post("grant_type=bivariant-detect"))).toBe(400);
    expect(await statusOf(plugin.post(""))).toBe(400);
    for (let i = 0; i < 20; i++) expect(await statusOf(plugin.requestToken())).toBe(429);
    plugin.now += 10_000;
    expect(await statusOf(plugin.requestToken())).toBe(200);
    expect(await statusOf(plugin.requestToken())).toBe(200);
  });

  test("a request answered 429 burns no jti", async () => {
    const plugin = limited({ requests: 1, windowSeconds: 10 });
    await plugin.post("");
    const form = plugin.form();
    expect(await statusOf(plugin.post(form))).toBe(429);
    plugin.now += 10_000;
    expect(await statusOf(plugin.post(form))).toBe(200);
  });

  test("the limit is one per tenant, whatever the client, and other methods do not count", async () => {
    const plugin = limited({ requests: 1, windowSeconds: 10 });
    const sheet = { type: "service", jwks: { keys: [pluginKey.publicJwk] } } as const;
    plugin.emulator.registerPlugin({ ...sheet, clientId: "second", tenantId: "acme" });
    plugin.emulator.registerPlugin({ ...sheet, clientId: "reporter", tenantId: "globex" });
    await plugin.emulator.fetch(plugin.tokenUrl());
    expect(await statusOf(plugin.requestToken())).toBe(200);
    expect(await statusOf(plugin.requestToken({ form: { client_id: "second" } }))).toBe(429);
    expect(await statusOf(plugin.requestToken({ tenantId: "globex" }))).toBe(200);
  });

  test("of many concurrent requests exactly as many are admitted as the limit says", async () => {
    const plugin = limited({ requests: 5, windowSeconds: 10 });
    const statuses = await Promise.all(Array.from({ length: 40 }, () => statusOf(plugin.requestToken())));
    expect(statuses.filter((status) => status === 200)).toHaveLength(5);
  });

  describe("the 429 carries Retry-After as the option says", () => {
    const rows: { name: string; retryAfter?: RateLimit["retryAfter"]; header: string | null }[] = [
      { name: "in seconds by default, rounded up", header: "8" },
      { name: "in seconds for true", retryAfter: true, header: "8" },
      { name: "in seconds by name", retryAfter: "seconds", header: "8" },
      { name: "as a date, rounded up", retryAfter: "date", header: "Thu, 01 Jan 2026 12:00:10 GMT" },
      { name: "not at all for false", retryAfter: false, header: null },
    ];
    test.each(rows)("$name", async ({ retryAfter, header }) => {
      const plugin = limited({ requests: 1, windowSeconds: 10, retryAfter });
      await plugin.requestToken();
      plugin.now += 2500;
      const response = await plugin.requestToken();
      expect(response.status).toBe(429);
      expect(response.headers.get("retry-after")).toBe(header);
      expect(await response.text()).toBe("");
      expect(plugin.lastRule()).toBe("token-request.rate-limit");
    });
  });
});
