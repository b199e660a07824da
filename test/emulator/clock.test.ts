// One clock for tokens, codes, jti values, the rate window, headers and sessions; it moves forward
// and back.
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { createEmulator, type EmulatorClock } from "../../src/emulator/index.js";
import { ExpiringMap } from "../../src/emulator/state/expiring-map.js";
import { SlidingWindow } from "../../src/emulator/variant-a/sliding-window.js";
import { isSettled, settle } from "../support/wait.js";
import { PluginClient, reporter, START } from "./deployment.js";

/** The statuses of the answers after each move of the clock. */
async function statusesAfter(
  { emulator }: PluginClient,
  moves: readonly number[],
  send: () => Promise<Response>,
): Promise<number[]> {
  const statuses: number[] = [];
  for (const move of moves) {
    emulator.clock.advance(move);
    statuses.push((await send()).status);
  }
  return statuses;
}

describe("the clock", () => {
  test("is real time by default", () => {
    expect(Math.abs(createEmulator().clock.now() - Date.now())).toBeLessThan(10_000);
  });

  test("can be set, moved back, frozen, resumed and reset, and takes a Date of another realm", () => {
    let base = START;
    const { clock } = createEmulator({ now: () => base });
    clock.set("2030-01-01T00:00:00+01:00");
    base += 5;
    const set = Date.UTC(2029, 11, 31, 23) + 5;
    expect(clock.now()).toBe(set);
    clock.advance(-1005);
    clock.freeze();
    base += 1000;
    expect([clock.frozen, clock.now()]).toEqual([true, set - 1005]);
    clock.advance(1000);
    clock.resume();
    base += 1;
    expect([clock.frozen, clock.now()]).toEqual([false, set - 4]);
    clock.resume();
    expect(clock.now()).toBe(set - 4);
    clock.freeze(runInNewContext(`new Date(${START})`));
    expect(clock.now()).toBe(START);
    clock.reset();
    expect(clock.now()).toBe(base);
  });

  test("stops at the end of Date's range, and sets the Date header", async () => {
    let now = START;
    const { clock, fetch } = createEmulator({ now: () => now });
    clock.set(8.64e15);
    now += 60_000;
    expect(clock.now()).toBe(8.64e15);
    const date = (await fetch("/v1/devices")).headers.get("date");
    expect(date).toBe("Sat, 13 Sep 275760 00:00:00 GMT");
    clock.set(-8.64e15);
    now -= 120_000;
    expect(clock.now()).toBe(-8.64e15);
  });
});

describe("a sleep on the clock", () => {
  const moves: { name: string; move: (clock: EmulatorClock, to: number) => void }[] = [
    { name: "advance", move: (clock, to) => clock.advance(to - clock.now()) },
    { name: "set", move: (clock, to) => clock.set(to) },
    { name: "freeze", move: (clock, to) => clock.freeze(to) },
  ];
  test.each(moves)("ends when $name moves the clock that far", async ({ move }) => {
    const { clock } = createEmulator({ now: () => START });
    const sleep = clock.sleep(30_000);
    move(clock, START + 29_999);
    expect(await isSettled(sleep)).toBe(false);
    move(clock, START + 30_000);
    expect(await isSettled(sleep)).toBe(true);
  });

  test("ends after its time in real time, also while the clock is frozen", async () => {
    const { clock } = createEmulator();
    clock.freeze(START);
    await clock.sleep(20);
    expect(clock.now()).toBe(START);
  });

  test("rejects with the reason of its signal, before or during the sleep", async () => {
    const { clock } = createEmulator();
    await expect(clock.sleep(30_000, AbortSignal.abort("early"))).rejects.toBe("early");
    const controller = new AbortController();
    const sleep = clock.sleep(30_000, controller.signal);
    controller.abort("late");
    await expect(sleep).rejects.toBe("late");
  });

  test("is skipped by skipSleep, which waits for one to begin and ends the shortest", async () => {
    const { clock } = createEmulator({ now: () => START });
    const skipped = clock.skipSleep();
    await settle();
    const sleeps = [clock.sleep(2000), clock.sleep(1000)];
    expect([await skipped, await clock.skipSleep()]).toEqual([1000, 1000]);
    await Promise.all(sleeps);
  });

  test("is reported by skipSleep when none begins in time, with what may be wrong", async () => {
    const late = createEmulator().clock.skipSleep({ timeoutMs: 5 });
    await expect(late).rejects.toMatchObject({
      code: "sleep_timeout",
      message: expect.stringMatching(/within 5 ms\. .*option `clock`.* `slow` waits in real time/),
    });
  });
});

test("a token that expired is accepted again after a step back", async () => {
  const plugin = new PluginClient();
  const token = await plugin.pluginToken();
  const moves = [3_599_999, 1, -1, -3_600_000];
  const statuses = await statusesAfter(plugin, moves, () => plugin.call(token));
  expect(statuses).toEqual([200, 401, 200, 200]);
});

test.each([0, 60_000])(
  "a grant narrowed after %d ms is not widened when the clock is set back",
  async (narrowingDelayMs) => {
    const plugin = new PluginClient({ narrowingDelayMs });
    const token = await plugin.pluginToken();
    plugin.emulator.clock.advance(3_000_000);
    plugin.emulator.updatePlugin({ ...reporter, scopes: [] });
    const moves = [0, -1, -2_999_999, 3_000_000 + narrowingDelayMs];
    const statuses = await statusesAfter(plugin, moves, () => plugin.call(token));
    expect(statuses).toEqual([narrowingDelayMs === 0 ? 403 : 200, 403, 403, 403]);
  },
);

describe("a jti", () => {
  test("cannot be used again while its assertion is still valid, even if the clock is set back", async () => {
    const plugin = new PluginClient();
    const iat = START / 1000;
    const form = plugin.form({ claims: { iat, exp: iat + 300 } });
    expect((await plugin.postForm(form)).status).toBe(200);
    for (const move of [0, 330_000, -330_000, -20_000]) {
      plugin.emulator.clock.advance(move);
      await plugin.postForm(form);
      expect({ move, rule: plugin.lastRule() }).toEqual({ move, rule: "assertion.replay" });
    }
  });

  test("is forgotten after its end, and not before, once 1024 of them are stored", () => {
    const use = (others: number) => {
      let now = START;
      const ids = new ExpiringMap({ clock: () => now, memoryMs: 0 });
      ids.set("first", { expiresAt: START + 360_000 });
      now += 3_600_000;
      for (let at = 0; at < others; at++) ids.set(`${at}`, { expiresAt: now + 3_600_000 });
      return ["first", "0"].map((id) => ids.find(id) !== undefined);
    };
    expect(use(1022)).toEqual([true, true]);
    expect(use(1023)).toEqual([false, true]);
  });
});

describe("the rate window", () => {
  test("after a step back does not count requests that are now in the future", async () => {
    const plugin = new PluginClient({ rateLimit: { requests: 2, windowSeconds: 60 } });
    plugin.emulator.clock.advance(3_600_000);
    await plugin.requestToken();
    const moves = [-3_600_000, 0, 0, 60_000];
    const statuses = await statusesAfter(plugin, moves, () => plugin.requestToken());
    expect(statuses).toEqual([200, 200, 429, 200]);
  });

  test("of a tenant outlives the requests of 1100 other tenants", () => {
    const window = new SlidingWindow(() => START);
    const take = (tenantId: string) =>
      window.takeSlot(tenantId, { requests: 1, windowSeconds: 60 }, START);
    expect(take("acme")).toBeUndefined();
    for (let index = 0; index < 1100; index++) take(`tenant-${index}`);
    expect(take("acme")).toBe(START + 60_000);
  });
});
