// A 429 of the token endpoint: one gate for a tenant, Retry-After honoured, a schedule where there is none.
import { afterEach, describe, expect, test, vi } from "vitest";
import { parseRetryAfterMs } from "../../src/http/exchange.js";
import { createAuth, createConnector, type ServiceEvent } from "../../src/index.js";
import { LIMIT_MS, START, skippedWaits, steppedClock } from "../support/clock.js";
import { credentialOf, deployment } from "../support/deployment.js";
import { type FetchScript, gatedFetch, scriptedFetch, tokenAnswer } from "../support/fetch.js";
import { rejectionOf, settled } from "../support/wait.js";

const baseUrl = "https://service.example";
const tenantId = "acme";
const limited = (headers: HeadersInit = {}) => new Response("", { status: 429, headers });
const httpDate = (at: number) => new Date(at).toUTCString();

afterEach(() => {
  vi.restoreAllMocks();
});

describe.each([{ variant: "A" as const }, { variant: "B" as const }])("Variant $variant", ({ variant }) => {
  function limiting(script: FetchScript, options: object = {}) {
    const clock = steppedClock();
    const events: ServiceEvent[] = [];
    const fetch = scriptedFetch(script);
    const onEvent = (event: ServiceEvent) => void events.push(event);
    const common = { baseUrl, tenantId, credential: credentialOf(variant), timeoutMs: LIMIT_MS };
    const auth = createAuth({ ...common, fetch, now: clock.now, onEvent, ...options });
    return { clock, events, fetch, auth };
  }

  interface Row {
    readonly name: string;
    readonly headers: HeadersInit;
    /** Bounds of the wait, in seconds: jitter only ever adds. */
    readonly least: number;
    readonly most: number;
  }
  const rows: Row[] = [
    { name: "in seconds", headers: { "retry-after": "7" }, least: 7, most: 7.7 },
    { name: "as a date", headers: { "retry-after": httpDate(START + 7_000) }, least: 7, most: 7.7 },
    {
      name: "as a date by the server's clock, which is an hour ahead",
      headers: { "retry-after": httpDate(START + 3_607_000), date: httpDate(START + 3_600_000) },
      least: 7,
      most: 7.7,
    },
    { name: "absent", headers: {}, least: 2, most: 2.5 },
    { name: "empty", headers: { "retry-after": "" }, least: 2, most: 2.5 },
    { name: "zero", headers: { "retry-after": "0" }, least: 2, most: 2.5 },
    { name: "negative", headers: { "retry-after": "-5" }, least: 2, most: 2.5 },
    { name: "a fraction", headers: { "retry-after": "1.5" }, least: 2, most: 2.5 },
    { name: "a word", headers: { "retry-after": "soon" }, least: 2, most: 2.5 },
    { name: "a past date", headers: { "retry-after": httpDate(START - 7_000) }, least: 2, most: 2.5 },
    { name: "a date that is none", headers: { "retry-after": "Foo, 99 Bar 2026" }, least: 2, most: 2.5 },
  ];
  describe.each([{ random: 0 }, { random: 0.999_999 }])("with the jitter at $random", ({ random }) => {
    test.each(rows)(
      "Retry-After $name: waited for between $least and $most s, then a token",
      async ({ headers, least, most }) => {
        vi.spyOn(Math, "random").mockReturnValue(random);
        const { clock, fetch, auth, events } = limiting((_call, index) =>
          index === 0 ? limited(headers) : tokenAnswer(),
        );
        const waits = skippedWaits(clock);
        expect((await auth.getAccessToken()).value).toBe("token-1");
        expect(fetch.calls).toHaveLength(2);
        expect(waits).toHaveLength(1);
        expect(waits[0]).toBeGreaterThanOrEqual(least * 1000);
        expect(waits[0]).toBeLessThanOrEqual(most * 1000);
        expect(events).toContainEqual(expect.objectContaining({ type: "rate_limited" }));
      },
    );
  });

  test("without Retry-After the steps double: 2, 4, 8, 16 s and a quarter at most", async () => {
    const { clock, auth } = limiting((_call, index) => (index < 4 ? limited() : tokenAnswer()));
    const waits = skippedWaits(clock);
    await auth.getAccessToken();
    for (const [index, step] of [2, 4, 8, 16].entries()) {
      expect(waits[index]).toBeGreaterThanOrEqual(step * 1000);
      expect(waits[index]).toBeLessThanOrEqual(step * 1250);
    }
    expect(waits).toHaveLength(4);
  });

  test("beyond the deadline it throws at once, with retryAt and without another request", async () => {
    const { clock, fetch, auth } = limiting(() => limited({ "retry-after": "61" }));
    const waits = skippedWaits(clock);
    const before = clock.now();
    const error = await rejectionOf(auth.getAccessToken());
    expect(error).toMatchObject({ name: "RateLimitedError", code: "rate_limited", variant });
    const { retryAt } = error as { retryAt: number };
    expect(retryAt).toBeGreaterThanOrEqual(before + 61_000);
    expect((error as Error).message).toContain(new Date(retryAt).toISOString());
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ code: "rate_limited", retryAt });
    expect(fetch.calls).toHaveLength(1);
    expect(waits).toEqual([]);
    expect(clock.now()).toBe(before);
  });

  test("on a schedule that passes the deadline it ends there, not before", async () => {
    const { clock, fetch, auth } = limiting(() => limited());
    skippedWaits(clock);
    await expect(auth.getAccessToken()).rejects.toMatchObject({ code: "rate_limited" });
    // 2 + 4 + 8 + 16 = 30 s; the 32 s after that lead beyond 60 s.
    expect(fetch.calls).toHaveLength(5);
    expect(clock.now() - START).toBeLessThanOrEqual(60_000);
  });

  test("rateLimitDeadlineMs: 0 never waits", async () => {
    const { clock, fetch, auth } = limiting(() => limited(), { rateLimitDeadlineMs: 0 });
    const waits = skippedWaits(clock);
    await expect(auth.getAccessToken()).rejects.toMatchObject({ code: "rate_limited" });
    expect([fetch.calls.length, waits.length]).toEqual([1, 0]);
  });

  test.each(["9".repeat(20), "9".repeat(400)])(
    "an absurd Retry-After is an error that tells a date",
    async (value) => {
      const { clock, auth } = limiting(() => limited({ "retry-after": value }));
      const error = await rejectionOf(auth.getAccessToken());
      expect(error).toMatchObject({ code: "rate_limited" });
      const { retryAt } = error as { retryAt: number };
      expect(retryAt).toBeGreaterThan(clock.now() + 60_000);
      expect(retryAt).toBeLessThan(clock.now() + 2 * 366 * 24 * 3_600_000);
    },
  );

  test("when the gate opens the next caller asks, and gets a token", async () => {
    const { clock, auth } = limiting((_call, index) =>
      index === 0 ? limited({ "retry-after": "600" }) : tokenAnswer(),
    );
    const { retryAt } = (await rejectionOf(auth.getAccessToken())) as { retryAt: number };
    clock.advance(retryAt - clock.now());
    expect((await auth.getAccessToken()).value).toBe("token-1");
  });

  test("an abort ends the wait at the gate with the signal's reason", async () => {
    const controller = new AbortController();
    const onEvent = ({ type }: ServiceEvent) => {
      if (type === "rate_limited") setImmediate(() => controller.abort("enough"));
    };
    const { auth, fetch } = limiting(() => limited({ "retry-after": "30" }), { onEvent });
    const waiting = rejectionOf(auth.getAccessToken({ signal: controller.signal }));
    expect(await waiting).toBe("enough");
    expect(fetch.calls).toHaveLength(1);
  });

  test("while a live token is held it is served meanwhile", async () => {
    const { clock, fetch, auth } = limiting((_call, index) =>
      index === 0 ? tokenAnswer() : limited({ "retry-after": "120" }),
    );
    await auth.getAccessToken();
    clock.advance(3_400_000);
    for (let times = 0; times < 5; times++) {
      expect((await auth.getAccessToken()).value).toBe("token-1");
      await vi.waitFor(() => expect(fetch.calls).toHaveLength(2), { interval: 1 });
      await settled();
      clock.advance(10_000);
    }
    expect(fetch.calls).toHaveLength(2);
  });

  test("without shared requests a crowd still goes through one at a time after a 429", async () => {
    let under = 0;
    let most = 0;
    let allArrived = () => {};
    const all = new Promise<void>((resolve) => {
      allArrived = resolve;
    });
    const { clock, fetch, auth } = limiting(
      async (_call, index) => {
        if (index === 2) allArrived();
        if (index < 3) return all.then(() => limited());
        most = Math.max(most, ++under);
        // Short: each look at the gate moves the clock by a second, and a probe that takes too long counts as dead.
        await new Promise((resolve) => setImmediate(resolve));
        under--;
        return tokenAnswer(`token-${index}`);
      },
      { shareInFlight: false },
    );
    skippedWaits(clock);
    await Promise.all(Array.from({ length: 3 }, () => auth.getAccessToken()));
    expect(fetch.calls).toHaveLength(6);
    expect(most).toBe(1);
  });
});

test("an answer to a request that was sent before the 429 came does not open the gate", async () => {
  const clock = steppedClock();
  const fetch = gatedFetch();
  const options = { baseUrl, tenantId, credential: credentialOf("B"), fetch, now: clock.now };
  const auth = createAuth({ ...options, shareInFlight: false });
  const limitedCaller = rejectionOf(auth.getAccessToken());
  // One after the other: each digests its secret on another thread, and whichever is done first is sent first.
  await fetch.arrived(1);
  const lucky = auth.getAccessToken();
  await fetch.arrived(2);
  clock.advance(1_000);
  fetch.answer(limited({ "retry-after": "600" }));
  expect(await limitedCaller).toMatchObject({ code: "rate_limited" });
  fetch.answer(tokenAnswer());
  auth.invalidate(await lucky);
  expect(await rejectionOf(auth.getAccessToken())).toMatchObject({ code: "rate_limited" });
  expect(fetch.calls).toHaveLength(2);
});

describe("the gate is one per tenant", () => {
  test("another tenant's, and another deployment's, is open", async () => {
    const clock = steppedClock();
    const fetch = scriptedFetch(({ url }) =>
      url.includes("/acme/") && url.startsWith(baseUrl) ? limited({ "retry-after": "600" }) : tokenAnswer(),
    );
    const connector = createConnector({ credentials: [credentialOf("A")], fetch, now: clock.now });
    const tokenOf = async (base: string, tenant: string) =>
      (await connector.connect({ baseUrl: base, tenantId: tenant })).auth.getAccessToken();
    expect(await rejectionOf(tokenOf(baseUrl, "acme"))).toMatchObject({ code: "rate_limited" });
    expect((await tokenOf(baseUrl, "globex")).value).toBe("token-1");
    expect((await tokenOf("https://other.example", "acme")).value).toBe("token-1");
    expect(await rejectionOf(tokenOf(baseUrl, "acme"))).toMatchObject({ code: "rate_limited" });
    expect(fetch.calls).toHaveLength(3);
  });
});

describe.each(["seconds", "date", false] as const)(
  "against the emulator, Retry-After as %s",
  (retryAfter) => {
    test("a client that keeps asking gets its tokens, and meets few refusals", async () => {
      const clock = steppedClock();
      const emulator = deployment({
        variants: ["A"],
        now: clock.now,
        rateLimit: { requests: 2, windowSeconds: 20, retryAfter },
      });
      const auth = createAuth({
        baseUrl: "http://service.localhost",
        tenantId,
        credential: credentialOf("A"),
        fetch: emulator.fetch,
        now: clock.now,
        timeoutMs: LIMIT_MS,
      });
      skippedWaits(clock);
      const values = new Set<string>();
      for (let times = 0; times < 6; times++) {
        const token = await auth.getAccessToken();
        values.add(token.value);
        auth.invalidate(token);
      }
      expect(values.size).toBe(6);
      const statuses = emulator.journal.tokenRequests().map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(6);
      expect(statuses.filter((status) => status === 429).length).toBeLessThanOrEqual(
        retryAfter === false ? 10 : 4,
      );
    });
  },
);

describe("Retry-After (RFC 9110 section 10.2.3)", () => {
  const rows: { name: string; headers: HeadersInit; ms: number | undefined }[] = [
    { name: "IMF-fixdate", headers: { "retry-after": "Thu, 01 Jan 2026 12:00:05 GMT" }, ms: 5_000 },
    { name: "RFC 850", headers: { "retry-after": "Thursday, 01-Jan-26 12:00:05 GMT" }, ms: 5_000 },
    { name: "asctime", headers: { "retry-after": "Thu Jan  1 12:00:05 2026" }, ms: 5_000 },
    {
      name: "a date, with a Date that a cache kept: this machine's clock counts",
      headers: { "retry-after": httpDate(START + 5_000), date: httpDate(START - 60_000), age: "60" },
      ms: 5_000,
    },
    { name: "a list", headers: { "retry-after": "1, 2" }, ms: undefined },
    { name: "ISO 8601", headers: { "retry-after": "2026-01-01T12:00:05Z" }, ms: undefined },
  ];
  test.each(rows)("$name: $ms", ({ headers, ms }) => {
    expect(parseRetryAfterMs(new Headers(headers), START)).toBe(ms);
  });
});
