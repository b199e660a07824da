// How each answer of a token endpoint is read. No error echoes a secret.
import { describe, expect, test } from "vitest";
import { createAuth } from "../../src/index.js";
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
  const row = (name: string, answer: () => Response, code: string, issue?: RegExp) => {
    return { name, answer, code, issue };
  };
  test.each([
    row("an HTML page", () => text("<html>"), "response_not_json"),
    row("a JSON list", () => Response.json([token]), "response_shape", /object/),
    row("another name", () => Response.json({ token: "t" }), "response_shape", /^access_token/),
  ])("that is $name says what answered and what is wrong", async ({ answer, code, issue }) => {
    const { auth, fetch } = scriptedAuth(variant, answer);
    const error = (await rejectionOf(auth.getAccessToken())) as Error & { issues: string[] };
    const message = expect.stringMatching(/^The token endpoint answered 200\b.* Is baseUrl .*\?$/);
    expect(error).toMatchObject({
      name: "UnexpectedResponseError",
      code,
      variant,
      status: 200,
      message,
    });
    expect(error.issues).toEqual(issue === undefined ? [] : [expect.stringMatching(issue)]);
    expect(fetch.calls).toHaveLength(1);
  });

  test("has a value that is not enumerable, and the lifetime that it states", async () => {
    const body = '\ufeff{"access_token":"seen-nowhere","expires_in":1}';
    const { auth, clock } = scriptedAuth(variant, () => text(body));
    const token = await auth.getAccessToken();
    expect([token.value, token.expiresAt]).toEqual(["seen-nowhere", clock.now() + 1_000]);
    expect(Object.keys(token)).not.toContain("value");
    expect(shown(token)).not.toContain("seen-nowhere");
  });

  describe("that refuses the request", () => {
    const rows = [
      { name: "a 400 with an error", status: 400, body: { error: "x" }, error: "x" },
      { name: "a 401 with an error", status: 401, body: { error: "x" }, error: "x" },
      { name: "a 403 of an unknown shape", status: 403, body: { reason: "no" }, error: undefined },
      { name: "a 200 with both", status: 200, body: { ...token, error: "x" }, error: "x" },
    ];
    test.each(rows)("$name", async ({ status, body, error: expected }) => {
      const { auth } = scriptedAuth(variant, () => Response.json(body, { status }));
      const error = await rejectionOf(auth.getAccessToken());
      expect(error).toMatchObject({
        name: "TokenRequestError",
        code: "token_refused",
        status,
        variant,
      });
      expect((error as { error?: string }).error).toBe(expected);
    });
  });
});

describe.each([
  { field: "token_type", value: "mac" },
  { field: "expires_in", value: 31_622_401 },
])("$field with the odd value $value", ({ field, value }) => {
  const answer = () => Response.json({ ...token, [field]: value });

  test("is an unexpected response in Variant A, which shows the field", async () => {
    const issues = [expect.stringMatching(`^${field}: `)];
    const error = await rejectionOf(scriptedAuth("A", answer).auth.getAccessToken());
    expect(error).toMatchObject({
      name: "UnexpectedResponseError",
      code: "response_shape",
      issues,
    });
  });

  test("counts as absent in Variant B, with an event", async () => {
    const { auth, events, clock } = scriptedAuth("B", answer);
    expect((await auth.getAccessToken()).expiresAt).toBe(clock.now() + 3_600_000);
    const issue = expect.stringMatching(`^${field}: `);
    expect(events).toContainEqual(expect.objectContaining({ type: "token_field_ignored", issue }));
  });
});

describe.each(variants)("Variant $variant over HTTP", ({ variant }) => {
  const getToken = (url: string) =>
    createAuth({
      baseUrl: url,
      tenantId: "acme",
      credential: credentialOf(variant),
    }).getAccessToken();
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
    const elsewhere = await recordingServer(() => ({
      status: 200,
      body: '{"access_token":"stolen"}',
    }));
    const server = await recordingServer(() => ({
      status,
      headers: { location: `${elsewhere.url}/token` },
    }));
    expect(await rejectionOf(getToken(server.url))).toMatchObject({
      code: "response_redirected",
      status,
    });
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
      credential: plugin(),
    }).getAccessToken();
    const [request] = server.requests;
    expect(request).toMatchObject({
      method: "POST",
      path: "/api/v1/acme/external-plugin/oauth/token",
    });
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
