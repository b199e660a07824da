// How each answer of a token endpoint is read. No error echoes a secret.
import { describe, expect, test } from "vitest";
import { type AccessToken, createAuth } from "../../src/index.js";
import { scriptedAuth } from "../support/auth.js";
import { ACCOUNT_SECRET, account, credentialOf, plugin } from "../support/deployment.js";
import { recordingServer } from "../support/recording-server.js";
import { shown } from "../support/shown.js";
import { rejectionOf } from "../support/wait.js";

const variants = [{ variant: "A" as const }, { variant: "B" as const }];

const text = (body: BodyInit, status = 200, headers: HeadersInit = {}) =>
  new Response(body, { status, headers });

const token = { access_token: "t" };

describe.each(variants)("the answer of Variant $variant's token endpoint", ({ variant }) => {
  describe("that has no valid token", () => {
    const shape = "response_shape";
    const notJson = "response_not_json";
    const html = { "content-type": "text/html" };
    const values = [7, null, "", "a b", "a\r\nx-injected: 1", "a\u0001", "tökén", { value: "t" }];
    const rows: { name: string; answer: () => Response; code: string; issue?: RegExp }[] = [
      { name: "an HTML page", answer: () => text("<html>", 200, html), code: notJson },
      { name: "no JSON", answer: () => text("access_token=t"), code: notJson },
      { name: "JSON that is cut off", answer: () => text('{"access_token":"t'), code: notJson },
      { name: "an empty body", answer: () => text(""), code: notJson },
      { name: "a JSON array", answer: () => Response.json([token]), code: shape, issue: /object/ },
      { name: "JSON null", answer: () => text("null"), code: shape, issue: /object/ },
      { name: "a JSON text", answer: () => text('"t"'), code: shape, issue: /object/ },
      { name: "an empty object", answer: () => Response.json({}), code: shape, issue: /^access_token/ },
      ...values.map((value) => ({
        name: `the access_token ${JSON.stringify(value)}`,
        answer: () => Response.json({ access_token: value }),
        code: shape,
        issue: /^access_token/,
      })),
      { name: "a 201 without a token", answer: () => Response.json({}, { status: 201 }), code: shape },
      { name: "a 204", answer: () => new Response(null, { status: 204 }), code: notJson },
      { name: "a 408 with JSON", answer: () => Response.json({ error: "x" }, { status: 408 }), code: shape },
      { name: "a 302", answer: () => text("", 302, { location: "/x" }), code: "response_redirected" },
      ...[404, 410].map((status) => ({
        name: `a ${status} with a JSON error`,
        answer: () => Response.json({ error: "x" }, { status }),
        code: shape,
      })),
      { name: "a 405 with a page", answer: () => text("<html>", 405), code: notJson },
    ];
    test.each(rows)("$name: $code", async ({ answer, code, issue }) => {
      const { auth, fetch } = scriptedAuth(variant, answer);
      const error = await rejectionOf(auth.getAccessToken());
      expect(error).toMatchObject({ name: "UnexpectedResponseError", code, variant });
      const { issues, status, message } = error as Error & { issues: string[]; status: number };
      expect(status).toBe(answer().status);
      expect(message).toMatch(new RegExp(`^The token endpoint answered ${status}\\b.* Is baseUrl .*\\?$`));
      if (issue !== undefined) expect(issues.some((told) => issue.test(told))).toBe(true);
      expect(fetch.calls).toHaveLength(1);
    });
  });

  describe("that has a token", () => {
    const rows: { name: string; body: string; lifetimeSeconds?: number; status?: number }[] = [
      { name: "expires_in absent: an hour", body: "" },
      { name: "expires_in null: an hour", body: ',"expires_in":null' },
      { name: "expires_in 3600", body: ',"expires_in":3600' },
      { name: 'expires_in "3600"', body: ',"expires_in":"3600"' },
      { name: "expires_in 1", body: ',"expires_in":1', lifetimeSeconds: 1 },
      ...["bearer", "Bearer", "BEARER"].map((type) => ({
        name: `token_type ${type}`,
        body: `,"token_type":"${type}"`,
      })),
      { name: "unknown fields beside", body: ',"x":{"y":[1]}' },
      { name: "fields that are null", body: ',"error":null,"token_type":null,"revo":null' },
      { name: "an empty error beside", body: ',"error":""' },
      ...[201, 202, 299].map((status) => ({ name: `the status ${status}`, body: "", status })),
    ];
    test.each(rows)("$name", async ({ body, lifetimeSeconds = 3_600, status }) => {
      // The byte order mark in front must be ignored.
      const { auth, clock } = scriptedAuth(variant, () => text(`\ufeff{"access_token":"t"${body}}`, status));
      const token = await auth.getAccessToken();
      expect(token.value).toBe("t");
      expect(token.expiresAt).toBe(clock.now() + lifetimeSeconds * 1000);
    });

    test("the value of a token is not enumerable", async () => {
      const { auth } = scriptedAuth(variant, () => text('{"access_token":"seen-nowhere"}'));
      const token = await auth.getAccessToken();
      expect(token.value).toBe("seen-nowhere");
      expect(Object.keys(token)).not.toContain("value");
      expect(shown(token)).not.toContain("seen-nowhere");
    });
  });

  describe("that refuses the request", () => {
    const rows = [
      { name: "a 400 with an error", status: 400, body: { error: "x" }, error: "x" },
      { name: "a 401 with an error", status: 401, body: { error: "x" }, error: "x" },
      { name: "a 403 of an unknown shape", status: 403, body: { reason: "no" }, error: undefined },
      { name: "a 200 with an error and a token", status: 200, body: { ...token, error: "x" }, error: "x" },
    ];
    test.each(rows)("$name", async ({ status, body, error: expected }) => {
      const { auth } = scriptedAuth(variant, () => Response.json(body, { status }));
      const error = await rejectionOf(auth.getAccessToken());
      expect(error).toMatchObject({ name: "TokenRequestError", code: "token_refused", status, variant });
      expect((error as { error?: string }).error).toBe(expected);
    });

    const ofB = { name: "TokenRequestError", causes: [{ id: "client_secret_mismatch" }] };
    const refused = variant === "B" ? ofB : { name: "UnexpectedResponseError" };
    const bodies = ["", "<h1>No</h1>", '{"error":', "[17]", '"denied"'];
    test.each(bodies)(`the body %j with 400, 401 or 403 is a ${refused.name}`, async (body) => {
      for (const status of [400, 401, 403]) {
        const { auth } = scriptedAuth(variant, () => text(body, status));
        const message = expect.stringContaining(`${status}`);
        expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ ...refused, status, message });
      }
    });
  });
});

const lifetimes = [0, -1, "1h", "", "-1", "1e3", 1e12, true, [3600], 31622401];
describe.each([
  ...["mac", 1].map((value) => ({ field: "token_type", value })),
  ...lifetimes.map((value) => ({ field: "expires_in", value })),
])("$field with the odd value $value", ({ field, value }) => {
  const answer = () => Response.json({ ...token, [field]: value });

  test("is an unexpected response in Variant A, which shows the field", async () => {
    const issues = [expect.stringMatching(`^${field}: `)];
    const error = await rejectionOf(scriptedAuth("A", answer).auth.getAccessToken());
    expect(error).toMatchObject({ name: "UnexpectedResponseError", code: "response_shape", issues });
  });

  test("counts as absent in Variant B, with an event", async () => {
    const { auth, events, clock } = scriptedAuth("B", answer);
    expect((await auth.getAccessToken()).expiresAt).toBe(clock.now() + 3_600_000);
    const issue = expect.stringMatching(`^${field}: `);
    expect(events).toContainEqual(expect.objectContaining({ type: "token_field_ignored", issue }));
  });
});

describe("the field revo in a token answer of Variant A", () => {
  const user = { userId: "u1", firstname: "Ada", lastname: "L" };
  const roles = [{ name: "admin", group: "g" }];
  const full = { tenant: "acme", operator: user, roles };
  const someRoles = [{ name: "a" }, null, "b", { group: "g" }, { name: 1 }, { name: "c", group: 2 }];
  const revo = (fields: object) => ({ revo: fields });
  const numbered = { tenant: "7", operator: { userId: "0" } };
  const plain = { operator: { userId: "u1", lastname: "L" } };
  const unread = { token: {}, isUnread: true };
  type Row = { name: string; body: object; token: Partial<AccessToken>; isUnread?: boolean };
  const rows: Row[] = [
    { name: "nested", body: { revo: { tenant: "acme", user, roles } }, token: full },
    {
      name: "flat keys",
      body: { "revo.tenant": "acme", "revo.user": user, "revo.roles": roles },
      token: full,
    },
    {
      name: "leaf keys",
      body: { "revo.user.userId": "u1", "revo.user.firstname": "Ada", revo: { "user.lastname": "L" } },
      token: { operator: user },
    },
    { name: "ids as numbers", body: revo({ tenant: 7, user: { userId: 0 } }), token: numbered },
    { name: "null fields", body: revo({ user: { ...user, firstname: null }, roles: null }), token: plain },
    { name: "absent", body: {}, token: {} },
    { name: "null", body: { revo: null }, token: {} },
    { name: "a text", body: { revo: "acme" }, token: {} },
    { name: "an array", body: { revo: [{ tenant: "acme" }] }, token: {} },
    {
      name: "with wrong types inside",
      body: { revo: { tenant: [7], user: "u1", roles: { name: "a" } } },
      ...unread,
    },
    { name: "with a user without userId", body: revo({ user: { firstname: "Ada" } }), ...unread },
    { name: "with an empty userId", body: revo({ user: { userId: "" } }), ...unread },
    { name: "with a userId that JSON rounds", body: revo({ user: { userId: 2 ** 53 } }), ...unread },
    { name: "with a leaf key of a wrong type", body: { "revo.user.userId": {} }, ...unread },
    {
      name: "with valid and invalid roles",
      body: { revo: { roles: someRoles } },
      token: { roles: [{ name: "a" }, { name: "b" }, { name: "c" }] },
    },
  ];
  test.each(rows)("$name", async ({ body, token: { tenant, operator, roles }, isUnread = false }) => {
    const { auth, types } = scriptedAuth("A", () => Response.json({ access_token: "t", ...body }));
    const token = await auth.getAccessToken();
    expect([token.tenant, token.operator, token.roles]).toEqual([tenant, operator, roles]);
    expect(types().includes("operator_unreadable")).toBe(isUnread);
  });

  test("a token for another tenant emits tenant_differs and is served", async () => {
    const answer = () => Response.json({ access_token: "token-value", revo: { tenant: "other" } });
    const { auth, events } = scriptedAuth("A", answer);
    expect((await auth.getAccessToken()).tenant).toBe("other");
    expect(events).toContainEqual(
      expect.objectContaining({ type: "tenant_differs", tenant: "other", tenantId: "acme" }),
    );
  });
});

describe.each(variants)("Variant $variant over HTTP", ({ variant }) => {
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
    await createAuth({ baseUrl: server.url, tenantId: "acme", credential: plugin() }).getAccessToken();
    const [request] = server.requests;
    expect(request).toMatchObject({ method: "POST", path: "/api/v1/acme/external-plugin/oauth/token" });
    expect(request?.headers["content-type"]).toMatch(/^application\/x-www-form-urlencoded/);
    expect(request?.headers.authorization).toBeUndefined();
    expect(Object.fromEntries(new URLSearchParams(request?.body))).toEqual({
      grant_type: "client_credentials",
      client_id: "reporter-plugin",
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      client_assertion: expect.stringMatching(/^eyJ/),
    });
  });

  test("Variant B: JSON", async () => {
    const server = await recordingServer(() => ({ status: 200, body: '{"access_token":"t"}' }));
    await createAuth({ baseUrl: server.url, credential: account() }).getAccessToken();
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
