// What Retry-After asks for, and what it means when it is absent, past or nonsense: a 429 and a 503 alike wait that long.
import { describe, expect, test } from "vitest";
import { createAuth, type ServiceEvent } from "../../src/index.js";
import { START, timeTravel } from "../support/clock.js";
import { isSettled, stillDigests } from "../support/wait.js";
import { BASE_URL, fakeService } from "./fake-service.js";

interface Row {
  readonly name: string;
  readonly headers: Record<string, string>;
  /** Seconds until the next request; absent: an error at once. */
  readonly waits?: readonly [least: number, most: number];
}

const date = (seconds: number) => new Date(START + seconds * 1_000).toUTCString();
/** The first step of the schedule, with its jitter. */
const firstStep = [2, 2.5] as const;

const rows: Row[] = [
  { name: "absent", headers: {}, waits: firstStep },
  { name: "empty", headers: { "retry-after": "" }, waits: firstStep },
  { name: "0", headers: { "retry-after": "0" }, waits: firstStep },
  { name: "negative", headers: { "retry-after": "-5" }, waits: firstStep },
  { name: "a fraction", headers: { "retry-after": "1.5" }, waits: firstStep },
  { name: "garbage", headers: { "retry-after": "soon" }, waits: firstStep },
  { name: "a date in the past", headers: { "retry-after": date(-3_600) }, waits: firstStep },
  { name: "1 second", headers: { "retry-after": "1" }, waits: [1, 1.1] },
  { name: "20 seconds", headers: { "retry-after": "20" }, waits: [20, 22] },
  { name: "a date in 20 s", headers: { "retry-after": date(20) }, waits: [20, 22] },
  {
    name: "a date in 20 s, by a clock that is an hour ahead",
    headers: { "retry-after": date(3_620), date: date(3_600) },
    waits: [20, 22],
  },
  {
    name: "a date in 20 s, beside a Date of a cache",
    headers: { "retry-after": date(20), date: date(-7_200), age: "7200" },
    waits: [20, 22],
  },
  { name: "beyond the deadline of 60 s", headers: { "retry-after": "61" } },
  { name: "a year", headers: { "retry-after": "31536000" } },
  { name: "a number beyond all years", headers: { "retry-after": "9".repeat(40) } },
];

describe.each(["A", "B"] as const)("the Retry-After of Variant %s's token endpoint", (variant) => {
  describe.each([429, 503])("on a %i", (status) => {
    test.each(rows)("$name", async ({ headers, waits }) => {
      stillDigests();
      const { advance } = timeTravel({ isPure: true });
      let refusals = 1;
      const events: ServiceEvent[] = [];
      const service = fakeService({
        variant,
        now: Date.now,
        onTokenRequest: ({ answer }) =>
          answer(refusals-- > 0 ? new Response("", { status, headers }) : service.token("acme")),
      });
      const auth = createAuth({
        baseUrl: BASE_URL,
        tenantId: "acme",
        credential: service.credential,
        fetch: service.fetch,
        onEvent: (event) => void events.push(event),
      });
      const token = auth.getAccessToken().catch((error: unknown) => error);
      await advance(0);
      expect(service.tokenRequests).toHaveLength(1);
      expect(events.filter(({ type }) => type === "rate_limited")).toHaveLength(status === 429 ? 1 : 0);
      if (waits === undefined) {
        expect(await isSettled(token)).toBe(true);
        expect(await token).toMatchObject(
          status === 429 ? { name: "RateLimitedError", code: "rate_limited" } : { status: 503 },
        );
        await advance(70_000, 10_000);
        expect(service.tokenRequests).toHaveLength(1);
        return;
      }
      const [least, most] = waits;
      await advance(least * 1_000 - 1, 10_000);
      expect(service.tokenRequests).toHaveLength(1);
      await advance((most - least) * 1_000 + 2, 10_000);
      expect(service.tokenRequests).toHaveLength(2);
      expect(await token).toHaveProperty("expiresAt");
    });
  });

  test("absent each time: 2, 4, 8 and 16 s are waited, each with a random share more, and then it is told", async () => {
    stillDigests();
    const { advance } = timeTravel({ isPure: true });
    const service = fakeService({
      variant,
      now: Date.now,
      onTokenRequest: ({ answer }) => answer(new Response("", { status: 429 })),
    });
    const { credential, fetch } = service;
    const auth = createAuth({ baseUrl: BASE_URL, tenantId: "acme", credential, fetch });
    const told = auth.getAccessToken().catch((error: unknown) => error);
    await advance(60_000, 100);
    expect(await told).toMatchObject({ name: "RateLimitedError" });
    const at = service.tokenRequests.map((request) => (request.at - START) / 1_000);
    const gaps = at.slice(1).map((instant, index) => instant - (at[index] ?? 0));
    expect(gaps).toHaveLength(4);
    for (const [index, gap] of gaps.entries()) {
      expect(gap).toBeGreaterThanOrEqual(2 ** (index + 1));
      expect(gap).toBeLessThanOrEqual(2 ** (index + 1) * 1.25 + 0.1);
    }
    expect(new Set(gaps.map((gap) => gap % 1)).size).toBeGreaterThan(1);
  });
});
