// When a renewal in the background is tried, when it is tried again after a failure, and how a fleet is spread out.
import { describe, expect, test } from "vitest";
import { type Auth, createAuth, type ServiceEvent } from "../../src/index.js";
import { steppedClock } from "../support/clock.js";
import { settle, stillDigests } from "../support/wait.js";
import { BASE_URL, fakeService } from "./fake-service.js";

function auths(variant: "A" | "B", count: number, lifetimeSeconds: number) {
  stillDigests();
  const clock = steppedClock();
  const { now } = clock;
  let isRefusing = false;
  const service = fakeService({
    variant,
    now,
    lifetimeSeconds,
    onTokenRequest: ({ answer, tenantId }) =>
      answer(isRefusing ? Response.json({ error: "x" }, { status: 400 }) : service.token(tenantId)),
  });
  const { credential, fetch } = service;
  const all = Array.from({ length: count }, () =>
    createAuth({ baseUrl: BASE_URL, tenantId: "acme", credential, fetch, now }),
  );
  const refuse = (refusing: boolean) => {
    isRefusing = refusing;
  };
  return { all, clock, service, refuse };
}

describe.each(["A", "B"] as const)("tokens of 3600 s of Variant %s in a fleet of 40", (variant) => {
  test("are renewed in the last 270 to 300 s, and not all in one instant", async () => {
    const { all, clock, service } = auths(variant, 40, 3_600);
    await Promise.all(all.map((auth) => auth.getAccessToken()));
    const issuedAt = clock.now();
    clock.advance(3_290_000);
    for (let second = 0; second < 50; second++) {
      await Promise.all(all.map((auth) => auth.getAccessToken()));
      await settle();
      clock.advance(1_000);
    }
    const ages = service.tokenRequests.slice(40).map(({ at }) => (at - issuedAt) / 1_000);
    expect(ages).toHaveLength(40);
    expect(Math.min(...ages)).toBeGreaterThanOrEqual(3_300);
    expect(Math.max(...ages)).toBeLessThanOrEqual(3_331);
    expect(new Set(ages).size).toBeGreaterThan(8);
  });
});

describe.each(["A", "B"] as const)("a renewal of Variant %s that fails near every expiry", (variant) => {
  test("is tried again in the same window each time: what failed before the last success is forgotten", async () => {
    const { all, clock, service, refuse } = auths(variant, 1, 100);
    const [auth] = all as [(typeof all)[0]];
    const attempts: number[] = [];
    for (let life = 0; life < 6; life++) {
      refuse(false);
      const { value } = await auth.getAccessToken();
      refuse(true);
      clock.advance(91_100);
      const before = service.tokenRequests.length;
      for (let second = 0; second < 8; second++) {
        // The old token is served whatever becomes of the renewal.
        expect((await auth.getAccessToken()).value).toBe(value);
        await settle();
        clock.advance(1_000);
      }
      attempts.push(service.tokenRequests.length - before);
      clock.advance(60_000);
    }
    expect(Math.min(...attempts)).toBeGreaterThanOrEqual(2);
    expect(Math.max(...attempts)).toBeLessThanOrEqual(3);
  });
});

describe.each(["A", "B"] as const)(
  "a listener that asks for a token of Variant %s at every event",
  (variant) => {
    test("joins what it is told of: one token request each for the first token, the renewal and the expiry", async () => {
      stillDigests();
      const clock = steppedClock();
      const { credential, fetch, tokenRequests } = fakeService({
        variant,
        now: clock.now,
        lifetimeSeconds: 100,
      });
      const told: string[] = [];
      const onEvent = ({ type }: ServiceEvent) => {
        // Bounded, so that a storm is told as one.
        if (told.push(type) < 500) auth.getAccessToken().catch(() => {});
      };
      const options = { baseUrl: BASE_URL, tenantId: "acme", credential, fetch, now: clock.now, onEvent };
      const auth: Auth = createAuth(options);
      for (const [elapsedMs, requests] of [
        [0, 1],
        [95_000, 2],
        [101_000, 3],
      ] as const) {
        clock.advance(elapsedMs);
        await auth.getAccessToken();
        await settle();
        expect(tokenRequests).toHaveLength(requests);
      }
      expect(new Set(told)).toEqual(
        new Set(["token_requested", "token_renewed", "token_served_while_renewing"]),
      );
    });
  },
);
