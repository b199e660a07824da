// A token near its expiry is served while it is renewed; callers wait for the successor of an
// expired one.
import { AsyncLocalStorage } from "node:async_hooks";
import { describe, expect, test } from "vitest";
import type { ServiceEvent } from "../../src/index.js";
import { answeredAuth, fakeService } from "../lifecycle/fake-service.js";
import { recordedAuth } from "../support/auth.js";
import { steppedClock } from "../support/clock.js";
import { credentialOf } from "../support/deployment.js";
import { gatedFetch, tokenAnswer } from "../support/fetch.js";
import { collectGarbage, settle } from "../support/wait.js";

const refusal = () => Response.json({ error: "invalid_grant" }, { status: 400 });

describe.each(["A", "B"] as const)("a token of Variant %s", (variant) => {
  function holding(options: object = {}) {
    const fetch = gatedFetch();
    const recorded = recordedAuth({ credential: credentialOf(variant), fetch, ...options });
    const have = async (value: string, lifetimeSeconds = 3_600) => {
      const count = fetch.calls.length;
      const token = recorded.auth.getAccessToken();
      await fetch.arrived(count + 1);
      fetch.answer(tokenAnswer(value, lifetimeSeconds));
      return token;
    };
    return { ...recorded, fetch, have };
  }

  // "The last tenth of the token's own lifetime, at most 5 minutes, with jitter."
  test.each([
    { lifetimeSeconds: 7_200, windowSeconds: 300, random: 0 },
    { lifetimeSeconds: 3_000, windowSeconds: 300, random: 0.999_999 },
    { lifetimeSeconds: 60, windowSeconds: 6, random: 0 },
    { lifetimeSeconds: 60, windowSeconds: 6, random: 0.999_999 },
  ])(
    "of $lifetimeSeconds s is renewed in its last $windowSeconds s, with the jitter at $random",
    async ({ lifetimeSeconds, windowSeconds, random }) => {
      const { clock, fetch, auth, have, types } = holding();
      clock.jitterAt(random);
      await have("token-1", lifetimeSeconds);
      clock.advance((lifetimeSeconds - windowSeconds) * 1000 - 1);
      await auth.getAccessToken();
      await settle();
      expect(fetch.calls).toHaveLength(1);

      // Jitter makes the renewal later by a share of the window, but never near the expiry.
      clock.advance(windowSeconds * 200);
      expect((await auth.getAccessToken()).value).toBe("token-1");
      await fetch.arrived(2);
      expect(types()).toContain("token_served_while_renewing");
      fetch.answer(tokenAnswer("token-2", lifetimeSeconds));
      await settle();
      expect((await auth.getAccessToken()).value).toBe("token-2");
      expect(fetch.calls).toHaveLength(2);
    },
  );

  test.each([
    { name: "a refusal", answer: refusal(), code: "token_refused" },
    { name: "a 429", answer: new Response("", { status: 429 }), code: "rate_limited" },
    { name: "a network fault", answer: new TypeError("fetch failed"), code: "network_failed" },
  ])(
    "whose renewal meets $name is served while it is valid, and fails no caller",
    async ({ answer, code }) => {
      const { clock, fetch, auth, have, events } = holding({ retryDeadlineMs: 0 });
      await have("token-1");
      clock.advance(3_500_000);
      expect((await auth.getAccessToken()).value).toBe("token-1");
      await fetch.arrived(2);
      fetch.answer(answer instanceof Response ? answer.clone() : answer);
      await settle();
      const failed = { type: "renewal_failed", code, message: expect.stringMatching(/./) };
      expect(events).toContainEqual(expect.objectContaining(failed));
      for (let times = 0; times < 5; times++)
        expect((await auth.getAccessToken()).value).toBe("token-1");
      await settle();
      expect(fetch.calls).toHaveLength(2);
    },
  );

  test("is renewed again 2 to 2.5 s after a failure, also near its next expiry, since a success resets the failures", async () => {
    const { clock, fetch, auth, have } = holding();
    await have("token-1");
    for (const [sent, value, next] of [
      [1, "token-1", "token-2"],
      [3, "token-2", "token-3"],
    ] as const) {
      clock.advance(3_400_000);
      await auth.getAccessToken();
      await fetch.arrived(sent + 1);
      fetch.answer(refusal());
      await settle();
      clock.advance(1_900);
      await auth.getAccessToken();
      await settle();
      expect(fetch.calls).toHaveLength(sent + 1);
      clock.advance(700);
      expect((await auth.getAccessToken()).value).toBe(value);
      await fetch.arrived(sent + 2);
      fetch.answer(tokenAnswer(next));
      await settle();
      expect((await auth.getAccessToken()).value).toBe(next);
    }
  });

  test.each([429, 503])(
    "a caller that waits for a background renewal which meets a %i gets the retries",
    async (status) => {
      const { clock, fetch, auth, have } = holding();
      await have("token-1");
      clock.advance(3_595_000);
      await auth.getAccessToken();
      await fetch.arrived(2);
      clock.advance(5_000);
      const caller = auth.getAccessToken();
      clock.skipSleeps();
      fetch.answer(new Response("", { status }));
      await fetch.arrived(3);
      fetch.answer(tokenAnswer("token-2"));
      expect((await caller).value).toBe("token-2");
    },
  );

  test.each(["failed", "was lost"])(
    "after a background renewal that %s, a request runs in the asynchronous context of a caller that waited",
    async (end) => {
      const requests = new AsyncLocalStorage<string>();
      const heard: unknown[] = [];
      const onEvent = ({ type }: ServiceEvent) => heard.push([type, requests.getStore()]);
      const { clock, fetch, auth, have } = holding({ onEvent });
      await have("token-1");
      clock.advance(3_595_000);
      await requests.run("first", () => auth.getAccessToken());
      await fetch.arrived(2);
      clock.killTimers();
      clock.advance(5_000);
      heard.length = 0;
      const [second, third] = ["second", "third"].map((name) =>
        requests.run(name, () =>
          auth.getAccessToken().finally(() => heard.push(["served", requests.getStore()])),
        ),
      );
      if (end === "failed") fetch.answer(new TypeError("failed"));
      else clock.advance(25_000);
      await fetch.arrived(3);
      if (end === "was lost") fetch.answer(refusal());
      fetch.answer(tokenAnswer("token-2"));
      expect([await second, await third].map((token) => token?.value)).toEqual([
        "token-2",
        "token-2",
      ]);
      expect(heard).toEqual(
        expect.arrayContaining([
          ["token_requested", "second"],
          ["token_renewed", "second"],
          ["served", "second"],
          ["served", "third"],
        ]),
      );
    },
  );

  test("the lifetime of a token counts from the sending of its request", async () => {
    const { clock, fetch, auth } = holding();
    const sentAt = clock.now();
    const token = auth.getAccessToken();
    await fetch.arrived(1);
    clock.advance(8_000);
    fetch.answer(tokenAnswer("token-1", 60));
    expect((await token).expiresAt).toBe(sentAt + 60_000);
  });

  test("invalidate of a replaced token is ignored, so that a late 401 does not drop a fresh token", async () => {
    const { fetch, auth, have } = holding();
    const old = await have("token-1");
    auth.invalidate(old);
    const fresh = await have("token-2");
    for (let times = 0; times < 3; times++) auth.invalidate(old);
    expect(await auth.getAccessToken()).toBe(fresh);
    expect(fetch.calls).toHaveLength(2);
  });
});

test.each(["A", "B"] as const)(
  "a listener that requests a token of Variant %s at each event joins the renewal that it reports",
  async (variant) => {
    const clock = steppedClock();
    const { credential, fetch, tokenRequests } = fakeService({ variant, lifetimeSeconds: 100 });
    const reported: string[] = [];
    const onEvent = ({ type }: ServiceEvent) => {
      // The limit makes an endless chain of renewals fail the test and not hang it.
      if (reported.push(type) < 500) auth.getAccessToken().catch(() => {});
    };
    const { auth } = recordedAuth({ credential, fetch, clock, onEvent });
    const requested: number[] = [];
    for (const elapsedMs of [0, 95_000, 101_000]) {
      clock.advance(elapsedMs);
      await auth.getAccessToken();
      await settle();
      requested.push(tokenRequests.length);
    }
    expect(requested).toEqual([1, 2, 3]);
    const types = ["token_requested", "token_renewed", "token_served_while_renewing"];
    expect(new Set(reported)).toEqual(new Set(types));
  },
);

test.each(["A", "B"] as const)(
  "in hours without calls of Variant %s no request is sent and no timer is pending",
  async (variant) => {
    const { auth, clock, answer, requested, untilExpiry } = answeredAuth(variant);
    const sent: number[] = [];
    for (const idleHours of [5, 3]) {
      // A background renewal has just ended.
      await untilExpiry(200_000);
      await auth.getAccessToken();
      await answer();
      expect(clock.timerCount()).toBe(0);
      await clock.pass(idleHours * 3_600_000);
      sent.push(await requested());
    }
    expect(sent).toEqual([2, 4]);
  },
);

test("what an answer held beside its token is not kept", async () => {
  const answered: WeakRef<Headers>[] = [];
  const { auth } = recordedAuth({
    credential: credentialOf("A"),
    fetch: async () => {
      const answer = tokenAnswer();
      answered.push(new WeakRef(answer.headers));
      return answer;
    },
  });
  await auth.getAccessToken();
  await settle();
  collectGarbage();
  expect(answered[0]?.deref()).toBeUndefined();
});
