// connect, session and answer: whose Service a request gets, at how many token requests, and error
// answers.
import { describe, expect, test } from "vitest";
import { type OperationTypes, operations } from "../../generated/operations.js";
import { createBackend, isSessionError, SessionError } from "../../src/backend/index.js";
import {
  ApiError,
  type ApiErrorCode,
  ConfigurationError,
  type Fetch,
  LoginRequiredError,
  RateLimitedError,
  RelaunchRequiredError,
  type ServiceOf,
  StoreError,
  TokenRequestError,
  TransportError,
  UnexpectedResponseError,
} from "../../src/index.js";
import { START } from "../support/clock.js";
import { rejectionOf } from "../support/wait.js";
import {
  ada,
  bearer,
  HOST,
  launchCredential,
  launching,
  OWN,
  type Rig,
  rig,
  SERVICE,
  type SessionAnswer,
} from "./rig.js";
import { TestBrowser } from "./test-browser.js";

const minute = 60_000;

function requestOf({ session }: Pick<SessionAnswer, "session">): Request {
  return new Request(`${OWN}/devices`, { headers: bearer(session) });
}

describe("connect", () => {
  test("renews the token once for 50 requests in two processes that share a store", async () => {
    const parts = rig();
    const request = requestOf(await parts.loggedIn());
    parts.clock.advance(59 * minute);
    await parts.backend.session(request);
    parts.clock.advance(minute);
    const before = parts.tokenRequests();
    const processes = [parts.another(), parts.another()];
    const calls = Array.from({ length: 50 }, async (_, index) => {
      const service = await processes[index % 2]?.connect(request);
      return (await service?.call("listDevices"))?.ok;
    });
    expect(await Promise.all(calls)).toEqual(Array(50).fill(true));
    expect(parts.tokenRequests() - before).toBe(1);
  });

  test("finds the person with shareInFlight: false too", async () => {
    const parts = rig({ shareInFlight: false });
    const request = requestOf(await parts.loggedIn());
    const other = parts.another();
    const services = await Promise.all([1, 2, 3].map(() => other.connect(request)));
    for (const service of services) expect((await service.call("listDevices")).ok).toBe(true);
  });

  test("takes the options of calls: headers, maxResponseBytes and intercept", async () => {
    const sent: (string | null)[] = [];
    const parts: Rig = rig({
      headers: { "x-team": "blue" },
      maxResponseBytes: 1,
      intercept: ({ purpose }, send) => {
        sent.push(purpose);
        return send();
      },
      fetch: (url, init) => {
        sent.push(new Headers(init?.headers).get("x-team"));
        return parts.emulator.fetch(url, init);
      },
    });
    const service = await parts.backend.connect(requestOf(await parts.loggedIn()));
    const error = await rejectionOf(service.call("listDevices"));
    expect(error).toMatchObject({ code: "response_too_large" });
    expect(sent).toEqual(["token", null, "call", "blue"]);
  });

  test("uses the token of the request's own session", async () => {
    const seen: (string | null)[] = [];
    const parts: Rig = rig({
      fetch: (url, init) => {
        if (url.endsWith("/devices")) seen.push(new Headers(init?.headers).get("authorization"));
        return parts.emulator.fetch(url, init);
      },
    });
    const requests: Request[] = [];
    for (const userId of ["ada", "grace"]) {
      const answer = await parts.browser.post("/auth/launch", parts.launchBody(userId));
      const request = requestOf(await answer.json());
      expect((await parts.backend.session(request)).operator).toMatchObject({ userId });
      requests.push(request);
    }
    for (const request of [...requests, ...requests])
      await (await parts.backend.connect(request)).call("listDevices");
    expect(new Set(seen).size).toBe(2);
    expect(seen.slice(2)).toEqual(seen.slice(0, 2));
  });

  test("reads the listed deployments and indexes the operations once, not for each request", async () => {
    const reads = { deployment: 0, operation: 0 };
    const deployment = {
      ...launching(),
      get tenantId() {
        reads.deployment++;
        return "acme";
      },
    };
    const A = {
      ...operations.A,
      // This operation is not called, so only an index of all operations reads it.
      get requestToken() {
        reads.operation++;
        return operations.A.requestToken;
      },
    };
    const parts = rig({ deployments: [deployment], api: { operations: { ...operations, A } } });
    const atStart = reads.deployment;
    const request = requestOf(await parts.launch());
    for (let requests = 0; requests < 5; requests++) {
      const { paths } = (await parts.backend.connect(request)) as ServiceOf<"A", OperationTypes>;
      expect((await paths.GET("/api/v1/{tenantId}/devices")).ok).toBe(true);
    }
    expect(reads).toEqual({ deployment: atStart, operation: 1 });
  });
});

describe("session", () => {
  test("returns the person, and a key for state that is the same in each of an operator's sessions", async () => {
    const parts = rig();
    const keyOf = async (answer: SessionAnswer) =>
      (await parts.backend.session(requestOf(answer))).stateKey;
    const launched = await parts.launch();
    expect(await parts.backend.session(requestOf(launched))).toMatchObject({
      variant: "A",
      tenantId: "acme",
      baseUrl: SERVICE,
      operator: { userId: "ada" },
      roles: ada.roles,
    });
    expect(await keyOf(await parts.launch())).toBe(await keyOf(launched));
    // Without an operator the key belongs to the session, and does not change.
    const [first, second] = [await parts.loggedIn(), await parts.loggedIn()];
    const keys = [await keyOf(launched), await keyOf(first), await keyOf(second)];
    expect(new Set(keys).size).toBe(3);
    expect((await parts.another().session(requestOf(first))).stateKey).toBe(keys[1]);
  });

  test("returns different state keys for one userId in different tenants and deployments", async () => {
    const keys = new Set<string>();
    const people = [
      { baseUrl: "https://one.example", tenantId: "acme", userId: "7" },
      { baseUrl: "https://one.example", tenantId: "umbrella", userId: "7" },
      { baseUrl: "https://two.example", tenantId: "acme", userId: "7" },
      { baseUrl: "https://one.example", tenantId: "acme", userId: "\ud800" },
      { baseUrl: "https://one.example", tenantId: "acme", userId: undefined },
      { baseUrl: "https://one.example", tenantId: "acme", userId: undefined },
    ];
    for (const { userId, ...target } of people) {
      const revo = userId === undefined ? {} : { user: { userId } };
      const backend = createBackend({
        deployments: [{ ...target, hostOrigin: HOST, launch: launchCredential() }],
        fetch: async () =>
          Response.json({ access_token: "t", token_type: "Bearer", expires_in: 60, revo }),
      });
      const { tenantId } = target;
      const body = { code: "c", codeVerifier: "v".repeat(43), tenantId, hostOrigin: HOST };
      const answer = await new TestBrowser(backend, OWN).post("/auth/launch", body);
      keys.add((await backend.session(requestOf(await answer.json()))).stateKey);
    }
    expect(keys.size).toBe(people.length);
  });
});

describe("answer", () => {
  const reports: unknown[] = [];
  const { backend } = rig({ onError: (error) => void reports.push(error) });
  const secret = "canary-of-the-service";
  const api = (code: ApiErrorCode, status: number) =>
    new ApiError(code, secret, { variant: "A", status, body: secret });
  const token = new TokenRequestError(secret, { variant: "A", status: 400 });
  const odd = new UnexpectedResponseError("response_shape", secret, { status: 200 });
  const lost = new TransportError("timed_out", secret, { retryable: true });

  test.each([
    { is: "401 session_missing", to: new SessionError("session_missing", "x") },
    { is: "401 session_expired", to: new SessionError("session_expired", "x") },
    { is: "403 origin_refused", to: new SessionError("origin_refused", "x") },
    { is: "403 csrf_refused", to: new SessionError("csrf_refused", "x") },
    { is: "401 relaunch_required", to: new RelaunchRequiredError("launch_expired", secret) },
    { is: "401 login_required", to: new LoginRequiredError("login_expired", secret) },
    { is: "503 rate_limited", to: new RateLimitedError(secret, { retryAt: START + 2_500 }) },
    { is: "502 exchange_failed", to: token },
    { is: "502 exchange_failed", to: odd },
    { is: "503 service_unreachable", to: lost },
    { is: "503 store_unavailable", to: new StoreError("store_unavailable", secret) },
    { is: "500 backend_failed", to: new ConfigurationError("option_invalid", secret) },
    { is: "502 api_unauthorized", to: api("api_unauthorized", 401) },
    { is: "403 api_forbidden", to: api("api_forbidden", 403) },
    { is: "502 api_failed", to: api("api_failed", 500) },
    { is: "503 rate_limited", to: api("api_rate_limited", 429) },
    { is: "500 backend_failed", to: new Error(secret) },
    { is: "500 backend_failed", to: secret },
    { is: "500 backend_failed", to: undefined },
  ])("is $is to $to.name $to.code, and does not quote it", async ({ to, is }) => {
    reports.length = 0;
    const answer = backend.answer(to);
    const text = await answer.text();
    expect(`${answer.status} ${JSON.parse(text).error}`).toBe(is);
    expect(text + JSON.stringify([...answer.headers])).not.toContain(secret);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(reports).toEqual(isSessionError(to) ? [] : [to]);
  });

  test("to a rate limit has a Retry-After header", () => {
    const clock = { now: () => START };
    const own = createBackend({ deployments: [launching()], clock, onError: () => {} });
    const retryAfter = (retryAt: number) =>
      own.answer(new RateLimitedError("x", { retryAt })).headers.get("retry-after");
    expect([retryAfter(START + 2_500), retryAfter(START - 2_500)]).toEqual(["3", "1"]);
  });

  test("is the same when onError throws or rejects", () => {
    const fail = () => {
      throw new Error("listener");
    };
    for (const onError of [fail, async () => fail()])
      expect(rig({ onError }).backend.answer(new Error("x")).status).toBe(500);
  });

  test("without onError prints only faults to the console", ({ onTestFinished }) => {
    const printed: unknown[] = [];
    const { error } = console;
    console.error = (...words: unknown[]) => void printed.push(...words);
    onTestFinished(() => {
      console.error = error;
    });
    const own = createBackend({ deployments: [launching()] });
    const fault = new Error("x");
    own.answer(fault);
    own.answer(new RelaunchRequiredError("launch_expired", "x"));
    own.answer(new SessionError("session_missing", "x"));
    expect(printed).toEqual([expect.stringContaining("bivariant/backend"), fault]);
  });
});

const young = 30_000;
const old = young + 1;

/** A rig whose service refuses calls, or refreshes, from when the test says so. */
function refusing({ fetch, status = 401 }: { readonly fetch?: Fetch; status?: number } = {}) {
  const refused = { calls: false, refresh: false };
  const parts: Rig = rig({
    unauthorizedStatuses: [status],
    fetch: async (url, init) => {
      if (refused.calls && !url.includes("token")) return new Response(null, { status });
      if (refused.refresh && url.includes("token"))
        return Response.json({ error: "invalid_grant" }, { status: 400 });
      return (fetch ?? parts.emulator.fetch)(url, init);
    },
  });
  return { ...parts, refused };
}

/** The status and the body of what the application answers to a call with the request's session. */
async function answered({ backend }: Rig, request: Request): Promise<unknown[]> {
  const called = backend.connect(request).then((service) => service.call("listDevices"));
  const { ok, error } = await called.catch((thrown: unknown) => ({ ok: false, error: thrown }));
  if (ok) return [200, {}];
  const answer = backend.answer(error);
  return [answer.status, await answer.json()];
}

describe("a launch whose token the service no longer accepts", () => {
  test.each([401, 419])(
    "asks for a relaunch at the first %d, and ends in every process",
    async (status) => {
      const parts = refusing({ status });
      const request = requestOf(await parts.launch());
      expect(await answered(parts, request)).toEqual([200, {}]);
      parts.refused.calls = true;
      parts.clock.advance(old);
      const over = { error: "relaunch_required", reason: "launch_expired" };
      expect(await answered(parts, request)).toMatchObject([401, over]);
      for (const backend of [parts.backend, parts.another()])
        expect((await answered({ ...parts, backend }, request))[0]).toBe(401);
      const gone = { code: "session_unknown" };
      expect(await rejectionOf(parts.another().session(request))).toMatchObject(gone);
    },
  );

  test("survives a 401 on a token of at most 30 s, because the route may only need another token", async () => {
    const parts = refusing();
    const request = requestOf(await parts.launch());
    parts.refused.calls = true;
    parts.clock.advance(young);
    expect(await answered(parts, request)).toMatchObject([502, { error: "api_unauthorized" }]);
    expect(await parts.backend.session(request)).toMatchObject({ variant: "A" });
  });

  test("survives a 401 that is not passed to backend.answer", async () => {
    const parts = refusing();
    const request = requestOf(await parts.launch());
    parts.refused.calls = true;
    parts.clock.advance(old);
    const { error } = await (await parts.backend.connect(request)).call("listDevices");
    expect(error).toMatchObject({ code: "api_unauthorized", cause: { code: "launch_expired" } });
    expect(await parts.another().session(request)).toMatchObject({ variant: "A" });
  });

  test("survives a 403", async () => {
    const parts = rig();
    const request = requestOf(await parts.launch());
    parts.emulator.updatePlugin({ tenantId: "acme", clientId: "planner", scopes: [] });
    parts.clock.advance(old);
    expect(await answered(parts, request)).toMatchObject([403, { error: "api_forbidden" }]);
    expect(await parts.another().session(request)).toMatchObject({ variant: "A" });
  });
});

describe("a login whose token the service no longer accepts", () => {
  test("asks for a login at the first call if its refresh token is refused too", async () => {
    const parts = refusing();
    const request = requestOf(await parts.loggedIn());
    Object.assign(parts.refused, { calls: true, refresh: true });
    parts.clock.advance(old);
    const over = { error: "login_required", reason: "login_refused" };
    for (let again = 0; again < 2; again++)
      expect(await answered(parts, request)).toMatchObject([401, over]);
  });

  test("is renewed by its refresh token, and survives a second 401", async () => {
    const parts = refusing();
    const request = requestOf(await parts.loggedIn());
    parts.refused.calls = true;
    parts.clock.advance(old);
    expect(await answered(parts, request)).toMatchObject([502, { error: "api_unauthorized" }]);
    expect(await parts.another().session(request)).toMatchObject({ variant: "B" });
  });

  test("without a refresh token asks for a login, and ends", async () => {
    const parts = refusing({
      fetch: async (url) => Response.json(url.includes("token") ? { access_token: "t" } : []),
    });
    const request = requestOf(await parts.loggedIn());
    expect(await answered(parts, request)).toEqual([200, {}]);
    parts.refused.calls = true;
    parts.clock.advance(old);
    const over = { error: "login_required", reason: "login_expired" };
    expect(await answered(parts, request)).toMatchObject([401, over]);
    const gone = { code: "login_expired" };
    expect(await rejectionOf(parts.another().connect(request))).toMatchObject(gone);
  });
});

describe("a page that comes back with a session in a cookie,", () => {
  const away = () => Promise.reject(Object.assign(new TypeError("x"), { code: "ECONNREFUSED" }));
  const invalidGrant = () => Response.json({ error: "invalid_grant" }, { status: 400 });

  test.each<{ name: string; answer: () => Response | Promise<Response>; status: number }>([
    { name: "whose refresh was refused, is asked for a login", answer: invalidGrant, status: 204 },
    {
      name: "whose refresh was lost, is asked for a login",
      answer: () => new Response("x"),
      status: 204,
    },
    { name: "while the token endpoint is away, receives its session", answer: away, status: 200 },
  ])("$name", async ({ answer, status }) => {
    let refreshes = 0;
    const parts: Rig = rig({
      session: { cookie: true },
      fetch: async (url, init) => {
        if (parts.clock.now() === START) return parts.emulator.fetch(url, init);
        refreshes++;
        return answer();
      },
    });
    await parts.loggedIn();
    // The token still lives, and its renewal fails in the background.
    parts.clock.advance(59 * minute);
    expect((await parts.browser.post("/auth/session")).status).toBe(200);
    parts.clock.advance(minute);
    for (let again = 0; again < 2; again++)
      expect((await parts.browser.post("/auth/session")).status).toBe(status);
    if (status === 204) expect(refreshes).toBe(1);
  });
});
