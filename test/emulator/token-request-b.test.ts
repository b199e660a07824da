// Variant B: the JSON token request, its errors, and what the token reaches.
import { describe, expect, test } from "vitest";
import { createEmulator, type Emulator } from "../../src/emulator/index.js";
import { PluginClient, START } from "./plugin-client.js";

const account = { clientId: "worker", clientSecret: "correct horse battery", tenantId: "acme" };
const credentials = {
  grant_type: "client_credentials",
  client_id: "worker",
  client_secret: account.clientSecret,
};
const exchange = {
  code: "c",
  code_verifier: "v".repeat(43),
  client_id: "portal",
  redirect_uri: "https://app.example/cb",
};

function deployment(now: () => number = () => START): Emulator {
  const emulator = createEmulator({ now });
  emulator.registerServiceAccount(account);
  emulator.registerApiClient({ clientId: "portal", redirectUris: [exchange.redirect_uri] });
  return emulator;
}

function post(
  emulator: Emulator,
  body: BodyInit,
  headers: HeadersInit = { "content-type": "application/json" },
) {
  return emulator.fetch("/v1/auth/token", { method: "POST", headers, body });
}

async function tokenOf(emulator: Emulator): Promise<string> {
  const response = await post(emulator, JSON.stringify(credentials));
  return ((await response.json()) as { access_token: string }).access_token;
}

const call = (emulator: Emulator, token: string, path = "/v1/devices", method = "GET") =>
  emulator.fetch(path, { method, headers: { authorization: `Bearer ${token}` } });

test("client credentials are answered access_token and nothing else", async () => {
  const response = await post(deployment(), JSON.stringify({ ...credentials, extra: 1 }));
  expect(response.status).toBe(200);
  expect(response.headers.get("cache-control")).toBe("no-store");
  expect(await response.json()).toEqual({ access_token: expect.stringMatching(/^[\w-]{43}$/) });
});

describe("a token request is refused with a code of RFC 6749 section 5.2", () => {
  const json = (fields: object) => JSON.stringify(fields);
  type Row = {
    name: string;
    body: BodyInit;
    headers?: HeadersInit;
    status: number;
    error: string;
    rule: string;
  };
  const request = { status: 400, error: "invalid_request" };
  const client = { status: 401, error: "invalid_client", rule: "client.authentication" };
  const fields = { ...request, rule: "client-request.fields" };
  const grant = { status: 400, error: "unsupported_grant_type", rule: "client-request.grant-type" };
  const code = { status: 400, error: "invalid_grant", rule: "client-code.known" };
  const mediaType = { status: 415, error: "invalid_request", rule: "client-request.media-type" };
  const rows: Row[] = [
    { name: "an empty object", body: "{}", ...fields },
    { name: "a wrong secret", body: json({ ...credentials, client_secret: "wrong" }), ...client },
    {
      name: "a secret with a space more",
      body: json({ ...credentials, client_secret: `${account.clientSecret} ` }),
      ...client,
    },
    { name: "an unknown client", body: json({ ...credentials, client_id: "nobody" }), ...client },
    {
      name: "a client named like an object's member",
      body: json({ ...credentials, client_id: "constructor" }),
      ...client,
    },
    { name: "no secret", body: json({ ...credentials, client_secret: undefined }), ...fields },
    { name: "an empty secret", body: json({ ...credentials, client_secret: "" }), ...fields },
    { name: "a secret that is a number", body: json({ ...credentials, client_secret: 1 }), ...fields },
    { name: "no client_id", body: json({ ...credentials, client_id: undefined }), ...fields },
    { name: "no grant_type", body: json({ ...credentials, grant_type: undefined }), ...fields },
    {
      name: "a grant_type that is an array",
      body: json({ ...credentials, grant_type: ["client_credentials"] }),
      ...fields,
    },
    { name: "grant_type password", body: json({ ...credentials, grant_type: "password" }), ...grant },
    {
      name: "a refresh without client_id",
      body: json({ grant_type: "refresh_token", refresh_token: "r" }),
      ...fields,
    },
    { name: "an unknown code", body: json(exchange), ...code },
    {
      name: "an unknown code with grant_type",
      body: json({ ...exchange, grant_type: "authorization_code" }),
      ...code,
    },
    {
      name: "a code exchange without verifier",
      body: json({ ...exchange, code_verifier: undefined }),
      ...fields,
    },
    { name: "an array", body: "[]", ...request, rule: "client-request.json" },
    { name: "null", body: "null", ...request, rule: "client-request.json" },
    { name: "half an object", body: '{"a":', ...request, rule: "client-request.json" },
    { name: "nothing", body: "", ...request, rule: "client-request.json" },
    { name: "deeply nested JSON", body: "[".repeat(60_000), ...request, rule: "client-request.json" },
    {
      name: "bytes that are not UTF-8",
      body: Buffer.from([0x22, 0xff, 0x22]),
      ...request,
      rule: "client-request.json",
    },
    { name: "a form", body: new URLSearchParams(credentials), headers: {}, ...mediaType },
    {
      name: "JSON called text",
      body: json(credentials),
      headers: { "content-type": "text/plain" },
      ...mediaType,
    },
    { name: "JSON without a media type", body: Buffer.from(json(credentials)), headers: {}, ...mediaType },
    {
      name: "65537 bytes",
      body: json(credentials).padEnd(65_537),
      status: 413,
      error: "invalid_request",
      rule: "client-request.body-size",
    },
    {
      name: "an Authorization header beside the body",
      body: json(credentials),
      headers: { "content-type": "application/json", authorization: "Basic eDp5" },
      ...request,
      rule: "client-request.one-authentication",
    },
  ];
  test.each(rows)("$name", async ({ body, headers, status, error, rule }) => {
    const emulator = deployment();
    const response = await post(emulator, body, headers);
    expect(response.status).toBe(status);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toEqual({ error, error_description: expect.any(String) });
    expect(emulator.customerLog.entries().at(-1)?.rule).toBe(rule);
  });

  test("a wrong secret and an unknown client are answered the same", async () => {
    const emulator = deployment();
    const bodies = [{ client_secret: "wrong" }, { client_id: "nobody" }].map((change) =>
      json({ ...credentials, ...change }),
    );
    const [wrong, unknown] = await Promise.all(
      bodies.map(async (body) => (await post(emulator, body)).text()),
    );
    expect(wrong).toBe(unknown);
    const [first, second] = emulator.customerLog.entries({ rule: "client.authentication" });
    expect([first?.tenantId, second?.tenantId]).toEqual(["acme", undefined]);
  });

  test("another method is answered 405 and a sibling path 404", async () => {
    const emulator = deployment();
    expect((await emulator.fetch("/v1/auth/token")).status).toBe(405);
    const headers = { "content-type": "application/json" };
    expect((await emulator.fetch("/v1/auth/other", { method: "POST", headers, body: "{}" })).status).toBe(
      404,
    );
  });
});

describe("a token of Variant B", () => {
  test("lists devices for its hour and not a millisecond longer", async () => {
    let now = START;
    const emulator = deployment(() => now);
    const token = await tokenOf(emulator);
    now += 3_599_999;
    expect(await (await call(emulator, token)).json()).toHaveLength(3);
    now += 1;
    expect((await call(emulator, token)).status).toBe(401);
  });

  test("does not serve Variant A's routes, nor the reverse", async () => {
    const plugin = new PluginClient();
    plugin.emulator.registerServiceAccount(account);
    const [a, b] = [await plugin.accessToken(), await tokenOf(plugin.emulator)];
    expect((await call(plugin.emulator, b, "/api/v1/acme/devices")).status).toBe(401);
    expect(plugin.lastRule()).toBe("bearer.known");
    expect((await call(plugin.emulator, a, "/v1/devices")).status).toBe(401);
    expect(plugin.lastRule()).toBe("bearer.known");
  });

  const reaches = [
    { name: "without scopes reaches every route of Variant B", scopes: undefined, status: 200 },
    { name: "with the scope of the route reaches it", scopes: ["devices:read"], status: 200 },
    { name: "with other scopes is answered an empty 403", scopes: ["schedules:read"], status: 403 },
  ];
  test.each(reaches)("$name", async ({ scopes, status }) => {
    const emulator = createEmulator();
    emulator.registerServiceAccount({ ...account, scopes });
    const response = await call(emulator, await tokenOf(emulator));
    expect(response.status).toBe(status);
    if (status === 403) expect(await response.text()).toBe("");
  });

  test("reaches declared routes under /v1/, told its tenant", async () => {
    const path = "/v1/schedules/{scheduleId}";
    const respond = ({ tenantId, parameters }: { tenantId: string; parameters: object }) => ({
      tenantId,
      parameters,
    });
    const emulator = createEmulator({
      routes: [{ operationId: "getSchedule", method: "GET", path, respond }],
    });
    emulator.registerServiceAccount(account);
    const response = await call(emulator, await tokenOf(emulator), "/v1/schedules/nightly");
    expect(await response.json()).toEqual({ tenantId: "acme", parameters: { scheduleId: "nightly" } });
  });
});
