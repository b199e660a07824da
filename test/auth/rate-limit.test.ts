// A 429 of the token endpoint: one gate for each tenant, Retry-After, and the schedule without it.
import { afterEach, describe, expect, test, vi } from "vitest";
import { RateLimitGate } from "../../src/auth/request/rate-limit-gate.js";
import { deadlineIn, resolveClock } from "../../src/clock.js";
import { parseRetryAfterMs } from "../../src/http/backoff.js";
import {
  createConnector,
  type Fetch,
  type MachineCredential,
  type ServiceEvent,
} from "../../src/index.js";
import { latch } from "../people/person.js";
import { recordedAuth, scriptedAuth } from "../support/auth.js";
import { START, steppedClock } from "../support/clock.js";
import { account, credentialOf, deployment, plugin } from "../support/deployment.js";
import { type FetchScript, gatedFetch, scriptedFetch, tokenAnswer } from "../support/fetch.js";
import { isSettled, rejectionOf, settle } from "../support/wait.js";

const limited = (headers: HeadersInit = {}) => new Response("", { status: 429, headers });
const refusalOfA = () =>
  Response.json(
    { error: "invalid_grant", error_description: "The token request was rejected." },
    { status: 400 },
  );
const notFound = () => new Response("", { status: 404 });
const httpDate = (at: number) => new Date(at).toUTCString();
const target = { baseUrl: "https://service.example", tenantId: "acme" };

afterEach(() => {
  vi.unstubAllEnvs();
});

describe.each(["A", "B"] as const)("a 429 to Variant %s", (variant) => {
  const serverHourAhead = {
    "retry-after": httpDate(START + 3_607_000),
    date: httpDate(START + 3_600_000),
  };
  test.each([
    { name: "7", headers: { "retry-after": "7" }, waitMs: 7_000, longestMs: 7_700 },
    { name: "by the server's clock", headers: serverHourAhead, waitMs: 7_000, longestMs: 7_700 },
    { name: "soon", headers: { "retry-after": "soon" }, waitMs: 2_000, longestMs: 2_500 },
  ])(
    "with Retry-After $name is waited for $waitMs ms, by jitter up to $longestMs ms",
    async ({ headers, waitMs, longestMs }) => {
      for (const random of [0, 1]) {
        const script: FetchScript = (_call, index) =>
          index === 0 ? limited(headers) : tokenAnswer();
        const { clock, fetch, auth, types } = scriptedAuth(variant, script);
        clock.jitterAt(random);
        const waits = clock.skipSleeps();
        expect((await auth.getAccessToken()).value).toBe("token-1");
        expect(fetch.calls).toHaveLength(2);
        expect(waits).toEqual([expect.closeTo(random === 0 ? waitMs : longestMs)]);
        expect(types()).toContain("rate_limited");
      }
    },
  );

  test("without Retry-After is retried after 2, 4, 8 and 16 s, each up to a quarter longer, until the deadline", async () => {
    const { clock, fetch, auth } = scriptedAuth(variant, () => limited());
    const waits = clock.skipSleeps();
    await expect(auth.getAccessToken()).rejects.toMatchObject({ code: "rate_limited" });
    // 32 s more would exceed 60 s.
    expect(waits).toHaveLength(4);
    for (const [index, step] of [2_000, 4_000, 8_000, 16_000].entries()) {
      expect(waits[index]).toBeGreaterThanOrEqual(step);
      expect(waits[index]).toBeLessThanOrEqual(1.25 * step);
    }
    expect(fetch.calls).toHaveLength(5);
  });

  test("with a Retry-After beyond the deadline rejects at once with retryAt, without another request", async () => {
    const { clock, fetch, auth } = scriptedAuth(variant, () => limited({ "retry-after": "61" }));
    const error = await rejectionOf(auth.getAccessToken());
    expect(error).toMatchObject({ name: "RateLimitedError", code: "rate_limited", variant });
    const { retryAt, message } = error as Error & { retryAt: number };
    expect(retryAt).toBeGreaterThanOrEqual(START + 61_000);
    expect(message).toContain(new Date(retryAt).toISOString());
    const again = { code: "rate_limited", retryAt };
    expect(await rejectionOf(auth.getAccessToken())).toMatchObject(again);
    expect(fetch.calls).toHaveLength(1);
    expect(clock.now()).toBe(START);
  });

  test("is waited for until an abort, with the signal's reason", async () => {
    const controller = new AbortController();
    const onEvent = ({ type }: ServiceEvent) => {
      if (type === "rate_limited") setImmediate(() => controller.abort("enough"));
    };
    const script = () => limited({ "retry-after": "30" });
    const { auth, fetch } = scriptedAuth(variant, script, { onEvent });
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
  const inFive = httpDate(START + 5_000);
  const cached = { date: httpDate(START - 60_000), age: "60" };
  const rows: { name: string; value: string; ms?: number; more?: object }[] = [
    { name: "IMF-fixdate", value: inFive, ms: 5_000 },
    { name: "RFC 850", value: "Thursday, 01-Jan-26 12:00:05 GMT", ms: 5_000 },
    { name: "asctime", value: "Thu Jan  1 12:00:05 2026", ms: 5_000 },
    { name: "a date beside the Date of a cache", value: inFive, ms: 5_000, more: cached },
    {
      name: "asctime, as in the Date of the answer",
      value: "Thu Jan  1 12:01:05 2026",
      ms: 5_000,
      more: { date: "Thu Jan  1 12:01:00 2026" },
    },
    { name: "a past date", value: httpDate(START - 7_000) },
    { name: "a date of nowhere", value: "Foo, 99 Bar 2026" },
    ...["", "0", "-5", "1.5", "1, 2", "2026-01-01T12:00:05Z"].map((value) => {
      return { name: `"${value}"`, value };
    }),
  ];
  test.each(rows)("$name: $ms, in any time zone", ({ value, ms, more }) => {
    vi.stubEnv("TZ", "Asia/Tokyo");
    expect(parseRetryAfterMs(new Headers({ ...more, "retry-after": value }), START)).toBe(ms);
  });
});

describe("a tenant at its rate limit", () => {
  const connecting = (fetch: Fetch, first: MachineCredential, second: MachineCredential) => {
    const clock = steppedClock();
    const events: ServiceEvent[] = [];
    const onEvent = (event: ServiceEvent) => void events.push(event);
    const connector = createConnector({ credentials: [first, second], fetch, clock, onEvent });
    const limits = () => events.filter(({ type }) => type === "rate_limited");
    return { clock, connector, events, limits, connect: () => connector.connect(target) };
  };

  test("with 50 callers gets three refusals in all and recovers, while another tenant does not wait", async () => {
    const clock = steppedClock();
    // The schedule leads to requests at 0, 2 to 2.5, 6 to 7.5 and 14 to 17.5 s.
    const rateLimit = { requests: 2, windowSeconds: 12, retryAfter: false as const };
    const emulator = deployment({ tenants: ["acme", "globex"], now: clock.now, rateLimit });
    const { publicUrl: baseUrl, fetch } = emulator;
    const credential = plugin();
    for (let used = 0; used < 2; used++)
      await recordedAuth({ baseUrl, credential, fetch, clock }).auth.getAccessToken();
    const connector = createConnector({ credentials: [credential], fetch, clock });
    const done = { acme: 0, globex: 0 };
    const crowd = (tenantId: "acme" | "globex") =>
      Array.from({ length: 50 }, async () => {
        const service = await connector.connect({ baseUrl, tenantId });
        expect((await service.call("listDevices")).ok).toBe(true);
        done[tenantId]++;
      });
    const calls = [...crowd("acme"), ...crowd("globex")];
    await settle();
    expect(done).toEqual({ acme: 0, globex: 50 });
    await clock.pass(11_000);
    expect(done.acme).toBe(0);
    await clock.through(Promise.all(calls));
    const statuses = (tenantId: string) =>
      emulator.journal.tokenRequests({ tenantId }).map(({ status }) => status);
    expect(statuses("globex")).toEqual([200]);
    expect(statuses("acme")).toEqual([200, 200, 429, 429, 429, 200]);
  });

  test("by a detection closes its gate for token requests, and emits rate_limited", async () => {
    let isLimited = true;
    const fetch = scriptedFetch(() =>
      isLimited ? limited({ "retry-after": "20" }) : refusalOfA(),
    );
    const { clock, connect, limits } = connecting(fetch, plugin(), account());
    expect(await rejectionOf(connect())).toMatchObject({ code: "variant_unknown" });
    expect(limits().length).toBeGreaterThan(0);
    const asked = fetch.calls.length;
    isLimited = false;
    const second = connect();
    await clock.pass(19_000);
    expect(fetch.calls).toHaveLength(asked);
    expect((await clock.through(second)).variant).toBe("A");
  });

  test("by a detection, during a token request that is answered 404, lets no caller wait for ever", async () => {
    const [detecting, learnt] = [latch(), latch()];
    let [questions, requests] = [0, 0];
    const fetch = scriptedFetch(async ({ body }) => {
      if (body.startsWith("{")) return notFound();
      if (body.includes("client_assertion")) {
        if (++requests === 1) return limited();
        // Later than this request was sent, so that its answer does not open the gate.
        clock.advance(1);
        const met = limits().length;
        detecting.release();
        await vi.waitUntil(() => limits().length > met);
        learnt.release();
        return notFound();
      }
      questions++;
      if (questions === 1) return refusalOfA();
      if (questions > 2) return notFound();
      await detecting.promise;
      return limited({ "retry-after": "3" });
    });
    const { clock, connect, limits } = connecting(fetch, plugin(), account());
    const { auth } = await connect();
    // After this the detection is repeated.
    await clock.pass(3_600_000);
    const another = rejectionOf(connect());
    await clock.pass(0);
    const token = rejectionOf(auth.getAccessToken());
    await clock.pass(3_000);
    await learnt.promise;
    await clock.pass(17_000);
    expect(await isSettled(token)).toBe(true);
    expect(await token).toMatchObject({ code: "response_not_json", status: 404 });
    expect(await another).toMatchObject({ code: "variant_unknown" });
  });

  test("of Variant B, for which a detection waits, delays neither token requests of Variant A nor the end of a background renewal", async () => {
    const answers = [limited({ "retry-after": "5" }), tokenAnswer(), notFound()];
    const fetch = scriptedFetch(({ body }) => {
      if (body.startsWith("{")) return limited({ "retry-after": "50" });
      return body.includes("client_assertion") ? (answers.shift() as Response) : refusalOfA();
    });
    const { clock, connect, events } = connecting(fetch, account(), plugin());
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
    expect(events.at(-1)?.type).toBe("renewal_failed");
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
    "with shareInFlight: %s lets callers that have waited pass one at a time, also once it is open",
    async (share) => {
      const { clock, one, answer, enter } = gate(share);
      one.refused(answer());
      const leaving: (() => void)[] = [];
      for (const _caller of five) enter().then((leave) => leaving.push(leave));
      for (const passed of five) {
        await clock.pass(3_000);
        expect(leaving).toHaveLength(passed);
        one.passed(answer());
        leaving.at(-1)?.();
      }
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

  test("stays closed when a request that had entered before the 429 is sent and answered after it", async () => {
    const { clock, one, answer, enter } = gate();
    one.refused(answer({ "retry-after": "20" }));
    await clock.pass(100);
    one.passed(answer());
    const waiting = enter();
    await clock.pass(19_000);
    expect(await isSettled(waiting)).toBe(false);
    await clock.pass(4_000);
    expect(await isSettled(waiting)).toBe(true);
  });

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
