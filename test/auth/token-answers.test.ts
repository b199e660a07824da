// The meaning of each answer of a token endpoint; no error echoes a secret.
import { describe, expect, test } from "vitest";
import { type AccessToken, createAuth, type ServiceEvent } from "../../src/index.js";
import { steppedClock } from "../support/clock.js";
import { ACCOUNT_SECRET, credentialOf } from "../support/deployment.js";
import { scriptedFetch } from "../support/fetch.js";
import { recordingServer } from "../support/recording-server.js";
import { shown } from "../support/shown.js";
import { rejectionOf } from "../support/wait.js";

const baseUrl = "https://service.example";
const variants = [{ variant: "A" as const }, { variant: "B" as const }];

function authFor(variant: "A" | "B", answer: () => Response, events: ServiceEvent[] = []) {
  const clock = steppedClock();
  const fetch = scriptedFetch(answer);
  const onEvent = (event: ServiceEvent) => void events.push(event);
  const credential = credentialOf(variant);
  const options = { baseUrl, tenantId: "acme", credential, fetch, now: clock.now, onEvent };
  return { auth: createAuth(options), clock, fetch };
}

const text = (body: BodyInit, status = 200, headers: HeadersInit = {}) =>
  new Response(body, { status, headers });

describe.each(variants)("the answer of Variant $variant's token endpoint", ({ variant }) => {
  describe("that has no valid token", () => {
    const shape = "response_shape";
    const notJson = "response_not_json";
    const rows: { name: string; answer: () => Response; code: string; issue?: RegExp }[] = [
      {
        name: "an HTML page",
        answer: () => text("<html>", 200, { "content-type": "text/html" }),
        code: notJson,
      },
      { name: "no JSON", answer: () => text("access_token=t"), code: notJson },
      { name: "JSON that is cut off", answer: () => text('{"access_token":"t'), code: notJson },
      { name: "an empty body", answer: () => text(""), code: notJson },
      {
        name: "a JSON array",
        answer: () => Response.json([{ access_token: "t" }]),
        code: shape,
        issue: /object/,
      },
      { name: "JSON null", answer: () => text("null"), code: shape, issue: /object/ },
      { name: "a JSON text", answer: () => text('"t"'), code: shape, issue: /object/ },
      { name: "an empty object", answer: () => Response.json({}), code: shape, issue: /^access_token/ },
      ...[
        { name: "a number", value: 7 },
        { name: "null", value: null },
        { name: "empty", value: "" },
        { name: "with a space", value: "a b" },
        { name: "with a line break", value: "a\r\nx-injected: 1" },
        { name: "with a control character", value: "a\u0001" },
        { name: "with a letter beyond ASCII", value: "tökén" },
        { name: "an object", value: { value: "t" } },
      ].map(({ name, value }) => ({
        name: `an access_token that is ${name}`,
        answer: () => Response.json({ access_token: value }),
        code: shape,
        issue: /^access_token/,
      })),
      {
        name: "a token of another type",
        answer: () => Response.json({ access_token: "t", token_type: "mac" }),
        code: shape,
        issue: /^token_type/,
      },
      {
        name: "a token_type that is not a text",
        answer: () => Response.json({ access_token: "t", token_type: 1 }),
        code: shape,
        issue: /^token_type/,
      },
      ...[
        "0",
        "-1",
        "null",
        '"1h"',
        '""',
        '"-1"',
        '"1e3"',
        "1e12",
        "1e400",
        "true",
        "[3600]",
        "31622401",
      ].map((value) => ({
        name: `expires_in ${value}`,
        answer: () => text(`{"access_token":"t","expires_in":${value}}`),
        code: shape,
        issue: /^expires_in/,
      })),
      {
        name: "a 201 with a token",
        answer: () => Response.json({ access_token: "t" }, { status: 201 }),
        code: shape,
      },
      { name: "a 302", answer: () => text("", 302, { location: "/x" }), code: "response_redirected" },
      { name: "a 307", answer: () => text("", 307, { location: "/x" }), code: "response_redirected" },
      {
        name: "a 404 with a JSON error",
        answer: () => Response.json({ error: "x" }, { status: 404 }),
        code: shape,
      },
      { name: "a 405 with a page", answer: () => text("<html>", 405), code: notJson },
    ];
    test.each(rows)("$name: $code", async ({ answer, code, issue }) => {
      const { auth, fetch } = authFor(variant, answer);
      const error = await rejectionOf(auth.getAccessToken());
      expect(error).toMatchObject({ name: "UnexpectedResponseError", code, variant });
      const { issues, status } = error as { issues: string[]; status: number };
      expect(status).toBe(answer().status);
      if (issue !== undefined) expect(issues.some((told) => issue.test(told))).toBe(true);
      expect(fetch.calls).toHaveLength(1);
    });
  });

  describe("that has a token", () => {
    const hour = 3_600;
    const rows: { name: string; body: string; lifetimeSeconds: number }[] = [
      { name: "expires_in absent: an hour", body: '{"access_token":"t"}', lifetimeSeconds: hour },
      { name: "expires_in 3600", body: '{"access_token":"t","expires_in":3600}', lifetimeSeconds: hour },
      { name: 'expires_in "3600"', body: '{"access_token":"t","expires_in":"3600"}', lifetimeSeconds: hour },
      { name: "expires_in 1", body: '{"access_token":"t","expires_in":1}', lifetimeSeconds: 1 },
      { name: "token_type absent", body: '{"access_token":"t"}', lifetimeSeconds: hour },
      {
        name: "token_type bearer",
        body: '{"access_token":"t","token_type":"bearer"}',
        lifetimeSeconds: hour,
      },
      {
        name: "token_type Bearer",
        body: '{"access_token":"t","token_type":"Bearer"}',
        lifetimeSeconds: hour,
      },
      {
        name: "token_type BEARER",
        body: '{"access_token":"t","token_type":"BEARER"}',
        lifetimeSeconds: hour,
      },
      { name: "a byte order mark in front", body: '\ufeff{"access_token":"t"}', lifetimeSeconds: hour },
      { name: "unknown fields beside", body: '{"access_token":"t","x":{"y":[1]}}', lifetimeSeconds: hour },
    ];
    test.each(rows)("$name", async ({ body, lifetimeSeconds }) => {
      const { auth, clock } = authFor(variant, () => text(body));
      const token = await auth.getAccessToken();
      expect(token.value).toBe("t");
      expect(token.expiresAt).toBe(clock.now() + lifetimeSeconds * 1000);
    });

    test("the value of a token is not enumerable", async () => {
      const { auth } = authFor(variant, () => text('{"access_token":"seen-nowhere"}'));
      const token = await auth.getAccessToken();
      expect(token.value).toBe("seen-nowhere");
      expect(Object.keys(token)).not.toContain("value");
      expect(shown(token)).not.toContain("seen-nowhere");
    });
  });

  describe("that refuses the request", () => {
    const rows = [
      { name: "a 400 with an error", status: 400, body: { error: "invalid_grant" }, error: "invalid_grant" },
      {
        name: "a 401 with an error",
        status: 401,
        body: { error: "invalid_client" },
        error: "invalid_client",
      },
      {
        name: "a 200 with an empty error",
        status: 200,
        body: { access_token: "t", error: "" },
        error: undefined,
      },
      { name: "a 403 of an unknown shape", status: 403, body: { reason: "no" }, error: undefined },
      {
        name: "a 200 with an error, even beside a token",
        status: 200,
        body: { error: "access_denied", access_token: "t" },
        error: "access_denied",
      },
    ];
    test.each(rows)("$name", async ({ status, body, error: expected }) => {
      const { auth } = authFor(variant, () => Response.json(body, { status }));
      const error = await rejectionOf(auth.getAccessToken());
      expect(error).toMatchObject({ name: "TokenRequestError", code: "token_refused", status, variant });
      expect((error as { error?: string }).error).toBe(expected);
    });

    test("the error text of a refusal is one bounded line without control characters", async () => {
      const body = {
        error: "x\r\n\u001b[31mred",
        error_description: "y".repeat(5_000),
        error_uri: "z\u0000z",
      };
      const { auth } = authFor(variant, () => Response.json(body, { status: 400 }));
      const { error, errorDescription, errorUri, message } = (await rejectionOf(
        auth.getAccessToken(),
      )) as Error & Record<"error" | "errorDescription" | "errorUri", string>;
      for (const told of [error, errorDescription, errorUri, message]) expect(told).not.toMatch(/\p{Cc}/u);
      expect(errorDescription.length).toBeLessThanOrEqual(201);
      expect(error).toBe("x [31mred");
      expect(errorUri).toBe("z z");
    });
  });
});

describe("revo in a token answer of Variant A", () => {
  const rows: { name: string; body: Record<string, unknown>; token: Partial<AccessToken> }[] = [
    {
      name: "nested",
      body: {
        revo: {
          tenant: "acme",
          user: { userId: "u1", firstname: "Ada", lastname: "L" },
          roles: [{ name: "admin", group: "g" }],
        },
      },
      token: {
        tenant: "acme",
        operator: { userId: "u1", firstname: "Ada", lastname: "L" },
        roles: [{ name: "admin", group: "g" }],
      },
    },
    {
      name: "as flat keys",
      body: { "revo.tenant": "acme", "revo.user": { userId: "u1" }, "revo.roles": [{ name: "admin" }] },
      token: { tenant: "acme", operator: { userId: "u1" }, roles: [{ name: "admin" }] },
    },
    { name: "absent", body: {}, token: {} },
    { name: "null", body: { revo: null }, token: {} },
    { name: "a text", body: { revo: "acme" }, token: {} },
    { name: "an array", body: { revo: [{ tenant: "acme" }] }, token: {} },
    {
      name: "with wrong types inside",
      body: { revo: { tenant: 7, user: "u1", roles: { name: "admin" } } },
      token: {},
    },
    {
      name: "with a user without userId: no operator, since state is keyed on the userId",
      body: { revo: { tenant: "acme", user: { firstname: "Ada" } } },
      token: { tenant: "acme" },
    },
    {
      name: "with an empty userId",
      body: { revo: { user: { userId: "" } } },
      token: {},
    },
    {
      name: "with roles of which some are none",
      body: {
        revo: { roles: [{ name: "a" }, null, "b", { group: "g" }, { name: 1 }, { name: "c", group: 2 }] },
      },
      token: { roles: [{ name: "a" }, { name: "c" }] },
    },
  ];
  test.each(rows)("$name", async ({ body, token: expected }) => {
    const { auth } = authFor("A", () => Response.json({ access_token: "t", ...body }));
    const { tenant, operator, roles } = await auth.getAccessToken();
    expect({ tenant, operator, roles }).toEqual({
      tenant: expected.tenant,
      operator: expected.operator,
      roles: expected.roles,
    });
  });

  test("a token for another tenant emits tenant_differs and is served", async () => {
    const events: ServiceEvent[] = [];
    const answer = () => Response.json({ access_token: "token-value", revo: { tenant: "other" } });
    const { auth } = authFor("A", answer, events);
    expect((await auth.getAccessToken()).tenant).toBe("other");
    expect(events).toContainEqual(
      expect.objectContaining({ type: "tenant_differs", tenant: "other", tenantId: "acme" }),
    );
  });

  test("a token for the requested tenant emits no event", async () => {
    const events: ServiceEvent[] = [];
    const answer = () => Response.json({ access_token: "t", revo: { tenant: "acme" } });
    await authFor("A", answer, events).auth.getAccessToken();
    expect(events.map(({ type }) => type)).not.toContain("tenant_differs");
  });
});

describe.each(variants)("over HTTP, Variant $variant", ({ variant }) => {
  const getToken = (url: string) =>
    createAuth({ baseUrl: url, tenantId: "acme", credential: credentialOf(variant) }).getAccessToken();
  const large = "x".repeat(1024 * 1024 + 1);

  test.each([
    { name: "with a content-length", headers: { "content-length": String(large.length) } },
    { name: "without one, in chunks", headers: { "transfer-encoding": "chunked" } },
  ])("an answer of over 1 MiB $name is not read to its end", async ({ headers }) => {
    const server = await recordingServer(() => ({ status: 200, headers, body: large }));
    expect(await rejectionOf(getToken(server.url))).toMatchObject({
      code: "response_too_large",
      status: 200,
    });
  });

  test("an answer of 1 MiB is read", async () => {
    const token = JSON.stringify({ access_token: "t" });
    const body = token + " ".repeat(1024 * 1024 - token.length);
    const server = await recordingServer(() => ({ status: 200, body }));
    expect((await getToken(server.url)).value).toBe("t");
  });

  test.each([301, 302, 303, 307, 308])("a %i is not followed to its Location", async (status) => {
    const elsewhere = await recordingServer(() => ({ status: 200, body: '{"access_token":"stolen"}' }));
    const server = await recordingServer(() => ({ status, headers: { location: `${elsewhere.url}/token` } }));
    expect(await rejectionOf(getToken(server.url))).toMatchObject({ code: "response_redirected", status });
    expect(server.requests).toHaveLength(1);
    expect(elsewhere.requests).toHaveLength(0);
  });
});

describe("a token request carries exactly the documented fields, in one content type", () => {
  test("Variant A: a form", async () => {
    const server = await recordingServer(() => ({ status: 200, body: '{"access_token":"t"}' }));
    await createAuth({
      baseUrl: server.url,
      tenantId: "acme",
      credential: credentialOf("A"),
    }).getAccessToken();
    const [request] = server.requests;
    expect(request).toMatchObject({ method: "POST", path: "/api/v1/acme/external-plugin/oauth/token" });
    expect(request?.headers["content-type"]).toMatch(/^application\/x-www-form-urlencoded/);
    expect(request?.headers.authorization).toBeUndefined();
    const form = new URLSearchParams(request?.body);
    expect([...form.keys()].sort()).toEqual([
      "client_assertion",
      "client_assertion_type",
      "client_id",
      "grant_type",
    ]);
    expect(form.get("grant_type")).toBe("client_credentials");
    expect(form.get("client_assertion_type")).toBe("urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
  });

  test("Variant B: JSON", async () => {
    const server = await recordingServer(() => ({ status: 200, body: '{"access_token":"t"}' }));
    await createAuth({ baseUrl: server.url, credential: credentialOf("B") }).getAccessToken();
    const [request] = server.requests;
    expect(request).toMatchObject({ method: "POST", path: "/v1/auth/token" });
    expect(request?.headers["content-type"]).toBe("application/json");
    expect(request?.headers.authorization).toBeUndefined();
    expect(JSON.parse(request?.body ?? "")).toEqual({
      grant_type: "client_credentials",
      client_id: "reporter-account",
      client_secret: ACCOUNT_SECRET,
    });
  });
});
