// A route that answers 401 causes hardly any token requests, however often and concurrently it is
// called.
import { describe, expect, test } from "vitest";
import { createService } from "../../src/index.js";
import { recordedAuth } from "../support/auth.js";
import { steppedClock } from "../support/clock.js";

import { fakeService } from "./fake-service.js";

function refusingRoute(variant: "A" | "B") {
  const clock = steppedClock();
  const { now } = clock;
  const fake = fakeService({ variant, now, apiStatus: () => 401 });
  const { credential, fetch } = fake;
  const { auth } = recordedAuth({ credential, fetch, clock: { now } });
  const service = createService(auth);
  return { auth, clock, fake, call: () => service.fetch(fake.route("acme")) };
}

describe.each(["A", "B"] as const)(
  "a route that answers 401 to every token of Variant %s",
  (variant) => {
    test("called 200 times in a minute, causes two token requests", async () => {
      const { clock, fake, call } = refusingRoute(variant);
      for (let made = 0; made < 200; made++) {
        expect((await call()).status).toBe(401);
        clock.advance(300);
      }
      expect(fake.tokenRequests.length).toBeLessThanOrEqual(2);
      expect(fake.apiCalls()).toBeLessThanOrEqual(201);
    });

    test("called 200 times concurrently with an old token, causes one more token request", async () => {
      const { auth, clock, fake, call } = refusingRoute(variant);
      await auth.getAccessToken();
      clock.advance(60_000);
      const answers = await Promise.all(Array.from({ length: 200 }, call));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
      expect(fake.tokenRequests).toHaveLength(2);
      expect(fake.apiCalls()).toBe(400);
    });

    test("replaces a refused token although the clock was set back by a day", async () => {
      const { auth, clock, fake, call } = refusingRoute(variant);
      const old = await auth.getAccessToken();
      clock.correct(-86_400_000);
      expect((await call()).status).toBe(401);
      expect((await auth.getAccessToken()).value).not.toBe(old.value);
      expect(fake.tokenRequests).toHaveLength(2);
    });
  },
);
