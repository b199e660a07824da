// The server's clock, learnt from Date: a machine whose clock is off gets its token all the same.
import { decodeJwt } from "jose";
import { describe, expect, test } from "vitest";
import type { EmulatorOptions } from "../../src/emulator/index.js";
import { createAuth, type ServiceEvent } from "../../src/index.js";
import { START, type SteppedClock, steppedClock } from "../support/clock.js";
import { deployment, plugin } from "../support/deployment.js";
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

const _offs = [0, 1, -1, 29, -29, 30, -30, 31, -31, 60, -60, 89, -89, 91, -91, 300, -300, 86_400, -86_400];

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
