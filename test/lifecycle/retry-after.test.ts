// The Retry-After of a 503: waited for as that of a 429.
import { describe, expect, test } from "vitest";
import { createAuth } from "../../src/index.js";
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
  { name: "garbage", headers: { "retry-after": "soon" }, waits: firstStep },
  { name: "20 seconds", headers: { "retry-after": "20" }, waits: [20, 22] },
  { name: "a date in 20 s", headers: { "retry-after": date(20) }, waits: [20, 22] },
  { name: "beyond the deadline of 60 s", headers: { "retry-after": "61" } },
];

describe.each(["A", "B"] as const)("the Retry-After of Variant %s's token endpoint", (variant) => {
  test.each(rows)("on a 503, $name", async ({ headers, waits }) => {
    stillDigests();
    const { advance } = timeTravel({ isPure: true });
    let refusals = 1;
    const service = fakeService({
      variant,
      now: Date.now,
      onTokenRequest: ({ answer }) =>
        answer(refusals-- > 0 ? new Response("", { status: 503, headers }) : service.token("acme")),
    });
    const auth = createAuth({
      baseUrl: BASE_URL,
      tenantId: "acme",
      credential: service.credential,
      fetch: service.fetch,
    });
    const token = auth.getAccessToken().catch((error: unknown) => error);
    await advance(0);
    expect(service.tokenRequests).toHaveLength(1);
    if (waits === undefined) {
      expect(await isSettled(token)).toBe(true);
      expect(await token).toMatchObject({ status: 503 });
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
