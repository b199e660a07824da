// The server's clock, learnt from Date: a machine whose clock is off gets its token all the same.
import { decodeJwt } from "jose";
import { describe, expect, test } from "vitest";
import type { EmulatorOptions } from "../../src/emulator/index.js";
import { connect, createAuth, type ServiceEvent } from "../../src/index.js";
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

const offs = [0, 1, -1, 29, -29, 30, -30, 31, -31, 60, -60, 89, -89, 91, -91, 300, -300, 86_400, -86_400];

describe("a clock that is off by", () => {
  test.each(offs)("%i s: a token in at most two requests, and the next one in one", async (offSeconds) => {
    const { common, server, tokenRequests } = world({ offSeconds });
    const auth = createAuth({ ...common, credential: plugin() });
    auth.invalidate(await auth.getAccessToken());
    expect(tokenRequests().length).toBeLessThanOrEqual(2);
    const before = tokenRequests().length;
    server.advance(3_600_000);
    await auth.getAccessToken();
    expect(tokenRequests()).toHaveLength(before + 1);
  });

  test.each(offs)("%i s: after a detection, which shows the clock, in one", async (offSeconds) => {
    const { common, tokenRequests } = world({ offSeconds });
    const service = await connect({ ...common, credentials: [plugin(), account()] });
    await service.auth.getAccessToken();
    expect(tokenRequests()).toHaveLength(1);
  });

  test.each([300, -300])("%i s and no Date: refused, after one request", async (offSeconds) => {
    const { common, tokenRequests } = world({ offSeconds, dateOffSeconds: null });
    const error = await rejectionOf(createAuth({ ...common, credential: plugin() }).getAccessToken());
    expect(error).toMatchObject({ code: "token_refused", error: "invalid_client" });
    expect(tokenRequests()).toHaveLength(1);
  });

  test.each([300, -300])(
    "%i s and a Date that a cache kept (Age): it teaches nothing",
    async (offSeconds) => {
      const { common, tokenRequests, events } = world({ offSeconds, age: "0" });
      await rejectionOf(createAuth({ ...common, credential: plugin() }).getAccessToken());
      expect(tokenRequests()).toHaveLength(1);
      expect(events.map(({ type }) => type)).not.toContain("clock_off");
    },
  );
});

describe("what is learnt is applied beyond 15 s and told beyond 5 s", () => {
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

  test("half the round trip is part of the error", async () => {
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

describe("a proxy whose Date is wrong does not break a clock that is right", () => {
  const wrong = [20, -20, 31, -31, 40, -40, 60, -60, 85, -85, 95, -95, 300, -300, 86_400, -86_400];
  test.each(wrong)(
    "by %i s: every token is had, in at most two requests, and in one in the end",
    async (dateOffSeconds) => {
      const { common, server, tokenRequests } = world({ offSeconds: 0, dateOffSeconds });
      const auth = createAuth({ ...common, credential: plugin() });
      const counts: number[] = [];
      for (let rounds = 0; rounds < 4; rounds++) {
        const before = tokenRequests().length;
        await auth.getAccessToken();
        counts.push(tokenRequests().length - before);
        server.advance(3_600_000);
      }
      expect(Math.max(...counts)).toBeLessThanOrEqual(2);
      expect(counts.at(-1)).toBe(1);
    },
  );

  test.each(wrong)("by %i s, after a detection that learnt it first", async (dateOffSeconds) => {
    const { common, server, tokenRequests } = world({ offSeconds: 0, dateOffSeconds });
    const service = await connect({ ...common, credentials: [plugin(), account()] });
    for (let rounds = 0; rounds < 3; rounds++) {
      const before = tokenRequests().length;
      await service.auth.getAccessToken();
      expect(tokenRequests().length - before).toBeLessThanOrEqual(2);
      server.advance(3_600_000);
    }
  });
});

test("a machine whose clock is set right while it runs gets its next token", async () => {
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

test("a refusal for another reason is not tried again for the clock's sake", async () => {
  const { common, emulator, tokenRequests } = world({ offSeconds: 0 });
  emulator.updatePlugin({ clientId: "reporter-plugin", tenantId: "acme", enabled: false });
  const error = await rejectionOf(createAuth({ ...common, credential: plugin() }).getAccessToken());
  expect(error).toMatchObject({ error: "invalid_grant" });
  expect(tokenRequests()).toHaveLength(1);
});

test("a wrong key on a clock that is off costs two requests, not more", async () => {
  const { common, tokenRequests } = world({ offSeconds: 300 });
  const { pkcs8, otherRsaKey } = await import("../support/keys.js");
  const credential = plugin({ privateKey: pkcs8(otherRsaKey()) });
  const error = await rejectionOf(createAuth({ ...common, credential }).getAccessToken());
  expect(error).toMatchObject({ error: "invalid_client" });
  expect(tokenRequests()).toHaveLength(2);
});
