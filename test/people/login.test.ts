// Variant B's login: the request to the authorization endpoint, and the checks of the callback.
import { createHash } from "node:crypto";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import {
  apiClient,
  beginLogin,
  completeLogin,
  isTokenRequestError,
  memoryStore,
  resumeAuth,
  serviceAccount,
  type TokenRequestError,
} from "../../src/index.js";
import { rejectionOf } from "../support/wait.js";
import { backFromLogin, client, loggedIn, loginServer } from "./person.js";

const target = { baseUrl: "https://service.example" };

describe("a login", () => {
  test("begins at the authorization endpoint with the standard parameters, those in its URL and the configured ones", async () => {
    const credential = apiClient({
      ...client,
      authorizationEndpoint: "https://service.example/authorize?realm=acme",
      authorizationParameters: {
        scope: "devices:read",
        prompt: "login",
        ui_locales: undefined as never,
      },
    });
    const { url, login } = await beginLogin({ ...target, credential });
    const { login: another } = await beginLogin({ ...target, credential });
    const unique = [login.state, login.codeVerifier, another.state, another.codeVerifier];
    expect(new Set(unique).size).toBe(4);
    const { origin, pathname, searchParams } = new URL(url);
    expect(origin + pathname).toBe("https://service.example/authorize");
    expect(Object.fromEntries(searchParams)).toEqual({
      realm: "acme",
      scope: "devices:read",
      prompt: "login",
      response_type: "code",
      client_id: "portal",
      redirect_uri: client.redirectUri,
      state: login.state,
      code_challenge: createHash("sha256").update(login.codeVerifier).digest("base64url"),
      code_challenge_method: "S256",
    });
    expect(url).not.toContain(login.codeVerifier);
  });

  test("begins under the base URL with its prefix if the endpoint is a path", async () => {
    const credential = apiClient({ ...client, authorizationEndpoint: "/v1/authorize?realm=acme" });
    const { url } = await beginLogin({ baseUrl: "https://service.example/prefix/", credential });
    expect(url).toMatch(/^https:\/\/service\.example\/prefix\/v1\/authorize\?realm=acme&/);
  });

  test("goes back to the option redirectUri if the credential has none, and cannot begin without both", async () => {
    const { redirectUri, ...settings } = client;
    const credential = apiClient(settings);
    const { login, url } = await beginLogin({ ...target, credential, redirectUri });
    expect([login.redirectUri, new URL(url).searchParams.get("redirect_uri")]).toEqual([
      redirectUri,
      redirectUri,
    ]);
    const none = { code: "credential_invalid", option: "redirectUri" };
    expect(await rejectionOf(beginLogin({ ...target, credential }))).toMatchObject(none);
    const { fetch, codes } = loginServer();
    const callbackUrl = `${redirectUri}?code=c&state=${login.state}`;
    await completeLogin({ ...target, credential, fetch, login, callbackUrl });
    expect(codes[0]?.redirect_uri).toBe(redirectUri);
  });

  test("does not begin where its code would come back over plain http from another machine", async () => {
    const begin = (redirectUri: string, options = {}) =>
      beginLogin({ ...target, credential: apiClient({ ...client, redirectUri }), ...options });
    for (const elsewhere of [
      "http://portal.example/callback",
      "http://127.0.0.1.example/callback",
    ]) {
      const refusal = { name: "ConfigurationError", option: "redirectUri" };
      expect(await rejectionOf(begin(elsewhere))).toMatchObject(refusal);
      expect((await begin(elsewhere, { allowInsecureHttp: true })).login.redirectUri).toBe(
        elsewhere,
      );
    }
    for (const own of [
      "http://127.0.0.1:8080/callback",
      "http://localhost/callback",
      "com.example.app:/callback",
    ])
      expect((await begin(own)).login.redirectUri).toBe(own);
  });

  test("ends with an Auth that names its person and shows no token", async () => {
    const { auth } = await loggedIn();
    expect(auth).toMatchObject({ variant: "B", ...target, tenantId: "acme", person: "session-1" });
    expect(inspect(auth, { showHidden: true, depth: 9 })).not.toMatch(/token-1/);
  });
});

describe("a callback", () => {
  test.each([
    { name: "with a changed state", query: "code=c&state=STATEx", code: "state_mismatch" },
    {
      name: "with code and error",
      query: "code=the-code&error=access_denied",
      code: "login_denied",
    },
    { name: "with two codes", query: "code=c&code=d", code: "login_refused" },
  ])("$name is rejected before its code is sent", async ({ query, code }) => {
    const server = loginServer();
    const options = { ...target, credential: apiClient(client), fetch: server.fetch };
    const back = await backFromLogin(options, (state) =>
      query.includes("STATE") ? query.replace("STATE", state) : `${query}&state=${state}`,
    );
    const error = await rejectionOf(completeLogin({ ...options, ...back }));
    expect(error).toMatchObject({ name: "LoginRequiredError", code, variant: "B" });
    expect(server.fetch.calls).toHaveLength(0);
    expect(inspect(error, { depth: 9 })).not.toContain(back.login.state);
  });

  test.each([
    { name: "to one process", credential: {} },
    { name: "to two that share a store", credential: { credential: apiClient(client) } },
  ])("that comes twice $name sends its code once", async ({ credential }) => {
    const { server, options } = await loggedIn();
    const again = completeLogin({ ...options, ...credential, ...(await backFromLogin(options)) });
    expect(await rejectionOf(again)).toMatchObject({ code: "login_refused" });
    expect(server.codes).toHaveLength(1);
  });
});

describe("the functions of a login reject", () => {
  const baseUrl = "https://service.example/prefix";
  const settings = (changed: object) => {
    return { baseUrl, credential: apiClient({ ...client, ...changed }) };
  };
  const row = (name: string, changed: object, options: object) => {
    return { name, options, option: Object.keys(changed)[0] };
  };
  const setting = (name: string, changed: object) => row(name, changed, settings(changed));
  const given = (name: string, changed: object) =>
    row(name, changed, { ...settings({}), ...changed });
  const machine = serviceAccount({ clientId: "a", clientSecret: "b" });
  test.each([
    setting("an empty client id", { clientId: " " }),
    setting("a relative redirectUri", { redirectUri: "/callback" }),
    setting("a fragment in redirectUri", { redirectUri: "https://a.example/#x" }),
    setting("a missing authorization endpoint", { authorizationEndpoint: undefined }),
    ...["http://service.example/a", "javascript:alert(1)"].map((authorizationEndpoint) =>
      setting(`the authorization endpoint ${authorizationEndpoint}`, { authorizationEndpoint }),
    ),
    ...["/../elsewhere", "/a#b", "a/b", "\\\\evil.example"].map((authorizationEndpoint) =>
      setting(`the authorization endpoint ${authorizationEndpoint}`, { authorizationEndpoint }),
    ),
    setting("a resendLostRefresh that is not a boolean", { resendLostRefresh: "no" }),
    setting("state among the parameters", { authorizationParameters: { state: "fixed" } }),
    setting("a refresh path that leaves the base URL", { refreshPath: "@evil.example/" }),
    ...[null, "scope=a", ["scope"], { scope: null }, { scope: Symbol("s") }].map((given, index) =>
      setting(`parameters that are not texts, ${index}`, { authorizationParameters: given }),
    ),
    given("a machine's credential", { credential: machine }),
    given("an empty person", { person: "" }),
    given("a store without its methods", { store: { get() {}, set() {}, delete() {} } }),
    given("a clock that is a number", { clock: 5 }),
    given("an allowInsecureHttp that is not a boolean", { allowInsecureHttp: "http" }),
  ])("$name", async ({ options, option }) => {
    const refusal = { name: "ConfigurationError", option };
    expect(await rejectionOf(beginLogin(options as never))).toMatchObject(refusal);
    const resumed = { store: memoryStore(), person: "p", ...options };
    expect(await rejectionOf(resumeAuth(resumed as never))).toMatchObject(refusal);
  });

  test("a function that returns undefined, with an error that names the tenant", async () => {
    const credential = apiClient(async () => undefined);
    const error = await rejectionOf(beginLogin({ ...target, tenantId: "acme", credential }));
    expect(error).toMatchObject({
      code: "credential_missing",
      message: expect.stringContaining("acme"),
    });
  });

  test.each([5, { aborted: false }])(
    "a signal that is not an AbortSignal (%j), and send nothing",
    async (signal) => {
      const { server, options, auth, clock } = await loggedIn();
      const { login } = await beginLogin(options);
      const callbackUrl = `${client.redirectUri}?code=another&state=${login.state}`;
      const completing = completeLogin({
        ...options,
        login,
        callbackUrl,
        signal: signal as AbortSignal,
      });
      const refused = { name: "ConfigurationError", code: "option_invalid", option: "signal" };
      expect(await rejectionOf(completing)).toMatchObject(refused);
      clock.advance(3_600_000);
      const asking = (async () => auth.getAccessToken({ signal: signal as AbortSignal }))();
      expect(await rejectionOf(asking)).toMatchObject(refused);
      expect([server.codes.length, server.refreshes.length]).toEqual([1, 0]);
      // Null counts as left out, as in a RequestInit.
      const none = { signal: null as unknown as AbortSignal };
      expect((await auth.getAccessToken(none)).value).toBe("access-token-2");
      await completeLogin({ ...options, login, callbackUrl, ...none });
    },
  );

  test.each([
    { clientId: "another" },
    { redirectUri: "https://portal.example/another" },
    { issuer: "https://a.example" },
  ])("a login that was begun with another credential (%j)", async (changed) => {
    const back = await backFromLogin(settings(changed));
    const completing = completeLogin({ ...settings({}), ...back });
    expect(await rejectionOf(completing)).toMatchObject({
      code: "option_invalid",
      option: "login",
    });
  });
});

describe("a refused client", () => {
  const missing = { id: "client_secret_missing", body: { error: "invalid_client" } };
  const clientSecret = "planted-secret";
  test.each([
    {
      ...missing,
      name: "with a secret",
      clientSecret,
      id: "client_secret_mismatch",
      says: /Leave/,
    },
    { ...missing, name: "without a secret", says: /Pass its clientSecret/ },
    { ...missing, name: "by a page with 401", body: undefined, says: /status 401\. / },
  ])("$name is explained by $id", async ({ body, id, says, name: _name, ...secret }) => {
    const server = loginServer();
    const page = () => new Response("<html>", { status: 401 });
    server.before = () => (body === undefined ? page() : Response.json(body, { status: 401 }));
    const credential = apiClient({ ...client, ...secret });
    const options = { ...target, credential, fetch: server.fetch };
    const back = await backFromLogin(options);
    const error = (await rejectionOf(completeLogin({ ...options, ...back }))) as Error;
    const refused = (isTokenRequestError(error) ? error : error.cause) as TokenRequestError;
    expect(refused.causes.map((cause) => cause.id)).toEqual([id]);
    const code = body === undefined ? "login_outcome_unknown" : "token_refused";
    expect(error).toMatchObject({ code, message: expect.stringMatching(says) });
    expect(inspect([error, refused.causes], { depth: 9 })).not.toContain(clientSecret);
  });
});
