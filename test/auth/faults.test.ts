// 5xx and network faults: client_credentials is asked for again, by the schedule, and every attempt is a new one.
import { decodeJwt } from "jose";
import { describe, expect, test } from "vitest";
import { createAuth } from "../../src/index.js";
import { HELD_LIMIT_MS, heldTimeLimit, LIMIT_MS, skippedWaits, steppedClock } from "../support/clock.js";
import { credentialOf } from "../support/deployment.js";
import { type FetchScript, noAnswer, scriptedFetch, tokenAnswer } from "../support/fetch.js";
import { rejectionOf } from "../support/wait.js";

const fault = (code?: string) => {
  throw Object.assign(new TypeError("fetch failed"), code === undefined ? {} : { cause: { code } });
};

describe.each([{ variant: "A" as const }, { variant: "B" as const }])("Variant $variant", ({ variant }) => {
  function failing(script: FetchScript, options: object = {}) {
    const clock = steppedClock();
    const fetch = scriptedFetch(script);
    const credential = credentialOf(variant);
    const common = { baseUrl: "https://service.example", tenantId: "acme", credential, timeoutMs: LIMIT_MS };
    const auth = createAuth({ ...common, fetch, now: clock.now, ...options });
    return { clock, fetch, auth };
  }

  const passing: { name: string; answer: FetchScript }[] = [
    { name: "500", answer: () => new Response("<html>", { status: 500 }) },
    { name: "502", answer: () => new Response("", { status: 502 }) },
    {
      name: "503 with JSON",
      answer: () => Response.json({ error: "temporarily_unavailable" }, { status: 503 }),
    },
    { name: "504", answer: () => new Response("", { status: 504 }) },
    { name: "a reset", answer: () => fault("ECONNRESET") },
    { name: "a refused connection", answer: () => fault("ECONNREFUSED") },
    { name: "a fault without a code", answer: () => fault() },
  ];
  test.each(passing)("$name once: asked for again after 2 s, and had", async ({ answer }) => {
    const { clock, fetch, auth } = failing((call, index) =>
      index === 0 ? answer(call, index) : tokenAnswer(),
    );
    const waits = skippedWaits(clock);
    expect((await auth.getAccessToken()).value).toBe("token-1");
    expect(fetch.calls).toHaveLength(2);
    expect(waits).toHaveLength(1);
    expect(waits[0]).toBeGreaterThanOrEqual(2_000);
    expect(waits[0]).toBeLessThanOrEqual(2_500);
  });

  test.each(passing)(
    "$name for ever: an error after a few attempts, each later than the last",
    async ({ answer }) => {
      const { clock, fetch, auth } = failing(answer);
      const waits = skippedWaits(clock);
      const error = await rejectionOf(auth.getAccessToken());
      expect(error).toHaveProperty("code");
      expect(fetch.calls.length).toBeGreaterThan(1);
      expect(fetch.calls.length).toBeLessThanOrEqual(6);
      expect(waits).toEqual([...waits].sort((a, b) => a - b));
    },
  );

  test("a 503 that asks for a wait gets it", async () => {
    const { clock, auth } = failing((_call, index) =>
      index === 0 ? new Response("", { status: 503, headers: { "retry-after": "9" } }) : tokenAnswer(),
    );
    const waits = skippedWaits(clock);
    await auth.getAccessToken();
    expect(waits).toEqual([9_000]);
  });

  test("never beyond the deadline", async () => {
    const { clock, fetch, auth } = failing(() => fault("ECONNRESET"), { rateLimitDeadlineMs: 1_000 });
    const waits = skippedWaits(clock);
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({
      code: "network_failed",
      retryable: true,
    });
    expect([fetch.calls.length, waits.length]).toEqual([1, 0]);
  });

  test("silence is timed_out", async () => {
    const { expire } = heldTimeLimit();
    const silent: FetchScript = (call) => {
      setImmediate(expire);
      return noAnswer(call);
    };
    const { fetch, auth } = failing(silent, { timeoutMs: HELD_LIMIT_MS, rateLimitDeadlineMs: 0 });
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ code: "timed_out", retryable: true });
    expect(fetch.calls).toHaveLength(1);
  });

  test("a bad certificate is not: no retry mends it", async () => {
    const { clock, fetch, auth } = failing(() => fault("CERT_HAS_EXPIRED"));
    const waits = skippedWaits(clock);
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ code: "tls_failed", retryable: false });
    expect([fetch.calls.length, waits.length]).toEqual([1, 0]);
  });

  test("a network fault closes nothing: the next caller asks at once", async () => {
    let isBroken = true;
    const { fetch, auth } = failing(() => (isBroken ? fault("ECONNRESET") : tokenAnswer()), {
      rateLimitDeadlineMs: 0,
    });
    await rejectionOf(auth.getAccessToken());
    isBroken = false;
    expect((await auth.getAccessToken()).value).toBe("token-1");
    expect(fetch.calls).toHaveLength(2);
  });

  test("a refusal is never asked for again", async () => {
    const { clock, fetch, auth } = failing(() => Response.json({ error: "invalid_grant" }, { status: 400 }));
    const waits = skippedWaits(clock);
    await rejectionOf(auth.getAccessToken());
    expect([fetch.calls.length, waits.length]).toEqual([1, 0]);
  });
});

test("every attempt signs a new assertion, with a new jti and the time of its sending", async () => {
  const clock = steppedClock();
  const answers = [
    () => new Response("", { status: 429, headers: { "retry-after": "30" } }),
    () => fault("ECONNRESET"),
    () => new Response("", { status: 500 }),
    () => tokenAnswer(),
  ];
  const fetch = scriptedFetch((_call, index) => (answers[index] ?? tokenAnswer)());
  const common = { baseUrl: "https://service.example", tenantId: "acme", credential: credentialOf("A") };
  const auth = createAuth({ ...common, fetch, now: clock.now, timeoutMs: LIMIT_MS });
  const waits = skippedWaits(clock);
  const started = clock.now();
  await auth.getAccessToken();

  const claims = fetch.calls.map(({ body }) =>
    decodeJwt(new URLSearchParams(body).get("client_assertion") ?? ""),
  );
  expect(claims).toHaveLength(4);
  expect(new Set(claims.map(({ jti }) => jti)).size).toBe(4);
  let at = started;
  for (const [index, { iat, exp }] of claims.entries()) {
    expect(iat).toBe(Math.floor(at / 1000));
    expect(exp).toBe((iat ?? 0) + 60);
    at += waits[index] ?? 0;
  }
});
