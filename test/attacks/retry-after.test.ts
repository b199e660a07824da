// A deployment stops its client for good with a `Retry-After`, which RFC 9110 section 10.2.3 does
// not bound (CWE-400).
import { describe, expect, test } from "vitest";
import { scriptedService } from "../client/scripted-service.js";
import { scriptedAuth } from "../support/auth.js";
import { rejectionOf } from "../support/wait.js";

const dayMs = 24 * 3_600_000;
const endless = [
  { name: "a number with 400 digits", value: "9".repeat(400) },
  { name: "a date in the year 9999", value: new Date(Date.UTC(9_999, 11, 31)).toUTCString() },
  { name: "a little more than a day", value: "86401" },
];
const limited = (value: string) => () =>
  new Response("", { status: 429, headers: { "retry-after": value } });

describe.each(["A", "B"] as const)("Variant %s", (variant) => {
  test.each(endless)(
    "$name is cut to a day for tokens and calls, and the errors say so",
    async ({ value }) => {
      const { auth, clock, events, fetch } = scriptedAuth(variant, limited(value));
      const { service } = scriptedService(variant, limited(value));
      const retryAt = clock.now() + dayMs;
      const late = { retryAt, message: expect.stringMatching(/more than a day is not waited for/) };
      expect(await rejectionOf(auth.getAccessToken())).toMatchObject({
        code: "rate_limited",
        ...late,
      });
      expect((await service.call("listDevices")).error).toMatchObject({
        code: "api_rate_limited",
        ...late,
      });
      expect(events).toContainEqual(expect.objectContaining({ type: "rate_limited", retryAt }));
      clock.advance(dayMs);
      await rejectionOf(auth.getAccessToken());
      expect(fetch.calls).toHaveLength(2);
    },
  );

  test("an honest Retry-After of an hour is kept as it is", async () => {
    const { auth, clock } = scriptedAuth(variant, limited("3600"));
    const error = await rejectionOf(auth.getAccessToken());
    const { retryAt, message } = error as { retryAt: number; message: string };
    expect(retryAt - clock.now()).toBeGreaterThanOrEqual(3_600_000);
    expect(retryAt - clock.now()).toBeLessThanOrEqual(1.1 * 3_600_000 + 1);
    expect(message).not.toContain("a day");
  });
});
