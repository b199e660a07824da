// A proxy that writes a wrong Date, none, garbage or one from a cache does not break a clock that is right.
import { describe, expect, test } from "vitest";
import { createConnector, type ServiceEvent } from "../../src/index.js";
import { steppedClock } from "../support/clock.js";
import { account, deployment, plugin } from "../support/deployment.js";
import { clockDeployment } from "./clock-deployment.js";

const wrongBySeconds = [16, 29, 31, 40, 89, 91, 300, 86_400].flatMap((seconds) => [seconds, -seconds]);

describe.each(wrongBySeconds)("a Date that is wrong by %i s beside a right clock", (seconds) => {
  const rewrite = (headers: Headers, serverNow: number) =>
    headers.set("date", new Date(serverNow + seconds * 1_000).toUTCString());

  test("costs no token: one request at first, two at one renewal at most, then one each", async () => {
    const { auth, requests, expire } = clockDeployment({ rewrite });
    await auth.getAccessToken();
    const counts = [requests()];
    for (let renewal = 0; renewal < 5; renewal++) {
      await expire();
      await auth.getAccessToken();
      counts.push(requests());
    }
    expect(counts[0]).toBe(1);
    expect(Math.max(...counts)).toBeLessThanOrEqual(2);
    expect(counts.filter((count) => count === 2).length).toBeLessThanOrEqual(1);
    expect(counts.slice(2)).toEqual([1, 1, 1, 1]);
  });

  test("that a detection met first costs at most one request more", async () => {
    const clock = steppedClock();
    const emulator = deployment({ now: clock.now, variants: ["A"] });
    const connector = createConnector({
      credentials: [plugin(), account()],
      now: clock.now,
      async fetch(url, init) {
        const response = await emulator.fetch(url, init);
        const headers = new Headers(response.headers);
        rewrite(headers, clock.now());
        return new Response(await response.text(), { status: response.status, headers });
      },
    });
    const service = await connector.connect({ baseUrl: emulator.publicUrl, tenantId: "acme" });
    emulator.journal.clear();
    expect((await service.call("listDevices")).ok).toBe(true);
    expect(emulator.journal.tokenRequests().length).toBeLessThanOrEqual(2);
    service.auth.invalidate(await service.auth.getAccessToken());
    emulator.journal.clear();
    expect((await service.call("listDevices")).ok).toBe(true);
    expect(emulator.journal.tokenRequests().length).toBe(1);
  });
});

const unusable: { name: string; rewrite: (headers: Headers, serverNow: number) => void }[] = [
  { name: "no Date", rewrite: (headers) => headers.delete("date") },
  { name: "a Date of garbage", rewrite: (headers) => headers.set("date", "yesterday, after lunch") },
  { name: "an empty Date", rewrite: (headers) => headers.set("date", "") },
  {
    name: "a Date of a cache, with Age",
    rewrite: (headers, serverNow) => {
      headers.set("date", new Date(serverNow - 7_200_000).toUTCString());
      headers.set("age", "7200");
    },
  },
];

describe.each(unusable)("$name", ({ rewrite }) => {
  test("teaches nothing: a right clock needs one request for each token, and no event is told", async () => {
    const { auth, requests, clockOff, expire } = clockDeployment({ rewrite });
    for (let token = 0; token < 3; token++) {
      await auth.getAccessToken();
      expect(requests()).toBe(1);
      await expire();
    }
    expect(clockOff()).toEqual([]);
  });

  test("leaves a wrong clock unknown: the refusal names it as one possible cause, and is not tried again", async () => {
    const { auth, requests } = clockDeployment({ rewrite, clientAheadSeconds: 300 });
    const error = await auth.getAccessToken().catch((reason: unknown) => reason);
    const { causes } = error as { causes: { id: string; evidence: string }[] };
    expect(causes.map(({ id }) => id)).toContain("clock_drift");
    expect(causes.find(({ id }) => id === "clock_drift")?.evidence).toMatch(/cannot be compared/);
    expect(requests()).toBe(1);
  });
});

test("a clock that a detection found to be off is told once, though no token was asked for yet", async () => {
  const clock = steppedClock();
  const emulator = deployment({ now: clock.now, variants: ["A"] });
  const events: ServiceEvent[] = [];
  const connector = createConnector({
    credentials: [plugin(), account()],
    now: () => clock.now() - 300_000,
    fetch: emulator.fetch,
    onEvent: (event) => void events.push(event),
  });
  const service = await connector.connect({ baseUrl: emulator.publicUrl, tenantId: "acme" });
  expect(events.filter(({ type }) => type === "clock_off")).toHaveLength(1);
  await service.auth.getAccessToken();
  expect(events.filter(({ type }) => type === "clock_off")).toHaveLength(1);
  expect(events.filter(({ type }) => type === "token_requested")).toHaveLength(1);
});
