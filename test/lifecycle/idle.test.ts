// A token that nobody asks for costs nothing.
import { expect, test } from "vitest";
import { recordedAuth } from "../support/auth.js";
import { steppedClock } from "../support/clock.js";
import { settle } from "../support/wait.js";
import { fakeService } from "./fake-service.js";

test.each(["A", "B"] as const)(
  "in hours without calls of Variant %s no request is sent and no timer is pending",
  async (variant) => {
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
  },
);
