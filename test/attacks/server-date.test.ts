// A deployment or a gateway moves the clock of its client by years with `Date`, so that it collects
// assertions which are valid long after it has lost its place. RFC 7523 section 3 lets servers
// refuse an `exp` "unreasonably far in the future"; what a shifted clock does to credentials is
// shown in "Attacking the Network Time Protocol" (NDSS 2016).
import { decodeJwt } from "jose";
import { describe, expect, test } from "vitest";
import type { TokenRequestError } from "../../src/index.js";
import { recordedAuth, scriptedAuth } from "../support/auth.js";
import { steppedClock } from "../support/clock.js";
import { deployment, plugin } from "../support/deployment.js";
import { type FetchCall, tokenAnswer } from "../support/fetch.js";
import { rejectionOf } from "../support/wait.js";

const dayMs = 24 * 3_600_000;
const causesOf = (error: unknown) => (error as TokenRequestError).causes;

describe.each([
  { name: "thirty hours ahead", aheadMs: 1.25 * dayMs },
  { name: "ten years ahead", aheadMs: 3_650 * dayMs },
  { name: "ten years behind", aheadMs: -3_650 * dayMs },
  { name: "at the end of time", aheadMs: Date.UTC(9_999, 0) - Date.UTC(2026, 0) },
])("a Date $name", ({ aheadMs }) => {
  const now = Date.UTC(2026, 0, 1);
  const headers = { date: new Date(now + aheadMs).toUTCString() };
  const issuedAt = ({ body }: FetchCall) =>
    decodeJwt(new URLSearchParams(body).get("client_assertion") ?? "").iat ?? 0;

  test("corrects no assertion, and is reported once", async () => {
    const answer = (_call: FetchCall, index: number) =>
      index % 2 === 0
        ? new Response("", { status: 503, headers })
        : tokenAnswer("t", 3_600, headers);
    // Epoch time stands still while the waits for another try pass.
    const clock = { ...steppedClock(), now: () => now };
    clock.skipSleeps();
    const { auth, fetch, events } = scriptedAuth("A", answer, { clock });
    for (let token = 0; token < 3; token++) auth.invalidate(await auth.getAccessToken());
    expect(fetch.calls.map(issuedAt)).toEqual(Array(6).fill(now / 1_000));
    expect(events.filter(({ type }) => type === "clock_off")).toHaveLength(1);
  });

  test("with a refusal is answered with no second assertion, and the error says what to do", async () => {
    const refuse = () => Response.json({ error: "invalid_client" }, { status: 400, headers });
    const { auth, fetch } = scriptedAuth("A", refuse, { clock: { now: () => now } });
    const error = await rejectionOf(auth.getAccessToken());
    expect(fetch.calls.map(issuedAt)).toEqual([now / 1_000]);
    const remedy = "Correct the clock of the signing machine.";
    expect(causesOf(error)).toContainEqual(expect.objectContaining({ id: "clock_drift", remedy }));
  });
});

test.each([
  { name: "by a day gets its token", aheadMs: dayMs },
  {
    name: "by fourteen hours, as with a wrong time zone, gets its token",
    aheadMs: -14 * 3_600_000,
  },
  { name: "by three days fails because of its clock", aheadMs: 3 * dayMs, cause: "clock_drift" },
])("an honest machine whose clock is off $name", async ({ aheadMs, cause }) => {
  const server = steppedClock();
  const { publicUrl: baseUrl, fetch } = deployment({ now: server.now, variants: ["A"] });
  const { auth } = recordedAuth({
    baseUrl,
    credential: plugin(),
    fetch,
    clock: { now: () => server.now() + aheadMs },
  });
  const causes = await auth.getAccessToken().then(() => undefined, causesOf);
  expect(causes?.[0]?.id).toBe(cause);
  if (cause !== undefined) expect(causes?.[0]?.evidence).toMatch(/2591\d\d s behind/);
});
