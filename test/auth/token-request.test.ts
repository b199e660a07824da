// What a token request sends: the documented fields, and in Variant A an assertion with the claims
// of section 2.2 and no others. A refusal names its likely causes, and a redirect is not followed.
import { decodeJwt, decodeProtectedHeader, jwtVerify } from "jose";
import { describe, expect, test, vi } from "vitest";
import type { Refusal } from "../../src/auth/credentials/credential.js";
import { explainRefusalOfA, type RefusedRequest } from "../../src/auth/credentials/diagnosis.js";
import type { Emulator } from "../../src/emulator/index.js";
import {
  createClientAssertion,
  type Fetch,
  isTokenRequestError,
  type TokenRequestError,
} from "../../src/index.js";
import { recordedAuth, scriptedAuth } from "../support/auth.js";
import { START, type SteppedClock, steppedClock } from "../support/clock.js";
import {
  ACCOUNT_SECRET,
  credentialOf,
  deployment,
  PLUGIN_ID,
  plugin,
} from "../support/deployment.js";
import { tokenAnswer } from "../support/fetch.js";
import { otherRsaKey, pkcs8, publicJwk, rsaKey } from "../support/keys.js";
import { recordingServer } from "../support/recording-server.js";
import { rejectionOf } from "../support/wait.js";

async function assertionFor(baseUrl: string, settings: { audience?: string } = {}) {
  const options = { baseUrl, clock: { now: () => START + 999 } };
  const { auth, fetch } = scriptedAuth(plugin(settings), () => tokenAnswer(), options);
  await auth.getAccessToken();
  const sent = fetch.calls[0];
  const assertion = new URLSearchParams(sent?.body).get("client_assertion") ?? "";
  return { url: sent?.url, claims: decodeJwt(assertion) };
}

test("a client assertion has iss, sub, aud, jti, iat and exp, and no nbf", async () => {
  const { claims } = await assertionFor("https://service.example");
  expect(Object.keys(claims).sort()).toEqual(["aud", "exp", "iat", "iss", "jti", "sub"]);
  expect(claims).toMatchObject({
    iss: PLUGIN_ID,
    sub: PLUGIN_ID,
    iat: START / 1000,
    exp: START / 1000 + 60,
  });
  expect(claims.jti).toMatch(/^[\w-]{20,}$/);
});

test("createClientAssertion makes an assertion that the token endpoint accepts once", async () => {
  const { publicUrl, fetch } = deployment({ now: () => START });
  const audience = `${publicUrl}/api/v1/acme/external-plugin/oauth/token`;
  const options = {
    clientId: PLUGIN_ID,
    privateKey: pkcs8(rsaKey()),
    audience,
    clock: { now: () => START + 999 },
  };
  const fields = { grant_type: "client_credentials", client_id: PLUGIN_ID };
  const client_assertion_type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
  const client_assertion = await createClientAssertion(options);
  const form = new URLSearchParams({ ...fields, client_assertion_type, client_assertion });
  const statusOf = async () => (await fetch(audience, { method: "POST", body: form })).status;
  expect([await statusOf(), await statusOf()]).toEqual([200, 400]);
  expect(decodeJwt(client_assertion)).toMatchObject({ aud: audience, iat: START / 1000 });
  expect(decodeProtectedHeader(await createClientAssertion({ ...options, keyId: "k" })).kid).toBe(
    "k",
  );
  for (const wrong of [
    { clientId: "" },
    { audience: undefined },
    { privateKey: 7 },
    { clock: 5 },
  ]) {
    const error = await rejectionOf(createClientAssertion({ ...options, ...wrong } as never));
    expect(error).toMatchObject({ name: "ConfigurationError", option: Object.keys(wrong)[0] });
  }
});

test.each([
  { name: "does not know base64url, as in browsers", own: { isEncoding: () => false } },
  { name: "is a stub", own: { isBuffer: () => false } },
])("a client assertion is the same where Buffer $name", async ({ own }) => {
  const audience = "https://service.example/api/v1/acme/external-plugin/oauth/token";
  const privateKey = pkcs8(rsaKey());
  vi.stubGlobal("Buffer", own);
  const making = createClientAssertion({ clientId: "reports", privateKey, audience });
  const assertion = await making.finally(() => vi.unstubAllGlobals());
  const { payload } = await jwtVerify(assertion, rsaKey().publicKey, { audience });
  expect(payload).toMatchObject({ iss: "reports", sub: "reports" });
});

describe("aud is the exact URL of the request, as one string", () => {
  const path = "/api/v1/acme/external-plugin/oauth/token";
  const row = (name: string, baseUrl: string, aud: string) => ({ name, baseUrl, aud });
  const rows = [
    row("an origin", "https://service.example", `https://service.example${path}`),
    row("a trailing slash", "https://service.example/", `https://service.example${path}`),
    row("a prefix", "https://service.example/x/y", `https://service.example/x/y${path}`),
    row("capital letters", "HTTPS://Service.Example", `https://service.example${path}`),
    row("a letter beyond ASCII", "https://bücher.example", `https://xn--bcher-kva.example${path}`),
  ];
  test.each(rows)("$name", async ({ baseUrl, aud }) => {
    const { url, claims } = await assertionFor(baseUrl);
    expect(claims.aud).toBe(aud);
    expect(url).toBe(aud);
  });

  test("unless an audience is set, for deployments behind a rewriting proxy", async () => {
    const audience = "https://inner.example/api/v1/acme/external-plugin/oauth/token";
    const { url, claims } = await assertionFor("https://outer.example", { audience });
    expect([claims.aud, url]).toEqual([audience, `https://outer.example${path}`]);
  });
});

describe("carries exactly the documented fields", () => {
  async function sent(credential: "A" | "B") {
    const server = await recordingServer(() => ({ status: 200, body: '{"access_token":"t"}' }));
    const options = { baseUrl: server.url, credential: credentialOf(credential) };
    await recordedAuth(options).auth.getAccessToken();
    const [{ headers, body, ...request } = expect.unreachable("nothing was sent")] =
      server.requests;
    expect(headers.authorization).toBeUndefined();
    return { ...request, type: headers["content-type"], body };
  }

  test("as a form in Variant A", async () => {
    const { method, path, type, body } = await sent("A");
    expect(`${method} ${path}`).toBe("POST /api/v1/acme/external-plugin/oauth/token");
    expect(type).toMatch(/^application\/x-www-form-urlencoded/);
    expect(Object.fromEntries(new URLSearchParams(body))).toEqual({
      grant_type: "client_credentials",
      client_id: "reporter-plugin",
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      client_assertion: expect.stringMatching(/^eyJ/),
    });
  });

  test("as JSON in Variant B", async () => {
    const { method, path, type, body } = await sent("B");
    expect(`${method} ${path}`).toBe("POST /v1/auth/token");
    expect(type).toBe("application/json");
    expect(JSON.parse(body)).toEqual({
      grant_type: "client_credentials",
      client_id: "reporter-account",
      client_secret: ACCOUNT_SECRET,
    });
  });
});

describe.each(["A", "B"] as const)("an answer of Variant %s", (variant) => {
  test.each([301, 308])("with %i is not followed to its Location", async (status) => {
    const stolen = { status: 200, body: '{"access_token":"stolen"}' };
    const elsewhere = await recordingServer(() => stolen);
    const headers = { location: `${elsewhere.url}/token` };
    const server = await recordingServer(() => ({ status, headers }));
    const { auth } = recordedAuth({ baseUrl: server.url, credential: credentialOf(variant) });
    const refused = { code: "response_redirected", status };
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject(refused);
    expect([server.requests.length, elsewhere.requests.length]).toEqual([1, 0]);
  });

  test("with a token beside an error is a refusal", async () => {
    const answer = () => Response.json({ access_token: "t", error: "x" });
    const error = await rejectionOf(scriptedAuth(variant, answer).auth.getAccessToken());
    expect(error).toMatchObject({ code: "token_refused", error: "x", status: 200, variant });
  });
});

test.each([
  { given: 31_622_400, seconds: 31_622_400 },
  { given: 31_622_401, seconds: 3_600 },
])("expires_in $given of Variant B means $seconds s: over 366 days is ignored", async (row) => {
  const { auth, clock } = scriptedAuth("B", () => tokenAnswer("t", row.given));
  expect((await auth.getAccessToken()).expiresAt).toBe(clock.now() + row.seconds * 1_000);
});

test("a lifetime with a fraction of a millisecond is rounded down, since databases refuse fractions", async () => {
  const { auth, clock } = scriptedAuth("B", () => tokenAnswer("t", 3_599.99983));
  expect((await auth.getAccessToken()).expiresAt).toBe(clock.now() + 3_599_999);
});

describe("the causes of a refusal", () => {
  interface Row {
    readonly name: string;
    readonly settings?: Parameters<typeof plugin>[0];
    /** Causes the refusal, and may return the fetch for the client to use. */
    readonly provoke?: (emulator: Emulator, clock: SteppedClock) => Fetch | undefined;
    /** Whether the same credential is accepted once before. */
    readonly worksBefore?: boolean;
    readonly rule: string;
    /** The id of the first cause or, with `undecided`, of one that cannot be distinguished. */
    readonly cause: string;
    readonly undecided?: RegExp;
  }

  const disabled = (emulator: Emulator) =>
    void emulator.updatePlugin({ clientId: PLUGIN_ID, tenantId: "acme", enabled: false });
  const withTwoKeys = (emulator: Emulator) => {
    const keys = [rsaKey(), otherRsaKey()].map((key, at) => ({
      ...publicJwk(key),
      kid: `key-${at}`,
    }));
    emulator.updatePlugin({ clientId: PLUGIN_ID, tenantId: "acme", jwks: { keys } });
    return undefined;
  };
  const lateWithoutDate = (emulator: Emulator, clock: SteppedClock): Fetch => {
    clock.advance(200_000);
    return async (url, init) => {
      const { status, body } = await emulator.fetch(url, init);
      return new Response(body, { status });
    };
  };
  const twice =
    (emulator: Emulator): Fetch =>
    async (url, init) => {
      await emulator.fetch(url, init);
      return emulator.fetch(url, init);
    };
  const audience = "http://service.localhost/api/v1/{tenantId}/external-plugin/oauth/token";
  const unregistered = "plugin_not_registered_or_disabled";
  const replay = { rule: "assertion.replay", cause: "jti_replayed", provoke: twice };
  const alike = /looks the same/;

  test.each<Row>([
    {
      name: "a plugin that was disabled after it had worked",
      worksBefore: true,
      provoke: disabled,
      rule: "plugin.enabled",
      cause: unregistered,
      undecided: /only the customer's log shows which one it was/,
    },
    {
      name: "a kid that is not the registered one, of two",
      provoke: withTwoKeys,
      settings: { keyId: "another" },
      rule: "assertion.key-id",
      cause: "jwks_mismatch",
    },
    {
      name: "an aud that still holds {tenantId}",
      settings: { audience },
      rule: "assertion.audience",
      cause: "audience_mismatch",
    },
    {
      name: "a wrong clock, without a Date",
      provoke: lateWithoutDate,
      rule: "assertion.expiry",
      cause: "clock_drift",
      undecided: alike,
    },
    { name: "a fetch that sends the same assertion twice", ...replay, undecided: alike },
    {
      name: "a fetch that sends an assertion twice after a success",
      worksBefore: true,
      ...replay,
      undecided: /a fetch or proxy that retries sends one twice/,
    },
  ])("$name: the log names $rule, and the error $cause", async (row) => {
    const server = steppedClock();
    const emulator = deployment({ now: server.now });
    let send: Fetch = emulator.fetch;
    const { auth } = recordedAuth({
      baseUrl: emulator.publicUrl,
      credential: plugin(row.settings),
      fetch: (url, init) => send(url, init),
    });
    if (row.worksBefore) auth.invalidate(await auth.getAccessToken());
    send = row.provoke?.(emulator, server) ?? send;
    const error = await rejectionOf(auth.getAccessToken());
    if (!isTokenRequestError(error)) throw error;
    expect(emulator.customerLog.entries().at(-1)?.rule).toBe(row.rule);
    const cause = error.causes.find(({ id }) => id === row.cause);
    if (row.undecided === undefined) expect(error.causes[0]).toBe(cause);
    expect(cause?.evidence).toMatch(row.undecided ?? /./);
    expect(error.message).toContain(error.causes[0]?.remedy);
  });

  test("a wrong key is the first cause, although the clock is wrong too, if a corrected clock did not help", async () => {
    const server = steppedClock();
    const client = steppedClock(server.now() - 300_000);
    const emulator = deployment({ now: server.now });
    const { publicUrl: baseUrl, fetch } = emulator;
    const credential = plugin({ privateKey: pkcs8(otherRsaKey()) });
    const { auth } = recordedAuth({ baseUrl, credential, fetch, clock: client });
    for (let call = 0; call < 4; call++) {
      const error = await rejectionOf(auth.getAccessToken());
      expect((error as TokenRequestError).causes[0]?.id).toBe("jwks_mismatch");
      for (const clock of [server, client]) clock.advance(60_000);
    }
  });

  describe("the causes that only local evidence decides", () => {
    const request: RefusedRequest = {
      clientId: "reports",
      tenantId: "acme",
      tokenEndpoint: "https://service.example/api/v1/acme/external-plugin/oauth/token",
      audience: "https://service.example/api/v1/acme/external-plugin/oauth/token",
      key: { keyId: "key-1", sign: (bytes) => bytes },
    };
    const refusal: Refusal = {
      grant: "client_credentials",
      error: "invalid_client",
      status: 400,
      wasInBounds: true,
      clockOffsetMs: 0,
      workedBefore: false,
      hasOwnFetch: false,
    };
    const audience = "https://x.example";
    const drift = { wasInBounds: false, clockOffsetMs: 300_000 };
    const worked = { workedBefore: true };
    const late = { ...drift, clockOffsetMs: -300_000 };
    const row = (
      name: string,
      refusal: Partial<Refusal>,
      first?: string,
      evidence?: RegExp,
      audience?: string,
    ) => ({ name, refusal, first, evidence, audience });
    const cases = [
      row("a slow clock", drift, "clock_drift", /300 s ahead of this/),
      row("a fast clock", late, "clock_drift", /300 s behind this/),
      row("a clock in bounds", {}, "jwks_mismatch"),
      row("a configured audience", {}, "audience_mismatch", undefined, audience),
      row("a configured audience that worked before", worked, "jwks_mismatch", undefined, audience),
      row("a signer that worked", worked, "jwks_mismatch", /same key id was/),
      row("an own fetch", { ...worked, hasOwnFetch: true }, "jwks_mismatch"),
      row("an unsupported grant type", { error: "unsupported_grant_type" }),
      row("an invalid request", { error: "invalid_request" }),
      row("an error that the description does not name", { error: "x" }),
    ];
    test.each(cases)("$name: $first", ({ refusal: known, audience, first, evidence = /(?:)/ }) => {
      const causes = explainRefusalOfA(
        { ...refusal, ...known },
        { ...request, ...(audience !== undefined && { audience }) },
      );
      expect(causes[0]?.id).toBe(first);
      expect(causes[0]?.evidence ?? "").toMatch(evidence);
      expect(new Set(causes.map(({ id }) => id)).size).toBe(causes.length);
    });

    test("the algorithm is suspected of a signer, and not of a key that the client signs with", () => {
      const remedyFor = (key: RefusedRequest["key"]) =>
        explainRefusalOfA(refusal, { ...request, key }).find(({ id }) => id === "jwks_mismatch")
          ?.remedy;
      expect(remedyFor(request.key)).toContain("RSASSA-PKCS1-v1_5 and SHA-256");
      expect(remedyFor({ ...request.key, thumbprint: "t" })).not.toContain("RSASSA");
    });

    test("for a spent code the first remedy is a relaunch, before the registration", () => {
      const causes = explainRefusalOfA(
        { ...refusal, grant: "authorization_code", error: "invalid_grant" },
        request,
      );
      expect(causes.map(({ id }) => id)).toEqual([
        "code_spent_or_expired",
        "plugin_not_registered_or_disabled",
        "wrong_grant_for_plugin_type",
      ]);
      expect(causes[0]?.remedy).toBe("Relaunch the plugin.");
      expect(causes[2]?.summary).toMatch(
        /registered as a service plugin, which cannot use authorization_code/,
      );
    });
  });
});
