// The emulator's clock in hand: one clock for everything, moved at once, forward and back.
import { describe, expect, test } from "vitest";
import { createEmulator } from "../../src/emulator/index.js";
import { UsedAssertionIds } from "../../src/emulator/stores.js";
import { LaunchedPlugin, PluginClient, START } from "./plugin-client.js";
import { Portal } from "./portal.js";

describe("the clock", () => {
  test("is real time by default", () => {
    const before = Date.now();
    const now = createEmulator().clock.now();
    expect(now).toBeGreaterThanOrEqual(before);
    expect(now).toBeLessThanOrEqual(Date.now());
  });

  test("is put to an instant, runs on from there, is moved back, frozen, resumed and reset", () => {
    let base = START;
    const { clock } = createEmulator({ now: () => base });
    clock.set("2030-01-01T00:00:00+01:00");
    base += 5;
    expect(clock.now()).toBe(Date.UTC(2029, 11, 31, 23) + 5);
    clock.advance(-1005);
    expect(clock.now()).toBe(Date.UTC(2029, 11, 31, 22, 59, 59));
    clock.freeze();
    base += 1000;
    expect([clock.frozen, clock.now()]).toEqual([true, Date.UTC(2029, 11, 31, 22, 59, 59)]);
    clock.advance(1000);
    clock.resume();
    base += 1;
    expect([clock.frozen, clock.now()]).toEqual([false, Date.UTC(2029, 11, 31, 23) + 1]);
    clock.freeze(new Date(START));
    clock.set(START + 7);
    expect(clock.now()).toBe(START + 7);
    clock.reset();
    expect(clock.now()).toBe(base);
  });

  test.each([
    { name: "an instant that is NaN", use: (clock: Clock) => clock.set(Number.NaN) },
    { name: "an instant beyond what a Date reaches", use: (clock: Clock) => clock.set(8.64e15 + 1) },
    { name: "a string without a time zone", use: (clock: Clock) => clock.set("2026-01-01T00:00:00") },
    { name: "a date that does not exist", use: (clock: Clock) => clock.freeze("2026-13-01T00:00:00Z") },
    { name: "an advance that is no number", use: (clock: Clock) => clock.advance("1" as unknown as number) },
    { name: "an advance out of reach", use: (clock: Clock) => clock.advance(Number.POSITIVE_INFINITY) },
  ])("refuses $name and stays where it is", ({ use }) => {
    const { clock } = createEmulator({ now: () => START });
    expect(() => use(clock)).toThrow(expect.objectContaining({ code: "option_invalid" }));
    expect(clock.now()).toBe(START);
  });
});

test("a clock that runs stays at the end of time, where Date is still a date", async () => {
  let now = START;
  const { clock, fetch } = createEmulator({ now: () => now });
  clock.set(8.64e15);
  now += 60_000;
  expect(clock.now()).toBe(8.64e15);
  expect((await fetch("/v1/devices")).headers.get("date")).toBe("Sat, 13 Sep 275760 00:00:00 GMT");
});

type Clock = ReturnType<typeof createEmulator>["clock"];

describe("one clock holds for", () => {
  test("tokens, forward and back", async () => {
    const plugin = new PluginClient();
    const { clock } = plugin.emulator;
    const token = await plugin.accessToken();
    const statuses: number[] = [];
    for (const move of [3_599_999, 1, -1, -3_600_000]) {
      clock.advance(move);
      statuses.push((await plugin.call(token)).status);
    }
    expect(statuses).toEqual([200, 401, 200, 200]);
  });

  test.each([
    { name: "at once", narrowingDelayMs: 0 },
    { name: "after a while", narrowingDelayMs: 60_000 },
  ])("grants: one that was narrowed $name is not revived by a step back", async ({ narrowingDelayMs }) => {
    const plugin = new PluginClient({ narrowingDelayMs });
    const { clock } = plugin.emulator;
    const token = await plugin.accessToken();
    clock.advance(3_000_000);
    plugin.emulator.updatePlugin({ tenantId: "acme", clientId: "reporter", scopes: [] });
    const statuses: number[] = [];
    for (const move of [0, -1, -2_999_999, 3_000_000 + narrowingDelayMs]) {
      clock.advance(move);
      statuses.push((await plugin.call(token)).status);
    }
    expect(statuses).toEqual([narrowingDelayMs === 0 ? 403 : 200, 403, 403, 403]);
  });

  test("codes of a launch, two minutes", async () => {
    const plugin = new LaunchedPlugin();
    for (const [age, status] of [
      [120_000, 200],
      [120_001, 400],
    ] as const) {
      const launched = plugin.launchedCode();
      plugin.emulator.clock.advance(age);
      expect({ age, status: (await plugin.exchange(launched)).status }).toEqual({ age, status });
    }
  });

  test("jti values: a replay is refused as long as its assertion would be young enough, also after a step back", async () => {
    const plugin = new PluginClient();
    const { clock } = plugin.emulator;
    const iat = START / 1000;
    const form = plugin.form({ claims: { iat, exp: iat + 300 } });
    expect((await plugin.post(form)).status).toBe(200);
    for (const move of [0, 330_000, -330_000, -20_000]) {
      clock.advance(move);
      expect({ move, status: (await plugin.post(form)).status }).toEqual({ move, status: 400 });
      expect({ move, rule: plugin.lastRule() }).toEqual({ move, rule: "assertion.replay" });
    }
  });

  test("jti values, forgotten after their end only once 1024 of them are held", () => {
    const use = (others: number) => {
      const ids = new UsedAssertionIds();
      const one = (jti: string, now: number) =>
        ids.use({ tenantId: "acme", clientId: "reporter", jti }, now + 360_000, now);
      one("first", START);
      for (let index = 0; index < others; index++) one(`${index}`, START + 3_600_000);
      return one("first", START);
    };
    expect([use(1022), use(1023)]).toEqual([false, true]);
  });

  test("the rate window and Retry-After", async () => {
    const plugin = new PluginClient({ rateLimit: { requests: 1, windowSeconds: 60 } });
    const { clock } = plugin.emulator;
    await plugin.requestToken();
    clock.advance(45_000);
    expect((await plugin.requestToken()).headers.get("retry-after")).toBe("15");
    clock.advance(15_000);
    expect((await plugin.requestToken()).status).toBe(200);
  });

  test("the rate window: what was admitted later than now takes no slot", async () => {
    const plugin = new PluginClient({ rateLimit: { requests: 2, windowSeconds: 60 } });
    const { clock } = plugin.emulator;
    clock.advance(3_600_000);
    await plugin.requestToken();
    const statuses: number[] = [];
    for (const move of [-3_600_000, 0, 0, 60_000]) {
      clock.advance(move);
      statuses.push((await plugin.requestToken()).status);
    }
    expect(statuses).toEqual([200, 200, 429, 200]);
  });

  test("the Date header", async () => {
    const { clock, fetch } = createEmulator();
    clock.freeze("2031-05-06T07:08:09Z");
    expect((await fetch("/v1/devices")).headers.get("date")).toBe("Tue, 06 May 2031 07:08:09 GMT");
  });

  test("refresh tokens and the sessions of the pages", async () => {
    const portal = new Portal({ refreshTokens: { idleSeconds: 100 } });
    const { refresh_token: first } = await portal.tokens();
    portal.emulator.clock.advance(99_999);
    const { refresh_token: second } = await portal.tokens(await portal.refresh(first));
    portal.emulator.clock.advance(100_000);
    expect((await portal.refresh(second)).status).toBe(400);
    expect(portal.lastRule()).toBe("refresh.idle");
  });
});
