// From a request to a Service: as which person, with how many token requests, and what errors become.
import { describe, expect, test } from "vitest";
import { createBackend, isSessionError, SessionError } from "../../src/backend/index.js";
import {
  ApiError,
  ConfigurationError,
  LoginRequiredError,
  RateLimitedError,
  RelaunchRequiredError,
  StoreError,
  TokenRequestError,
  TransportError,
  UnexpectedResponseError,
  unwrap,
} from "../../src/index.js";
import { START } from "../support/clock.js";
import { numberedAuth } from "../support/numbered-auth.js";
import { rejectionOf } from "../support/wait.js";
import { ada, HOST, launchCredential, OWN, type Rig, rig, SERVICE, type SessionAnswer } from "./rig.js";
import { TestBrowser } from "./test-browser.js";

const minute = 60_000;

function requestOf(session: string | undefined): Request {
  return new Request(`${OWN}/devices`, { headers: { authorization: `Bearer ${session}` } });
}

async function loggedIn(parts: Rig, browser = parts.browser): Promise<Request> {
  await parts.login(browser);
  const { session } = (await (await browser.post("/auth/session")).json()) as SessionAnswer;
  return requestOf(session);
}

describe("connect", () => {
  test("of 50 requests of one person across an expiry renews once, and none is refused", async () => {
    const parts = rig();
    const request = await loggedIn(parts);
    parts.clock.advance(59 * minute);
    await parts.backend.session(request);
    parts.clock.advance(minute);
    const before = parts.tokenRequests();
    const call = async () => unwrap(await (await parts.backend.connect(request)).call("listDevices"));
    const results = await Promise.all(Array.from({ length: 50 }, call));
    expect(results.every((devices) => Array.isArray(devices) && devices.length === 3)).toBe(true);
    expect(parts.tokenRequests() - before).toBe(1);
  });

  test("of 50 requests in two processes that know the person from the store alone renews once", async () => {
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

  test("where sharing between requests is switched off still finds the person", async () => {
    const parts = rig({ shareInFlight: false });
    const request = await loggedIn(parts);
    const other = parts.another();
    const services = await Promise.all([1, 2, 3].map(() => other.connect(request)));
    for (const service of services) expect((await service.call("listDevices")).ok).toBe(true);
  });

  test("keeps people apart: each request goes with the token of its own session", async () => {
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
      const answer = await new TestBrowser(backend, OWN).post("/auth/launch", parts.launchBody(userId));
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

  test("after a refresh token that is dead asks for a login, in every process", async () => {
    const parts = rig();
    const request = await loggedIn(parts);
    const dead = parts.another({
      fetch: async () => Response.json({ error: "invalid_grant" }, { status: 400 }),
    });
    parts.clock.advance(59 * minute);
    await dead.session(request);
    parts.clock.advance(minute);
    const error = await rejectionOf((await dead.connect(request)).call("listDevices"));
    expect(error).toMatchObject({ name: "LoginRequiredError", code: "login_refused" });
    const elsewhere = await rejectionOf(parts.another().connect(request));
    const answer = parts.backend.answer(elsewhere);
    expect([answer.status, await answer.json()]).toEqual([
      401,
      { error: "login_required", reason: "login_expired", message: "Log in again." },
    ]);
  });

  test("reaches no further than the operator who launched", async () => {
    const parts = rig();
    const { session } = await parts.launch();
    parts.emulator.updateOperator({ ...ada, capabilities: [] });
    const service = await parts.backend.connect(requestOf(session));
    const { error } = await service.call("listDevices");
    expect(error).toMatchObject({ code: "api_forbidden", status: 403 });
    const answer = parts.backend.answer(error);
    expect([answer.status, (await answer.json()).error]).toEqual([403, "api_forbidden"]);
  });
});

describe("session", () => {
  test("tells who is there, and what to keep their state under", async () => {
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
    const logins = await Promise.all([1, 2].map(() => loggedIn(parts, new TestBrowser(parts.backend, OWN))));
    for (const request of logins) states.push((await parts.backend.session(request)).stateKey);
    // Without an operator the state is the session's own, and stays so.
    expect(new Set(states).size).toBe(3);
    expect((await parts.another().session(logins[0] as Request)).stateKey).toBe(states[2]);
  });

  test("keeps the same userId apart in other tenants and deployments, and from any session", async () => {
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
        fetch: async () => Response.json({ access_token: "t", token_type: "Bearer", expires_in: 60, revo }),
      });
      const body = { code: `code-${index}`, codeVerifier: "v".repeat(43), tenantId, hostOrigin: HOST };
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
  const cases: { name: string; error: unknown; is: [number, string] }[] = [
    ...(["session_missing", "session_unknown", "session_expired"] as const).map((code) => ({
      ...{ name: code, error: new SessionError(code, "x") },
      is: [401, code] as [number, string],
    })),
    ...(["origin_refused", "csrf_refused"] as const).map((code) => ({
      ...{ name: code, error: new SessionError(code, "x") },
      is: [403, code] as [number, string],
    })),
    {
      name: "a launch that is over",
      error: new RelaunchRequiredError("launch_expired", secret),
      is: [401, "relaunch_required"],
    },
    {
      name: "a login that is over",
      error: new LoginRequiredError("login_expired", secret),
      is: [401, "login_required"],
    },
    {
      name: "a rate limit",
      error: new RateLimitedError(secret, { retryAt: START + 2_500 }),
      is: [503, "rate_limited"],
    },
    {
      name: "a refused token",
      error: new TokenRequestError(secret, { variant: "A", status: 400, errorDescription: secret }),
      is: [502, "exchange_failed"],
    },
    {
      name: "an odd answer",
      error: new UnexpectedResponseError("response_shape", secret, { status: 200 }),
      is: [502, "exchange_failed"],
    },
    {
      name: "a network fault",
      error: new TransportError("network_failed", secret, { retryable: true }),
      is: [503, "service_unreachable"],
    },
    {
      name: "a store that fails",
      error: new StoreError("store_unavailable", secret),
      is: [503, "store_unavailable"],
    },
    {
      name: "a wrong setting",
      error: new ConfigurationError("option_invalid", secret),
      is: [500, "backend_failed"],
    },
    ...(
      [
        ["api_unauthorized", 401, 502],
        ["api_forbidden", 403, 403],
        ["api_refused", 404, 502],
        ["api_failed", 500, 502],
        ["api_undocumented", 418, 502],
      ] as const
    ).map(([code, status, answered]) => ({
      name: `${code} of the API`,
      error: new ApiError(code, secret, { variant: "A", status, body: secret }),
      is: [answered, code] as [number, string],
    })),
    {
      name: "a rate limit of the API",
      error: new ApiError("api_rate_limited", secret, { variant: "B", status: 429, body: secret }),
      is: [503, "rate_limited"],
    },
    { name: "any other error", error: new Error(secret), is: [500, "backend_failed"] },
    { name: "something that is no error", error: secret, is: [500, "backend_failed"] },
    { name: "nothing", error: undefined, is: [500, "backend_failed"] },
  ];
  test.each(cases)("to $name is its status and code, and none of its words", async ({ error, is }) => {
    told.length = 0;
    const answer = backend.answer(error);
    const text = await answer.text();
    expect([answer.status, JSON.parse(text).error]).toEqual(is);
    expect(text + JSON.stringify([...answer.headers])).not.toContain(secret);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(told).toEqual(isSessionError(error) ? [] : [error]);
  });

  test("to a rate limit says how long to wait", () => {
    const own = createBackend({
      deployments: [{ tenantId: "acme", baseUrl: SERVICE, hostOrigin: HOST, launch: launchCredential() }],
      ...{ now, onError: () => {} },
    });
    const answer = own.answer(new RateLimitedError("x", { retryAt: START + 2_500 }));
    expect(answer.headers.get("retry-after")).toBe("3");
  });

  test("harms nobody when the listener throws or rejects", async () => {
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

  test("without a listener goes to the console, if it is a fault", ({ onTestFinished }) => {
    const printed: unknown[] = [];
    const { error } = console;
    console.error = (...told: unknown[]) => void printed.push(...told);
    onTestFinished(() => {
      console.error = error;
    });
    const own = createBackend({
      deployments: [{ tenantId: "acme", baseUrl: SERVICE, hostOrigin: HOST, launch: launchCredential() }],
    });
    const fault = new Error("x");
    own.answer(fault);
    own.answer(new RelaunchRequiredError("launch_expired", "x"));
    own.answer(new SessionError("session_missing", "x"));
    expect(printed).toEqual([expect.stringContaining("bivariant/backend"), fault]);
  });

  test("knows a SessionError of another copy of the package by its brand", () => {
    expect(isSessionError(new SessionError("session_missing", "x"))).toBe(true);
    for (const other of [
      new Error("x"),
      undefined,
      { name: "SessionError" },
      numberedAuth({ variant: "A", now }),
    ])
      expect(isSessionError(other)).toBe(false);
  });
});
