// The form of Variant A's token request and the error code that each fault gets (description, 4.1 and 7.1).
import { describe, expect, test } from "vitest";
import { type Changed, PluginClient, rejectedWith, rejection } from "./plugin-client.js";
import { newSigningKey } from "./signing-key.js";

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

describe("a body that is no form of single parameters is refused as invalid_request", () => {
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
