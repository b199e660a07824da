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

function requestOf(session: string | undefined): Request {
  return new Request(`${OWN}/devices`, { headers: bearer(session) });
}

const loggedIn = async (parts: Rig, browser = parts.browser): Promise<Request> =>
  requestOf((await parts.loggedIn(browser)).session);

describe("connect", () => {
  test("renews the token once for 50 requests in two processes that share a store", async () => {
    const parts = rig();
    const request = await loggedIn(parts);
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
    const request = await loggedIn(parts);
    const other = parts.another();
    const services = await Promise.all([1, 2, 3].map(() => other.connect(request)));
    for (const service of services) expect((await service.call("listDevices")).ok).toBe(true);
  });

  test("takes the options of calls: headers, maxResponseBytes and intercept", async () => {
    const sent: unknown[] = [];
    const purposes: string[] = [];
    const parts: Rig = rig({
      fetch: (url, init) => {
        sent.push(new Headers(init?.headers).get("x-team"));
        return parts.emulator.fetch(url, init);
      },
      headers: { "x-team": "blue" },
      maxResponseBytes: 1,
      intercept: (request, send) => {
        purposes.push(request.purpose);
        return send();
      },
    });
    const request = await loggedIn(parts);
    const error = await rejectionOf((await parts.backend.connect(request)).call("listDevices"));
    expect(error).toMatchObject({ code: "response_too_large" });
    expect(purposes).toEqual(["token", "call"]);
    expect(sent).toEqual([null, "blue"]);
  });

  test("uses the token of the request's own session", async () => {
    const seen: string[] = [];
    const parts = rig();
    const backend = parts.another({
      fetch: (url, init) => {
        const bearer = new Headers(init?.headers).get("authorization");
        if (url.endsWith("/devices") && bearer !== null) seen.push(bearer);
        return parts.emulator.fetch(url, init);
      },
    });
    const sessions: (string | undefined)[] = [];
    for (const userId of ["ada", "grace"]) {
      const answer = await new TestBrowser(backend, OWN).post(
        "/auth/launch",
        parts.launchBody(userId),
      );
      sessions.push(((await answer.json()) as SessionAnswer).session);
    }
    for (const session of [...sessions, ...sessions])
      await (await backend.connect(requestOf(session))).call("listDevices");
    expect(new Set(seen).size).toBe(2);
    expect([seen[2], seen[3]]).toEqual([seen[0], seen[1]]);
    const users = await Promise.all(
      sessions.map(async (one) => (await backend.session(requestOf(one))).operator?.userId),
    );
    expect(users).toEqual(["ada", "grace"]);
  });
});

test("a backend reads its listed deployments and indexes its operations once, not for each request", async () => {
  const reads = { deployment: 0, operation: 0 };
  const deployment = {
    ...{ baseUrl: SERVICE, hostOrigin: HOST, launch: launchCredential() },
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
  expect(atStart).toBeGreaterThan(0);
  const request = await launched(parts);
  for (let requests = 0; requests < 5; requests++) {
    const { paths } = (await parts.backend.connect(request)) as ServiceOf<"A", OperationTypes>;
    expect((await paths.GET("/api/v1/{tenantId}/devices")).ok).toBe(true);
  }
  expect(reads).toEqual({ deployment: atStart, operation: 1 });
});

describe("session", () => {
  test("returns the person, and a key for state that is the same in each of an operator's sessions", async () => {
    const parts = rig();
    const states: string[] = [];
    for (let count = 0; count < 2; count++) {
      const { session } = await parts.launch();
      const info = await parts.backend.session(requestOf(session));
      expect(info).toMatchObject({
        ...{ variant: "A", tenantId: "acme", baseUrl: SERVICE, operator: { userId: "ada" } },
        roles: ada.roles,
      });
      states.push(info.stateKey);
    }
    expect(states[0]).toBe(states[1]);
    const logins = await Promise.all(
      [1, 2].map(() => loggedIn(parts, new TestBrowser(parts.backend, OWN))),
    );
    for (const request of logins) states.push((await parts.backend.session(request)).stateKey);
    // Without an operator the key belongs to the session, and does not change.
    expect(new Set(states).size).toBe(3);
    expect((await parts.another().session(logins[0] as Request)).stateKey).toBe(states[2]);
  });

  test("returns different state keys for one userId in different tenants and deployments", async () => {
    const answers = [
      { baseUrl: "https://one.example", tenantId: "acme", userId: "7" },
      { baseUrl: "https://one.example", tenantId: "umbrella", userId: "7" },
      { baseUrl: "https://two.example", tenantId: "acme", userId: "7" },
      { baseUrl: "https://one.example", tenantId: "acme", userId: "\ud800" },
      { baseUrl: "https://one.example", tenantId: "acme", userId: undefined },
      { baseUrl: "https://one.example", tenantId: "acme", userId: undefined },
    ];
    const keys: string[] = [];
    for (const [index, { baseUrl, tenantId, userId }] of answers.entries()) {
      const revo = userId === undefined ? {} : { user: { userId } };
      const backend = createBackend({
        deployments: [{ baseUrl, tenantId, hostOrigin: HOST, launch: launchCredential() }],
        fetch: async () =>
          Response.json({ access_token: "t", token_type: "Bearer", expires_in: 60, revo }),
      });
      const body = {
        code: `code-${index}`,
        codeVerifier: "v".repeat(43),
        tenantId,
        hostOrigin: HOST,
      };
      const answer = await new TestBrowser(backend, OWN).post("/auth/launch", body);
      const { session } = (await answer.json()) as SessionAnswer;
      keys.push((await backend.session(requestOf(session))).stateKey);
    }
    expect(new Set(keys).size).toBe(answers.length);
  });
});

describe("answer", () => {
  const now = () => START;
  const told: unknown[] = [];
  const { backend } = rig({ onError: (error) => void told.push(error) });
  const secret = "canary-of-the-service";
  const api = (code: ApiErrorCode, status: number) =>
    new ApiError(code, secret, { variant: "A", status, body: secret });
  const odd = new UnexpectedResponseError("response_shape", secret, { status: 200 });
  const cases: [name: string, error: unknown, status: number, code: string][] = [
    ["session_missing", new SessionError("session_missing", "x"), 401, "session_missing"],
    ["session_unknown", new SessionError("session_unknown", "x"), 401, "session_unknown"],
    ["session_expired", new SessionError("session_expired", "x"), 401, "session_expired"],
    ["origin_refused", new SessionError("origin_refused", "x"), 403, "origin_refused"],
    ["csrf_refused", new SessionError("csrf_refused", "x"), 403, "csrf_refused"],
    [
      "a launch that is over",
      new RelaunchRequiredError("launch_expired", secret),
      401,
      "relaunch_required",
    ],
    [
      "a login that is over",
      new LoginRequiredError("login_expired", secret),
      401,
      "login_required",
    ],
    ["a rate limit", new RateLimitedError(secret, { retryAt: START + 2_500 }), 503, "rate_limited"],
    [
      "a refused token",
      new TokenRequestError(secret, { variant: "A", status: 400 }),
      502,
      "exchange_failed",
    ],
    ["an odd answer", odd, 502, "exchange_failed"],
    [
      "a network fault",
      new TransportError("timed_out", secret, { retryable: true }),
      503,
      "service_unreachable",
    ],
    ["a store that fails", new StoreError("store_unavailable", secret), 503, "store_unavailable"],
    ["a wrong setting", new ConfigurationError("option_invalid", secret), 500, "backend_failed"],
    ["api_unauthorized of the API", api("api_unauthorized", 401), 502, "api_unauthorized"],
    ["api_forbidden of the API", api("api_forbidden", 403), 403, "api_forbidden"],
    ["api_refused of the API", api("api_refused", 404), 502, "api_refused"],
    ["api_failed of the API", api("api_failed", 500), 502, "api_failed"],
    ["api_undocumented of the API", api("api_undocumented", 418), 502, "api_undocumented"],
    ["a rate limit of the API", api("api_rate_limited", 429), 503, "rate_limited"],
    ["any other error", new Error(secret), 500, "backend_failed"],
    ["a thrown text", secret, 500, "backend_failed"],
    ["a thrown undefined", undefined, 500, "backend_failed"],
  ];
  test.each(cases)(
    "to %s has its status and code, and does not quote it",
    async (_, error, status, code) => {
      told.length = 0;
      const answer = backend.answer(error);
      const text = await answer.text();
      expect([answer.status, JSON.parse(text).error]).toEqual([status, code]);
      expect(text + JSON.stringify([...answer.headers])).not.toContain(secret);
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(told).toEqual(isSessionError(error) ? [] : [error]);
    },
  );

  test("to a rate limit has a Retry-After header", () => {
    const own = createBackend({ deployments: [launching()], clock: { now }, onError: () => {} });
    const retryAfter = (retryAt: number) =>
      own.answer(new RateLimitedError("x", { retryAt })).headers.get("retry-after");
    expect([retryAfter(START + 2_500), retryAfter(START - 2_500)]).toEqual(["3", "1"]);
  });

  test("is the same when onError throws or rejects", async () => {
    for (const onError of [
      () => {
        throw new Error("listener");
      },
      async () => {
        throw new Error("listener");
      },
    ]) {
      const own = rig({ onError });
      expect(own.backend.answer(new Error("x")).status).toBe(500);
    }
  });

  test("without onError prints only faults to the console", ({ onTestFinished }) => {
    const printed: unknown[] = [];
    const { error } = console;
    console.error = (...told: unknown[]) => void printed.push(...told);
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

interface Refusing extends Rig {
  /** The requests that the service refuses from now on. */
  readonly refused: { calls?: boolean; refresh?: boolean };
}

function refusing(options: { readonly fetch?: Fetch } = {}, status = 401): Refusing {
  const refused: Refusing["refused"] = {};
  const parts: Rig = rig({
    unauthorizedStatuses: [status],
    fetch: async (url, init) => {
      if (refused.calls && !url.includes("token")) return new Response(null, { status });
      if (refused.refresh && url.includes("token"))
        return Response.json({ error: "invalid_grant" }, { status: 400 });
      return (options.fetch ?? parts.emulator.fetch)(url, init);
    },
  });
  return { ...parts, refused };
}

const launched = async (parts: Rig): Promise<Request> => requestOf((await parts.launch()).session);

async function answered(
  { backend }: Rig,
  request: Request,
): Promise<[number, Record<string, string>]> {
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
      const parts = refusing({}, status);
      const request = await launched(parts);
      expect((await answered(parts, request))[0]).toBe(200);
      parts.refused.calls = true;
      parts.clock.advance(old);
      expect(await answered(parts, request)).toEqual([
        401,
        { error: "relaunch_required", reason: "launch_expired", message: expect.any(String) },
      ]);
      for (const backend of [parts.backend, parts.another()]) {
        const error = await rejectionOf(
          backend.connect(request).then((one) => one.call("listDevices")),
        );
        expect(backend.answer(error).status).toBe(401);
      }
      expect(await rejectionOf(parts.another().session(request))).toMatchObject({
        code: "session_unknown",
      });
    },
  );

  test("survives a 401 on a token of at most 30 s, because the route may only need another token", async () => {
    const parts = refusing();
    const request = await launched(parts);
    parts.refused.calls = true;
    parts.clock.advance(young);
    expect(await answered(parts, request)).toMatchObject([502, { error: "api_unauthorized" }]);
    expect(await parts.backend.session(request)).toMatchObject({ variant: "A" });
  });

  test("survives a 401 that is not passed to backend.answer", async () => {
    const parts = refusing();
    const request = await launched(parts);
    parts.refused.calls = true;
    parts.clock.advance(old);
    const { error } = await (await parts.backend.connect(request)).call("listDevices");
    expect(error).toMatchObject({ code: "api_unauthorized", cause: { code: "launch_expired" } });
    expect(await parts.another().session(request)).toMatchObject({ variant: "A" });
  });

  test("survives a 403", async () => {
    const parts = rig();
    const request = await launched(parts);
    parts.emulator.updatePlugin({ tenantId: "acme", clientId: "planner", scopes: [] });
    parts.clock.advance(old);
    expect(await answered(parts, request)).toMatchObject([403, { error: "api_forbidden" }]);
    expect(await parts.another().session(request)).toMatchObject({ variant: "A" });
  });
});

describe("a login whose token the service no longer accepts", () => {
  test("asks for a login at the first call if its refresh token is refused too", async () => {
    const parts = refusing();
    const request = await loggedIn(parts);
    Object.assign(parts.refused, { calls: true, refresh: true });
    parts.clock.advance(old);
    for (const reason of ["login_refused", "login_refused"])
      expect(await answered(parts, request)).toMatchObject([
        401,
        { error: "login_required", reason },
      ]);
  });

  test("is renewed by its refresh token, and survives a second 401", async () => {
    const parts = refusing();
    const request = await loggedIn(parts);
    parts.refused.calls = true;
    parts.clock.advance(old);
    expect(await answered(parts, request)).toMatchObject([502, { error: "api_unauthorized" }]);
    expect(await parts.another().session(request)).toMatchObject({ variant: "B" });
  });

  test("without a refresh token asks for a login, and ends", async () => {
    const parts = refusing({
      fetch: async (url) =>
        url.includes("token") ? Response.json({ access_token: "t" }) : Response.json([]),
    });
    const request = await loggedIn(parts);
    expect((await answered(parts, request))[0]).toBe(200);
    parts.refused.calls = true;
    parts.clock.advance(old);
    expect(await answered(parts, request)).toMatchObject([
      401,
      { error: "login_required", reason: "login_expired" },
    ]);
    expect(await rejectionOf(parts.another().connect(request))).toMatchObject({
      code: "login_expired",
    });
  });
});

describe("a page that comes back with a session in a cookie", () => {
  const cookie = { session: { cookie: true } };

  test("is asked for a login after its refresh was refused or lost", async () => {
    for (const isLost of [false, true]) {
      let [isOver, refreshes] = [false, 0];
      const parts: Rig = rig({
        ...cookie,
        fetch: async (url, init) => {
          if (!isOver) return parts.emulator.fetch(url, init);
          refreshes++;
          return isLost
            ? new Response("a page", { status: 200 })
            : Response.json({ error: "invalid_grant" }, { status: 400 });
        },
      });
      await parts.loggedIn();
      isOver = true;
      // The token still lives, and its renewal fails in the background.
      parts.clock.advance(59 * minute);
      expect((await parts.browser.post("/auth/session")).status).toBe(200);
      parts.clock.advance(60_000);
      for (let again = 0; again < 2; again++) {
        const answer = await parts.browser.post("/auth/session");
        expect(answer.status).toBe(204);
      }
      expect(refreshes).toBe(1);
    }
  });

  test("receives its session while the token endpoint cannot be reached", async () => {
    const away = () =>
      Promise.reject(Object.assign(new TypeError("away"), { code: "ECONNREFUSED" }));
    let isDown = false;
    const parts: Rig = rig({
      ...cookie,
      fetch: async (url, init) => (isDown ? away() : parts.emulator.fetch(url, init)),
    });
    await parts.loggedIn();
    parts.clock.advance(59 * minute);
    expect((await parts.browser.post("/auth/session")).status).toBe(200);
    isDown = true;
    parts.clock.advance(60_000);
    expect((await parts.browser.post("/auth/session")).status).toBe(200);
  });
});
