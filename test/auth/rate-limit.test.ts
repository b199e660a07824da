// A 429 of the token endpoint: one gate for each tenant, Retry-After, and the schedule without it.
import { afterEach, describe, expect, test, vi } from "vitest";
import { RateLimitGate } from "../../src/auth/request/rate-limit-gate.js";
import { deadlineIn, resolveClock } from "../../src/clock.js";
import { parseRetryAfterMs } from "../../src/http/backoff.js";
import {
  type CreateAuthOptions,
  createAuth,
  createConnector,
  type ServiceEvent,
} from "../../src/index.js";
import { recordedAuth, scriptedAuth } from "../support/auth.js";
import { START, steppedClock } from "../support/clock.js";
import { account, credentialOf, deployment, plugin } from "../support/deployment.js";
import { type FetchScript, gatedFetch, scriptedFetch, tokenAnswer } from "../support/fetch.js";
import { isSettled, rejectionOf, settle } from "../support/wait.js";

const limited = (headers: HeadersInit = {}) => new Response("", { status: 429, headers });
const refusalBody = {
  error: "invalid_grant",
  error_description: "The token request was rejected.",
};
const refusalOfA = () => Response.json(refusalBody, { status: 400 });
const httpDate = (at: number) => new Date(at).toUTCString();

afterEach(() => {
  vi.unstubAllEnvs();
});

describe.each(["A", "B"] as const)("Variant %s", (variant) => {
  const limiting = (script: FetchScript, options: Partial<CreateAuthOptions> = {}) =>
    scriptedAuth(variant, script, options);

  interface Row {
    readonly name: string;
    readonly headers: HeadersInit;
    /** The bounds of the wait, in seconds. Jitter only makes it longer. */
    readonly least: number;
    readonly most: number;
  }
  const rows: Row[] = [
    { name: "in seconds", headers: { "retry-after": "7" }, least: 7, most: 7.7 },
    {
      name: "as a date",
      headers: { "retry-after": httpDate(START + 7_000) },
      least: 7,
      most: 7.7,
    },
    {
      name: "as a date by the server's clock, which is an hour ahead",
      headers: { "retry-after": httpDate(START + 3_607_000), date: httpDate(START + 3_600_000) },
      least: 7,
      most: 7.7,
    },
    { name: "absent", headers: {}, least: 2, most: 2.5 },
    ...["", "0", "-5", "1.5", "soon", httpDate(START - 7_000), "Foo, 99 Bar 2026"].map((value) => ({
      ...{ name: `"${value}"`, headers: { "retry-after": value }, least: 2, most: 2.5 },
    })),
  ];
  describe.each([{ random: 0 }, { random: 0.999_999 }])(
    "with the jitter at $random",
    ({ random }) => {
      test.each(rows)(
        "Retry-After $name: the client waits $least to $most s and then gets a token",
        async ({ headers, least, most }) => {
          const { clock, fetch, auth, events } = limiting((_call, index) =>
            index === 0 ? limited(headers) : tokenAnswer(),
          );
          clock.jitterAt(random);
          const waits = clock.skipSleeps();
          expect((await auth.getAccessToken()).value).toBe("token-1");
          expect(fetch.calls).toHaveLength(2);
          expect(waits).toHaveLength(1);
          expect(waits[0]).toBeGreaterThanOrEqual(least * 1000);
          expect(waits[0]).toBeLessThanOrEqual(most * 1000);
          expect(events).toContainEqual(expect.objectContaining({ type: "rate_limited" }));
        },
      );
    },
  );

  test("without Retry-After the waits double from 2 s to 16 s, each at most a quarter longer", async () => {
    const { clock, auth } = limiting((_call, index) => (index < 4 ? limited() : tokenAnswer()));
    const waits = clock.skipSleeps();
    await auth.getAccessToken();
    for (const [index, step] of [2, 4, 8, 16].entries()) {
      expect(waits[index]).toBeGreaterThanOrEqual(step * 1000);
      expect(waits[index]).toBeLessThanOrEqual(step * 1250);
    }
    expect(waits).toHaveLength(4);
  });

  test("a Retry-After beyond the deadline rejects at once with retryAt, without another request", async () => {
    const { clock, fetch, auth } = limiting(() => limited({ "retry-after": "61" }));
    const waits = clock.skipSleeps();
    const before = clock.now();
    const error = await rejectionOf(auth.getAccessToken());
    expect(error).toMatchObject({ name: "RateLimitedError", code: "rate_limited", variant });
    const { retryAt } = error as { retryAt: number };
    expect(retryAt).toBeGreaterThanOrEqual(before + 61_000);
    expect((error as Error).message).toContain(new Date(retryAt).toISOString());
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject({
      code: "rate_limited",
      retryAt,
    });
    expect(fetch.calls).toHaveLength(1);
    expect(waits).toEqual([]);
    expect(clock.now()).toBe(before);
  });

  test("without Retry-After the client retries until the deadline and then rejects", async () => {
    const { clock, fetch, auth } = limiting(() => limited());
    clock.skipSleeps();
    await expect(auth.getAccessToken()).rejects.toMatchObject({ code: "rate_limited" });
    // The first waits are 2 + 4 + 8 + 16 = 30 s, and 32 s more would exceed 60 s.
    expect(fetch.calls).toHaveLength(5);
    expect(clock.now() - START).toBeLessThanOrEqual(60_000);
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
});

test("an answer to a request that was sent before the 429 came does not open the gate", async () => {
  const fetch = gatedFetch();
  const { auth, clock } = recordedAuth({
    credential: credentialOf("B"),
    fetch,
    shareInFlight: false,
  });
  const limitedCaller = rejectionOf(auth.getAccessToken());
  // They start one after the other, since each digests its secret on another thread and the first
  // to end is sent first.
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

describe("Retry-After (RFC 9110 section 10.2.3)", () => {
  const rows: { name: string; headers: HeadersInit; ms: number | undefined }[] = [
    { name: "IMF-fixdate", headers: { "retry-after": "Thu, 01 Jan 2026 12:00:05 GMT" }, ms: 5_000 },
    { name: "RFC 850", headers: { "retry-after": "Thursday, 01-Jan-26 12:00:05 GMT" }, ms: 5_000 },
    { name: "asctime", headers: { "retry-after": "Thu Jan  1 12:00:05 2026" }, ms: 5_000 },
    {
      name: "a date, with a Date that a cache kept: this machine's clock counts",
      headers: {
        "retry-after": httpDate(START + 5_000),
        date: httpDate(START - 60_000),
        age: "60",
      },
      ms: 5_000,
    },
    {
      name: "asctime, as in the Date of the answer",
      headers: { "retry-after": "Thu Jan  1 12:01:05 2026", date: "Thu Jan  1 12:01:00 2026" },
      ms: 5_000,
    },
    { name: "a list", headers: { "retry-after": "1, 2" }, ms: undefined },
    { name: "ISO 8601", headers: { "retry-after": "2026-01-01T12:00:05Z" }, ms: undefined },
  ];
  test.each(rows)("$name: $ms, in any time zone", ({ headers, ms }) => {
    vi.stubEnv("TZ", "Asia/Tokyo");
    expect(parseRetryAfterMs(new Headers(headers), START)).toBe(ms);
  });
});

describe("a tenant at its rate limit", () => {
  const tenants = ["acme", "globex"];

  const limits = [
    { name: "Retry-After in seconds", retryAfter: "seconds", windowSeconds: 30, refusals: 1 },
    { name: "Retry-After as a date", retryAfter: "date", windowSeconds: 30, refusals: 1 },
    // The schedule leads to requests at 0, 2 to 2.5, 6 to 7.5 and 14 to 17.5 s.
    { name: "no Retry-After", retryAfter: false, windowSeconds: 12, refusals: 3 },
  ] as const;

  describe.each(limits)(
    "200 callers of a rate-limited tenant and 200 of another, with $name",
    (limit) => {
      const { retryAfter, windowSeconds, refusals } = limit;

      test(`get ${refusals} refusals in all and recover, while the other tenant does not wait`, async () => {
        const clock = steppedClock();
        const rateLimit = { requests: 2, windowSeconds, retryAfter };
        const emulator = deployment({ tenants, now: clock.now, rateLimit });
        const { publicUrl: baseUrl, fetch } = emulator;
        const credential = plugin();
        for (let used = 0; used < 2; used++)
          await createAuth({
            baseUrl,
            tenantId: "acme",
            credential,
            fetch,
            clock,
          }).getAccessToken();
        const events: ServiceEvent[] = [];
        const onEvent = (event: ServiceEvent) => void events.push(event);
        const connector = createConnector({ credentials: [credential], fetch, clock, onEvent });
        const done = { acme: 0, globex: 0 };
        const crowd = (tenantId: "acme" | "globex") =>
          Array.from({ length: 200 }, async () => {
            const service = await connector.connect({ baseUrl, tenantId });
            expect((await service.call("listDevices")).ok).toBe(true);
            done[tenantId]++;
          });
        const calls = [...crowd("acme"), ...crowd("globex")];
        await settle();
        expect(done).toEqual({ acme: 0, globex: 200 });
        expect(emulator.journal.tokenRequests({ status: 429 })).toHaveLength(1);
        await clock.pass(windowSeconds * 1_000 - 1_000);
        expect(done.acme).toBe(0);
        await clock.through(Promise.all(calls));
        const statuses = (tenantId: string) =>
          emulator.journal.tokenRequests({ tenantId }).map(({ status }) => status);
        expect(statuses("globex")).toEqual([200]);
        expect(statuses("acme")).toEqual([
          200,
          200,
          ...Array.from({ length: refusals }, () => 429),
          200,
        ]);
        const told = events.filter(({ type }) => type === "rate_limited");
        expect(told).toHaveLength(refusals);
        const tenantIds = told.map((event) => (event as { tenantId: string }).tenantId);
        expect(new Set(tenantIds)).toEqual(new Set(["acme"]));
      });
    },
  );

  test("a 429 to a detection closes the tenant's gate for token requests and emits rate_limited", async () => {
    const clock = steppedClock();
    const rateLimit = { requests: 1, windowSeconds: 20 };
    const emulator = deployment({ variants: ["A"], now: clock.now, rateLimit });
    const { publicUrl: baseUrl, fetch } = emulator;
    await createAuth({
      baseUrl,
      tenantId: "acme",
      credential: plugin(),
      fetch,
      clock,
    }).getAccessToken();
    const events: ServiceEvent[] = [];
    const onEvent = (event: ServiceEvent) => void events.push(event);
    const connector = createConnector({
      credentials: [plugin(), account()],
      fetch,
      clock,
      onEvent,
    });
    const connect = () => connector.connect({ baseUrl, tenantId: "acme" });
    expect(await rejectionOf(connect())).toMatchObject({ code: "variant_unknown" });
    expect(events.filter(({ type }) => type === "rate_limited")).toHaveLength(1);
    const second = connect();
    await clock.pass(19_000);
    expect(emulator.journal.tokenRequests({ variant: "A" })).toHaveLength(2);
    expect((await clock.through(second)).variant).toBe("A");
  });

  test("a 429 to a detection, during a token request that is answered 404, lets no caller wait for ever", async () => {
    const clock = steppedClock();
    const notFound = () => new Response("", { status: 404 });
    let answerDetection = (_response: Response) => {};
    let learn = () => {};
    const learnt = new Promise<void>((resolve) => {
      learn = resolve;
    });
    const onEvent = ({ type }: ServiceEvent) => {
      if (type === "rate_limited" && requests === 2) learn();
    };
    let questions = 0;
    let requests = 0;
    const fetch = scriptedFetch(async ({ body }) => {
      if (body.startsWith("{")) return notFound();
      if (body.includes("client_assertion")) {
        if (++requests === 1) return limited();
        // Later than this request was sent, so that its answer does not open the gate.
        clock.advance(1);
        answerDetection(limited({ "retry-after": "3" }));
        await learnt;
        return notFound();
      }
      questions++;
      if (questions === 1) return refusalOfA();
      if (questions > 2) return notFound();
      return new Promise((resolve) => {
        answerDetection = resolve;
      });
    });
    const connector = createConnector({
      credentials: [plugin(), account()],
      fetch,
      clock,
      onEvent,
    });
    const target = { baseUrl: "https://service.example", tenantId: "acme" };
    const { auth } = await connector.connect(target);
    // After this the detection is repeated.
    await clock.pass(3_600_000);
    const another = rejectionOf(connector.connect(target));
    await clock.pass(0);
    const token = rejectionOf(auth.getAccessToken());
    await clock.pass(20_000);
    expect(await isSettled(token)).toBe(true);
    expect(await token).toMatchObject({ code: "response_not_json", status: 404 });
    expect(await another).toMatchObject({ code: "variant_unknown" });
  });

  test("Variant B's rate limit, for which a detection waits, delays neither token requests of Variant A nor the end of a background renewal", async () => {
    const clock = steppedClock();
    const answers = [
      limited({ "retry-after": "5" }),
      tokenAnswer(),
      new Response("", { status: 404 }),
    ];
    const fetch = scriptedFetch(({ body }) => {
      if (body.startsWith("{")) return limited({ "retry-after": "50" });
      return body.includes("client_assertion") ? (answers.shift() as Response) : refusalOfA();
    });
    const types: string[] = [];
    const onEvent = ({ type }: ServiceEvent) => void types.push(type);
    const connector = createConnector({
      credentials: [account(), plugin()],
      fetch,
      clock,
      onEvent,
    });
    const connect = () =>
      connector.connect({ baseUrl: "https://service.example", tenantId: "acme" });
    const { auth } = await connect();
    const leaving = new AbortController();
    auth.getAccessToken({ signal: leaving.signal }).catch(() => {});
    await clock.pass(0);
    leaving.abort();
    const another = connect();
    await clock.pass(0);
    const token = auth.getAccessToken();
    await clock.pass(6_000);
    expect(await isSettled(token)).toBe(true);
    await clock.pass(3_590_000);
    await another;
    await connect();
    await auth.getAccessToken();
    await clock.pass(1_000);
    expect(types.at(-1)).toBe("renewal_failed");
  });
});

describe("the rate limit gate", () => {
  const five = [1, 2, 3, 4, 5];
  function gate(shareInFlight = true) {
    const clock = steppedClock();
    const resolved = resolveClock({ clock });
    const one = new RateLimitGate("A", { clock: resolved, timeoutMs: 10_000, shareInFlight });
    const answer = (headers: Record<string, string> = {}) => {
      const at = clock.now();
      return { headers: new Headers(headers), sentAt: at, receivedAt: at };
    };
    const enter = (deadlineMs = 60_000) =>
      one.enter({
        deadline: deadlineIn(deadlineMs, resolved),
        signal: new AbortController().signal,
      });
    return { clock, one, answer, enter };
  }

  test.each([true, false])(
    "lets waiting callers pass one at a time (shareInFlight: %s)",
    async (share) => {
      const { clock, one, answer, enter } = gate(share);
      one.refused(answer());
      const leaving: (() => void)[] = [];
      const waiting = Promise.all(five.map(async () => leaving.push(await enter())));
      for (let passed = 1; passed <= 5; passed++) {
        await clock.pass(3_000);
        expect(leaving).toHaveLength(passed);
        if (passed === 1) one.passed({ sentAt: clock.now() });
        leaving[passed - 1]?.();
      }
      await waiting;
    },
  );

  test.each([
    ["2", "20"],
    ["20", "2"],
  ])(
    "keeps a waiting caller until the later instant of two 429s (%s s, %s s)",
    async (first, second) => {
      const { clock, one, answer, enter } = gate();
      one.refused(answer({ "retry-after": first }));
      const waiting = enter();
      await clock.pass(1_000);
      one.refused(answer({ "retry-after": second }));
      expect(one.opensAt - clock.now()).toBeGreaterThanOrEqual(19_000);
      await clock.pass(15_000);
      expect(await isSettled(waiting)).toBe(false);
      await clock.pass(8_000);
      expect(await isSettled(waiting)).toBe(true);
    },
  );

  test("counts the 429s of requests that were in flight together as one step of the schedule", async () => {
    const { clock, one, answer } = gate();
    const underWay = five.map(() => answer());
    await clock.pass(100);
    for (const each of underWay) one.refused({ ...each, receivedAt: clock.now() });
    expect(one.opensAt - clock.now()).toBeLessThanOrEqual(2_500);
    await clock.pass(3_000);
    one.refused(answer());
    expect(one.opensAt - clock.now()).toBeGreaterThanOrEqual(4_000);
  });

  test("keeps no caller beyond its deadline while probes fail one after another", async () => {
    const { clock, one, answer, enter } = gate();
    one.refused(answer());
    const leaving: (() => void)[] = [];
    const waiting = Promise.allSettled(five.map(async () => leaving.push(await enter(12_000))));
    for (let probe = 0; probe < 5; probe++) {
      await clock.pass(10_000);
      leaving.shift()?.();
    }
    const ends = (await waiting).map((end) =>
      end.status === "fulfilled" ? "let through" : end.reason.name,
    );
    expect(ends.filter((end) => end === "let through")).toHaveLength(2);
    expect(ends.filter((end) => end === "RateLimitedError")).toHaveLength(3);
  });

  test("opens in time although the clock was set back by a day", async () => {
    const { clock, one, answer, enter } = gate();
    one.refused(answer({ "retry-after": "5" }));
    clock.correct(-86_400_000);
    const waiting = enter();
    await clock.pass(6_000);
    await expect(waiting).resolves.toBeTypeOf("function");
  });

  test.each([true, false])(
    "with shareInFlight: %s gives up another caller's request that was killed",
    async (share) => {
      const { clock, one, answer, enter } = gate(share);
      one.refused(answer());
      const killed = enter();
      await clock.pass(3_000);
      expect(await isSettled(killed)).toBe(true);
      const next = enter();
      await clock.pass(12_000);
      expect(await isSettled(next)).toBe(false);
      await clock.pass(5_000);
      expect(await isSettled(next)).toBe(true);
    },
  );
});
