// The client learns the server's clock from Date, so that a machine with a wrong clock gets its
// token all the same.
import { decodeJwt } from "jose";
import { describe, expect, test } from "vitest";
import type { Emulator } from "../../src/emulator/index.js";
import { createConnector, type Fetch, type ServiceEvent } from "../../src/index.js";
import { recordedAuth, scriptedAuth } from "../support/auth.js";
import { type SteppedClock, steppedClock } from "../support/clock.js";
import { account, deployment, plugin } from "../support/deployment.js";
import { type FetchCall, tokenAnswer } from "../support/fetch.js";
import { rejectionOf } from "../support/wait.js";

type Rewrite = (headers: Headers, serverNow: number) => void;

/** Changes the headers of answers, as a proxy may. */
function rewriting({ fetch }: Emulator, { now }: SteppedClock, rewrite: Rewrite = () => {}): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    const headers = new Headers(response.headers);
    rewrite(headers, now());
    return new Response(await response.text(), { status: response.status, headers });
  };
}

interface ClockOptions {
  /** How far this machine's clock is ahead of the service. */
  readonly clientAheadSeconds?: number;
  readonly rewrite?: Rewrite;
  readonly key?: Parameters<typeof plugin>[0];
  /** How long each answer takes. */
  readonly latencyMs?: number;
}

/**
 * An emulated deployment with a clock and a Date header that may differ from the client's clock.
 */
function clockDeployment({ clientAheadSeconds = 0, rewrite, key, latencyMs = 0 }: ClockOptions) {
  const server = steppedClock();
  let aheadMs = clientAheadSeconds * 1_000;
  const now = () => server.now() + aheadMs;
  const emulator = deployment({ now: server.now, variants: ["A"] });
  const issuedAt: number[] = [];
  const { auth, events } = recordedAuth({
    baseUrl: emulator.publicUrl,
    credential: plugin(key),
    clock: { now },
    async fetch(url, init) {
      const form = new URLSearchParams(String(init?.body));
      issuedAt.push(decodeJwt(form.get("client_assertion") ?? "").iat ?? 0);
      const response = await rewriting(emulator, server, rewrite)(url, init);
      server.advance(latencyMs);
      return response;
    },
  });
  return {
    auth,
    server,
    now,
    issuedAt,
    setAhead: (seconds: number) => {
      aheadMs = seconds * 1_000;
    },
    /** The number of token requests since the last call. */
    requests: () => {
      const count = emulator.journal.tokenRequests().length;
      emulator.journal.clear();
      return count;
    },
    clockOff: () => events.flatMap((event) => (event.type === "clock_off" ? [event] : [])),
    /** Advances the clock past the expiry of the held token. */
    async expire() {
      const { expiresAt } = await auth.getAccessToken();
      server.advance(expiresAt - now());
    },
  };
}

describe("the server's clock is applied only beyond 15 s", () => {
  test.each([8, -8, 20, -20])("off by %i s", async (clientAheadSeconds) => {
    const { auth, server, now, issuedAt } = clockDeployment({ clientAheadSeconds });
    auth.invalidate(await auth.getAccessToken());
    await auth.getAccessToken();
    expect(issuedAt[0]).toBe(Math.floor(now() / 1000));
    const expected = (Math.abs(clientAheadSeconds) > 15 ? server.now() : now()) / 1000;
    expect(Math.abs((issuedAt[1] ?? 0) - expected)).toBeLessThanOrEqual(1);
  });
});

test("the error of a reported offset includes half the round trip", async () => {
  const { auth, clockOff } = clockDeployment({ clientAheadSeconds: 60, latencyMs: 4_000 });
  await auth.getAccessToken();
  expect(clockOff()[0]?.errorMs).toBe(3_000);
});

test("a Date header that becomes wrong after a correction costs one refusal, and then is ignored", async () => {
  let aheadMs = 20_000;
  const answer = ({ body }: FetchCall, index: number) => {
    const headers = { date: new Date(clock.now() + aheadMs).toUTCString() };
    if (index === 2) return new Response("", { status: 503, headers });
    const { iat = 0 } = decodeJwt(new URLSearchParams(body).get("client_assertion") ?? "");
    if (Math.abs(iat * 1_000 - clock.now() - 20_000) <= 30_000)
      return tokenAnswer(`token-${index}`, 3_600, headers);
    return Response.json({ error: "invalid_client" }, { status: 400, headers });
  };
  const { auth, clock } = scriptedAuth("A", answer);
  for (let token = 0; token < 2; token++) auth.invalidate(await auth.getAccessToken());
  aheadMs = 300_000;
  clock.skipSleeps();
  expect((await auth.getAccessToken()).value).toBe("token-4");
});

describe("a machine with a wrong clock", () => {
  test.each([1, -29, 31, -100, -300, 86_400])(
    "that is %i s ahead needs at most two token requests at first and one for each renewal, and emits one event if the offset exceeds 5 s",
    async (clientAheadSeconds) => {
      const { auth, requests, clockOff, expire } = clockDeployment({ clientAheadSeconds });
      expect((await auth.getAccessToken()).value).not.toBe("");
      expect(requests()).toBeLessThanOrEqual(2);
      for (let renewal = 0; renewal < 3; renewal++) {
        await expire();
        await auth.getAccessToken();
        expect(requests()).toBe(1);
      }
      const reported = clockOff().map(({ offsetMs }) => Math.round(offsetMs / 1_000));
      expect(reported).toHaveLength(Math.abs(clientAheadSeconds) > 5 ? 1 : 0);
      for (const offset of reported)
        expect(Math.abs(offset + clientAheadSeconds)).toBeLessThanOrEqual(1);
    },
  );

  test.each([300, -86_400])(
    "that is %i s ahead is corrected after it was right for a while",
    async (seconds) => {
      const { auth, requests, expire, setAhead } = clockDeployment({});
      await auth.getAccessToken();
      await expire();
      setAhead(seconds);
      auth.invalidate(await auth.getAccessToken());
      requests();
      await auth.getAccessToken();
      expect(requests()).toBeLessThanOrEqual(2);
    },
  );

  test("that is set back during a token request is corrected at the next one", async () => {
    const rig = clockDeployment({
      // Between the sending of the first request and its answer.
      rewrite: () => rig.issuedAt.length === 1 && rig.setAhead(-176),
    });
    await rig.auth.getAccessToken();
    for (let renewal = 0; renewal < 2; renewal++) {
      await rig.expire();
      await expect(rig.auth.getAccessToken()).resolves.toBeDefined();
    }
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
});

describe("a wrong Date", () => {
  const dateOff =
    (seconds: number): Rewrite =>
    (headers, serverNow) =>
      headers.set("date", new Date(serverNow + seconds * 1_000).toUTCString());

  test.each([16, -31, 89, -91, 300, -86_400])(
    "by %i s fails no token: one request at first, at most two for one renewal, then one each",
    async (seconds) => {
      const { auth, requests, expire } = clockDeployment({ rewrite: dateOff(seconds) });
      await auth.getAccessToken();
      const counts = [requests()];
      for (let renewal = 0; renewal < 4; renewal++) {
        await expire();
        await auth.getAccessToken();
        counts.push(requests());
      }
      expect(counts).toEqual([1, expect.toSatisfy((count) => count <= 2), 1, 1, 1]);
    },
  );

  test.each([40, -300])(
    "by %i s that is learnt from a detection costs at most one more request",
    async (seconds) => {
      const clock = steppedClock();
      const emulator = deployment({ now: clock.now, variants: ["A"] });
      const connector = createConnector({
        credentials: [plugin(), account()],
        clock,
        fetch: rewriting(emulator, clock, dateOff(seconds)),
      });
      const service = await connector.connect({ baseUrl: emulator.publicUrl, tenantId: "acme" });
      for (const most of [2, 1]) {
        emulator.journal.clear();
        service.auth.invalidate(await service.auth.getAccessToken());
        expect(emulator.journal.tokenRequests().length).toBeLessThanOrEqual(most);
      }
    },
  );

  test.each<{ name: string; rewrite: Rewrite }>([
    { name: "no Date", rewrite: (headers) => headers.delete("date") },
    { name: "a Date of garbage", rewrite: (headers) => headers.set("date", "after lunch") },
    {
      name: "a Date of a cache, with Age",
      rewrite: (headers, serverNow) => {
        headers.set("date", new Date(serverNow - 7_200_000).toUTCString());
        headers.set("age", "7200");
      },
    },
  ])("$name is ignored, and does not reveal a wrong clock", async ({ rewrite }) => {
    const right = clockDeployment({ rewrite });
    for (let token = 0; token < 3; token++) {
      await right.auth.getAccessToken();
      expect(right.requests()).toBe(1);
      await right.expire();
    }
    expect(right.clockOff()).toEqual([]);

    const wrong = clockDeployment({ rewrite, clientAheadSeconds: 300 });
    const evidence = expect.stringMatching(/cannot be compared/);
    const drift = expect.objectContaining({ id: "clock_drift", evidence });
    expect(await rejectionOf(wrong.auth.getAccessToken())).toMatchObject({
      causes: expect.arrayContaining([drift]),
    });
    expect(wrong.requests()).toBe(1);
  });

  test("a wrong clock that a detection shows is reported once, before any token request", async () => {
    const clock = steppedClock();
    const emulator = deployment({ now: clock.now, variants: ["A"] });
    const events: ServiceEvent[] = [];
    const connector = createConnector({
      credentials: [plugin(), account()],
      clock: { now: () => clock.now() - 300_000 },
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
