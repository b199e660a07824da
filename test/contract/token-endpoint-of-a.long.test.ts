/** What the tables of rules and options do not see of Variant A's token endpoint. */
import { describe, expect, test } from "vitest";
import { createRig, type Rig } from "./rig.js";

type Front = (rig: Rig) => (url: string, init: RequestInit) => Promise<Response>;

const limit = { requests: 4, windowSeconds: 60 };
const isTokenRequest = (url: string) => url.endsWith("/external-plugin/oauth/token");

/**
 * A limit whose slots all free at once, counted in windows that begin at `start` of the instant.
 */
const fixedWindow =
  (start: (now: number, last: number) => number): Front =>
  ({ emulator }) => {
    let began = 0;
    let used = 0;
    return async (url, init) => {
      const at = start(emulator.clock.now(), began);
      if (at !== began) [began, used] = [at, 0];
      if (isTokenRequest(url) && ++used > limit.requests)
        return new Response(null, { status: 429 });
      return emulator.fetch(url, init);
    };
  };

const shared: Front =
  ({ emulator }) =>
  (url, init) =>
    emulator.fetch(url.replace("/umbrella/external-plugin/", "/acme/external-plugin/"), init);
const ofMinutes = fixedWindow((now) => now - (now % 60_000));
const sinceFirst = fixedWindow((now, last) => (now - last >= 60_000 ? now : last));

test.each<[title: string, front: Front, breaks: string]>([
  ["a limit that tenants share", shared, "rate-limit.tenant"],
  ["a window that begins with the minute", ofMinutes, "rate-limit.sliding"],
  ["a window that begins with the first request", sinceFirst, "rate-limit.sliding"],
])("%s breaks the case of that promise", async (_, front, id) => {
  const rig = createRig({ rateLimit: front === shared && limit });
  const results = await rig.run({ only: [id], fetch: front(rig) }, { rateLimit: limit });
  expect(results.get(id)?.result).toBe("breaks");
});

describe("the numbers of the rate limit", () => {
  test.each([
    { requests: 5, windowSeconds: 10, retryAfter: "date" },
    { requests: 3, windowSeconds: 45, retryAfter: false },
    { requests: 20, windowSeconds: 300, retryAfter: "seconds" },
  ] as const)("are learnt after other requests took slots: %j", async (rateLimit) => {
    const { run, emulator, target } = createRig({ rateLimit });
    const tokenUrl = `${target.baseUrl}/api/v1/acme/external-plugin/oauth/token`;
    await emulator.fetch(tokenUrl, { method: "POST" });
    emulator.clock.advance(1_500);
    const results = await run({ only: ["rate-limit-numbers"] }, { rateLimit: undefined });
    expect(results.get("rate-limit-numbers")).toMatchObject({
      result: "learnt",
      settings: { rateLimit },
    });
  });

  test("are not tried, with the count, where 300 requests meet no limit", async () => {
    const { run } = createRig({ rateLimit: false });
    const result = (await run({ only: ["rate-limit-numbers"] })).get("rate-limit-numbers");
    const observed = "No 429 came within 300 requests.";
    expect(result).toMatchObject({ result: "not tried", observed });
  });
});

test("a wrong kid that is accepted breaks nothing while the second key is not registered", async () => {
  const { run, target } = createRig({ rateLimit: false });
  const oneKey = { plugin: target.restrictedPlugin, secondKey: target.secondKey };
  const results = await run({ only: ["assertion.key-id"] }, oneKey);
  expect(results.get("assertion.key-id")?.observed).toContain("The second key is not registered");
});
