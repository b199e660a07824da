// The server's clock, learnt from Date: a machine with a wrong clock gets its token all the same.
import { decodeJwt } from "jose";
import { describe, expect, test } from "vitest";
import type { EmulatorOptions } from "../../src/emulator/index.js";
import { createAuth, createConnector, type ServiceEvent } from "../../src/index.js";
import { clockDeployment } from "../lifecycle/clock-deployment.js";
import { START, type SteppedClock, steppedClock } from "../support/clock.js";
import { account, deployment, plugin } from "../support/deployment.js";
import { type FetchCall, scriptedFetch } from "../support/fetch.js";
import { rejectionOf } from "../support/wait.js";

interface World {
  /** By how much this machine's clock is ahead of the service's, in seconds. */
  readonly offSeconds: number;
  /** What a proxy does to the Date header, in seconds; null removes it. */
  readonly dateOffSeconds?: number | null;
  readonly age?: string;
  readonly emulator?: EmulatorOptions;
}

function world({ offSeconds, dateOffSeconds = 0, age, emulator: options }: World) {
  const server: SteppedClock = steppedClock(START);
  const now = () => server.now() + offSeconds * 1000;
  const emulator = deployment({ variants: ["A"], now: server.now, ...options });
  const fetch = scriptedFetch(async ({ url, init }: FetchCall) => {
    const answer = await emulator.fetch(url, init);
    const headers = new Headers(answer.headers);
    if (dateOffSeconds === null) headers.delete("date");
    else headers.set("date", new Date(server.now() + dateOffSeconds * 1000).toUTCString());
    if (age !== undefined) headers.set("age", age);
    return new Response(await answer.text(), { status: answer.status, headers });
  });
  const events: ServiceEvent[] = [];
  const onEvent = (event: ServiceEvent) => void events.push(event);
  const common = { baseUrl: "http://service.localhost", tenantId: "acme", fetch, now, onEvent };
  const tokenRequests = () => fetch.calls.filter(({ body }) => body.includes("client_assertion"));
  const issuedAt = () =>
    tokenRequests().map(({ body }) => decodeJwt(new URLSearchParams(body).get("client_assertion") ?? "").iat);
  return { server, now, emulator, fetch, events, common, tokenRequests, issuedAt };
}

describe("a clock offset is applied beyond 15 s and reported beyond 5 s", () => {
  const rows = [
    { offSeconds: 3, applied: false, told: false },
    { offSeconds: -3, applied: false, told: false },
    { offSeconds: 8, applied: false, told: true },
    { offSeconds: -8, applied: false, told: true },
    { offSeconds: 20, applied: true, told: true },
    { offSeconds: -20, applied: true, told: true },
  ];
  test.each(rows)("off by $offSeconds s", async ({ offSeconds, applied, told }) => {
    const { common, server, events, issuedAt, now } = world({ offSeconds });
    const auth = createAuth({ ...common, credential: plugin() });
    auth.invalidate(await auth.getAccessToken());
    await auth.getAccessToken();
    const [first, second] = issuedAt();
    expect(first).toBe(Math.floor(now() / 1000));
    const expected = (applied ? server.now() : now()) / 1000;
    expect(Math.abs((second ?? 0) - expected)).toBeLessThanOrEqual(1);
    const events_ = events.filter(({ type }) => type === "clock_off");
    expect(events_).toHaveLength(told ? 1 : 0);
    if (told) {
      const [event] = events_ as { offsetMs: number; errorMs: number }[];
      expect(Math.abs((event?.offsetMs ?? 0) + offSeconds * 1000)).toBeLessThanOrEqual(event?.errorMs ?? 0);
    }
  });

  test("the reported error includes half the round trip", async () => {
    const { common, server, events, fetch } = world({ offSeconds: 600 });
    const slow = async (url: string, init?: RequestInit) => {
      const answer = await fetch(url, init);
      server.advance(4_000);
      return answer;
    };
    await createAuth({ ...common, fetch: slow, credential: plugin() }).getAccessToken();
    const event = events.find(({ type }) => type === "clock_off") as { offsetMs: number; errorMs: number };
    expect(event.errorMs).toBe(3_000);
    expect(Math.abs(event.offsetMs + 600_000)).toBeLessThanOrEqual(event.errorMs);
  });
});

test("a machine whose clock is corrected while it runs gets its next token", async () => {
  let offSeconds = 300;
  const { common, server, tokenRequests } = world({ offSeconds: 0 });
  const now = () => server.now() + offSeconds * 1000;
  const auth = createAuth({ ...common, now, credential: plugin() });
  auth.invalidate(await auth.getAccessToken());
  auth.invalidate(await auth.getAccessToken());
  offSeconds = 0;
  const before = tokenRequests().length;
  await auth.getAccessToken();
  expect(tokenRequests().length - before).toBeLessThanOrEqual(2);
});

test("a refusal with another error than invalid_client is not retried with another clock", async () => {
  const { common, emulator, tokenRequests } = world({ offSeconds: 0 });
  emulator.updatePlugin({ clientId: "reporter-plugin", tenantId: "acme", enabled: false });
  const error = await rejectionOf(createAuth({ ...common, credential: plugin() }).getAccessToken());
  expect(error).toMatchObject({ error: "invalid_grant" });
  expect(tokenRequests()).toHaveLength(1);
});

describe("a machine with a wrong clock", () => {
  const offsets = [1, 29, 31, 300, 86_400].flatMap((seconds) => [seconds, -seconds]);

  describe.each(offsets)("a clock that is %i s ahead of the service's", (clientAheadSeconds) => {
    test("needs at most two token requests at first, one for each renewal, and one event beyond 5 s", async () => {
      const deployed = clockDeployment({ clientAheadSeconds });
      const { auth, requests, clockOff, expire } = deployed;
      expect((await auth.getAccessToken()).value).not.toBe("");
      expect(requests()).toBeLessThanOrEqual(2);
      for (let renewal = 0; renewal < 3; renewal++) {
        await expire();
        await auth.getAccessToken();
        expect(requests()).toBe(1);
      }
      const told = clockOff().map(
        (event) => event.type === "clock_off" && Math.round(event.offsetMs / 1_000),
      );
      expect(told).toHaveLength(Math.abs(clientAheadSeconds) > 5 ? 1 : 0);
      for (const offset of told) expect(Math.abs(Number(offset) + clientAheadSeconds)).toBeLessThanOrEqual(1);
    });

    test("is corrected again after the machine's clock was right for a while", async () => {
      const { auth, requests, expire, setAhead } = clockDeployment({});
      await auth.getAccessToken();
      requests();
      await expire();
      setAhead(clientAheadSeconds);
      auth.invalidate(await auth.getAccessToken());
      requests();
      await auth.getAccessToken();
      expect(requests()).toBeLessThanOrEqual(2);
    });
  });

  test("with a wrong Date and a wrong key a refusal is retried only once", async () => {
    const { auth, requests } = clockDeployment({
      clientAheadSeconds: 300,
      key: { audience: "https://elsewhere.example" },
    });
    await expect(auth.getAccessToken()).rejects.toMatchObject({ name: "TokenRequestError" });
    expect(requests()).toBe(2);
  });

  test("a clock that drifts is reported beyond 5 s, and again 5 s further", async () => {
    const { auth, clockOff, expire, setAhead } = clockDeployment({});
    for (let hour = 0; hour <= 12; hour++) {
      setAhead(hour);
      await auth.getAccessToken();
      await expire();
    }
    expect(clockOff()).toHaveLength(2);
  });

  test("clock_off reports by how much the server's clock is ahead, within its error", async () => {
    const { auth, clockOff } = clockDeployment({ clientAheadSeconds: -300 });
    await auth.getAccessToken();
    expect(clockOff()).toMatchObject([{ type: "clock_off", variant: "A", tenantId: "acme", errorMs: 1_000 }]);
    const [event] = clockOff();
    expect(event?.type === "clock_off" && Math.abs(event.offsetMs - 300_000)).toBeLessThanOrEqual(1_000);
  });
});

describe("a wrong Date", () => {
  const wrongBySeconds = [16, 29, 31, 40, 89, 91, 300, 86_400].flatMap((seconds) => [seconds, -seconds]);

  describe.each(wrongBySeconds)("a Date that is wrong by %i s, with a right clock", (seconds) => {
    const rewrite = (headers: Headers, serverNow: number) =>
      headers.set("date", new Date(serverNow + seconds * 1_000).toUTCString());

    test("fails no token: one request at first, at most two for one renewal, then one each", async () => {
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

    test("learnt from a detection costs at most one more request", async () => {
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
    test("teaches nothing: a right clock needs one request for each token and emits no event", async () => {
      const { auth, requests, clockOff, expire } = clockDeployment({ rewrite });
      for (let token = 0; token < 3; token++) {
        await auth.getAccessToken();
        expect(requests()).toBe(1);
        await expire();
      }
      expect(clockOff()).toEqual([]);
    });

    test("leaves a wrong clock unknown: the refusal names it as a possible cause and is not retried", async () => {
      const { auth, requests } = clockDeployment({ rewrite, clientAheadSeconds: 300 });
      const error = await auth.getAccessToken().catch((reason: unknown) => reason);
      const { causes } = error as { causes: { id: string; evidence: string }[] };
      expect(causes.map(({ id }) => id)).toContain("clock_drift");
      expect(causes.find(({ id }) => id === "clock_drift")?.evidence).toMatch(/cannot be compared/);
      expect(requests()).toBe(1);
    });
  });

  test("a wrong clock that a detection shows is reported once, before any token request", async () => {
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
});
