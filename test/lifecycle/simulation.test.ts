// A day in the life of a token: frequent callers never wait for a renewal, and no needless request is sent.
import { describe, expect, test } from "vitest";
import { recordedAuth } from "../support/auth.js";
import { START, steppedClock } from "../support/clock.js";
import { isSettled, settle } from "../support/wait.js";
import { fakeService, type SeenTokenRequest } from "./fake-service.js";

const daySeconds = 24 * 3_600;
/** How long the token endpoint takes to answer. */
const latencyMs = 2_000;

interface Day {
  readonly requests: number;
  readonly calls: number;
  /** Calls after the first that were not answered from memory. */
  readonly waits: number;
}

/** Calls for a day, with `gapSeconds` between two calls. The token endpoint answers only after a while. */
async function liveThroughADay(
  variant: "A" | "B",
  lifetimeSeconds: number,
  gapSeconds: () => number,
): Promise<Day> {
  const clock = steppedClock();
  const { now } = clock;
  const pending: SeenTokenRequest[] = [];
  const service = fakeService({ variant, now, lifetimeSeconds, onTokenRequest: (one) => pending.push(one) });
  const { credential, fetch } = service;
  const { auth } = recordedAuth({ credential, fetch, clock });
  let calls = 0;
  let waits = 0;
  while (now() < START + daySeconds * 1_000) {
    const token = auth.getAccessToken();
    if (!(await isSettled(token)) && calls > 0) waits++;
    if (pending.length > 0) clock.advance(latencyMs);
    for (const request of pending.splice(0)) request.answer(service.token(request.tenantId));
    expect((await token).expiresAt).toBeGreaterThan(now());
    calls++;
    await settle();
    clock.advance(gapSeconds() * 1_000);
  }
  return { requests: service.tokenRequests.length, calls, waits };
}

describe.each(["A", "B"] as const)("over 24 hours of Variant %s", (variant) => {
  let calls = 0;
  /** Uneven gaps, the same in every run. */
  const uneven = (mostSeconds: number) => () => 1 + ((calls++ * 97) % mostSeconds);
  const often = [
    { name: "tokens of 3600 s, a call every 60 s", lifetimeSeconds: 3_600, gapSeconds: () => 60 },
    { name: "tokens of 3600 s, a call every 240 s", lifetimeSeconds: 3_600, gapSeconds: () => 240 },
    { name: "tokens of 3600 s, calls up to 260 s apart", lifetimeSeconds: 3_600, gapSeconds: uneven(260) },
    { name: "tokens of 600 s, calls up to 50 s apart", lifetimeSeconds: 600, gapSeconds: uneven(50) },
    { name: "tokens of 86400 s, a call every 200 s", lifetimeSeconds: 86_400, gapSeconds: () => 200 },
  ];

  test.each(often)(
    "$name: no caller waits after the first token, and at most 1.15 requests are sent per lifetime",
    async ({ lifetimeSeconds, gapSeconds }) => {
      const { requests, waits } = await liveThroughADay(variant, lifetimeSeconds, gapSeconds);
      expect(waits).toBe(0);
      expect(requests).toBeLessThanOrEqual(Math.max(2, (1.15 * daySeconds) / lifetimeSeconds));
      expect(requests).toBeGreaterThanOrEqual(daySeconds / lifetimeSeconds);
    },
  );

  test("in hours without calls no request is sent and no timer is pending", async () => {
    const clock = steppedClock();
    const service = fakeService({ variant, now: clock.now });
    const { credential, fetch } = service;
    const { auth } = recordedAuth({ credential, fetch, clock });
    const sent: number[] = [];
    for (const idleHours of [5, 3, 12]) {
      await auth.getAccessToken();
      // The clock moves into the renewal window, so that a background renewal has just ended.
      clock.advance(3_400_000);
      await auth.getAccessToken();
      await settle();
      const before = service.tokenRequests.length;
      expect(clock.timerCount()).toBe(0);
      await clock.pass(idleHours * 3_600_000);
      sent.push(service.tokenRequests.length - before);
    }
    expect(sent).toEqual([0, 0, 0]);
    expect(service.tokenRequests).toHaveLength(6);
  });
});
