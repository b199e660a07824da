// The option `clock`: what fake timers, `{ now }`, the clock of the emulator and a complete clock
// each end.
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { RateLimitGate } from "../../src/auth/request/rate-limit-gate.js";
import { deadlineIn, resolveClock } from "../../src/clock.js";
import { createEmulator } from "../../src/emulator/index.js";
import {
  type CreateAuthOptions,
  createService,
  memoryStore,
  type ServiceEvent,
} from "../../src/index.js";
import { type RedisClient, redisStore } from "../../src/stores/redis.js";
import { latch } from "../people/person.js";
import { scriptedAuth } from "../support/auth.js";
import { START, steppedClock } from "../support/clock.js";
import { type FetchScript, noAnswer, tokenAnswer } from "../support/fetch.js";
import { isSettled, rejectionOf, settle } from "../support/wait.js";

const limited = (headers: HeadersInit = {}) => new Response("", { status: 429, headers });

/** Fakes the timers of this machine, and not `Date`. Returns a function that lets time pass. */
function fakeTimers() {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"], now: START });
  onTestFinished(() => void vi.useRealTimers());
  return async (ms: number) => {
    await settle();
    for (let left = ms; left > 0; left -= 500) {
      await vi.advanceTimersByTimeAsync(Math.min(left, 500));
      await settle();
    }
  };
}

/** A clock of the emulator, which a test steps. */
function frozenClock(at = START) {
  const { clock } = createEmulator({ now: () => at });
  clock.freeze();
  return clock;
}

describe("a machine whose clock jumps", () => {
  const jumps = [3_600_000, -3_600_000];

  test.each(jumps)(
    "by %d ms sends again after Retry-After, neither sooner nor later",
    async (jumpMs) => {
      const { auth, clock, fetch } = scriptedAuth("B", (_call, index) =>
        index === 0 ? limited({ "retry-after": "30" }) : tokenAnswer(),
      );
      const token = auth.getAccessToken();
      await clock.pass(1_000);
      clock.correct(jumpMs);
      await clock.pass(28_999);
      auth.getAccessToken();
      await settle();
      expect(fetch.calls).toHaveLength(1);
      await clock.pass(3_001);
      expect((await token).value).toBe("token-1");
    },
  );

  test.each(jumps)("by %d ms says when to ask again, by its new time", async (jumpMs) => {
    const { auth, clock } = scriptedAuth("B", () => limited({ "retry-after": "30" }), {
      retryDeadlineMs: 0,
    });
    const asked = async () => {
      const { retryAt } = (await rejectionOf(auth.getAccessToken())) as { retryAt: number };
      return retryAt - clock.now();
    };
    const waitMs = await asked();
    clock.correct(jumpMs);
    expect(await asked()).toBe(waitMs);
  });

  test.each(jumps)(
    "by %d ms keeps the deadline of a call, and the pause after a refusal",
    async (jumpMs) => {
      const refusal = () => Response.json({ error: "invalid_client" }, { status: 401 });
      const { auth, clock, fetch } = scriptedAuth("B", (_call, index) =>
        index < 2 ? refusal() : limited(),
      );
      await rejectionOf(auth.getAccessToken());
      clock.correct(jumpMs);
      await rejectionOf(auth.getAccessToken());
      expect(fetch.calls).toHaveLength(1);
      clock.advance(1_000);
      await rejectionOf(auth.getAccessToken());
      clock.advance(2_000);
      const call = auth.getAccessToken();
      await clock.pass(1_000);
      clock.correct(jumpMs);
      await clock.pass(10_000);
      expect(await isSettled(call.catch(() => {}))).toBe(false);
      await clock.pass(49_000);
      expect(await rejectionOf(call)).toMatchObject({ code: "rate_limited" });
    },
  );
});

const frozen = (script: FetchScript, options: Partial<CreateAuthOptions> = {}) =>
  scriptedAuth("B", script, { clock: { now: () => START }, ...options });

describe("a clock of only a frozen `now`", () => {
  test("without Retry-After the waits double, and the deadline ends them", async () => {
    const pass = fakeTimers();
    const { auth, fetch } = frozen(() => limited());
    const ended = rejectionOf(auth.getAccessToken());
    await pass(60_000);
    expect(await ended).toMatchObject({ code: "rate_limited" });
    expect(fetch.calls).toHaveLength(5);
  });

  test("a renewal that failed in the background is tried again", async () => {
    const pass = fakeTimers();
    let at = START;
    const script: FetchScript = (_call, index) => (index === 1 ? limited() : tokenAnswer());
    const { auth, fetch } = frozen(script, { clock: { now: () => at } });
    at = (await auth.getAccessToken()).expiresAt - 1;
    for (let times = 0; times < 2; times++) {
      await auth.getAccessToken();
      await pass(3_000);
    }
    expect(fetch.calls).toHaveLength(3);
  });
});

describe("a clock without timers", () => {
  test("a wait ends by real time if the clock never ends it, and then aborts the clock's sleep", async () => {
    const pass = fakeTimers();
    const signals: AbortSignal[] = [];
    const sleep = (_ms: number, signal: AbortSignal) =>
      new Promise<void>(() => void signals.push(signal));
    const script: FetchScript = (_call, index) => (index === 0 ? limited() : tokenAnswer());
    const { auth } = frozen(script, { clock: { now: () => START, sleep } });
    const token = auth.getAccessToken();
    await pass(3_000);
    expect((await token).value).toBe("token-1");
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test("a step of the clock ends a wait that began some real time after the 429", async () => {
    const pass = fakeTimers();
    const clock = frozenClock();
    const resolved = resolveClock({ clock });
    const one = new RateLimitGate("A", { clock: resolved, timeoutMs: 10_000, shareInFlight: true });
    const headers = new Headers({ "retry-after": "20" });
    one.refused({ headers, sentAt: START, receivedAt: START });
    await pass(20);
    const entering = one.enter({ deadline: deadlineIn(60_000, resolved), signal: undefined });
    await clock.skipSleep();
    expect(await isSettled(entering)).toBe(true);
  });

  test("a step of the clock ends the wait before a call is sent again", async () => {
    const clock = frozenClock();
    const { auth } = frozen(() => tokenAnswer(), { clock });
    const api = [limited({ "retry-after": "20" }), Response.json([])];
    const fetch = async () => api.shift() as Response;
    const call = createService(auth, { fetch }).call("listDevices");
    expect(await clock.skipSleep()).toBeGreaterThanOrEqual(20_000);
    expect(await call).toMatchObject({ status: 200, retries: 1 });
  });

  test("a step of the clock ends the deadline, but no request in flight", async () => {
    const clock = frozenClock();
    const answers = [limited({ "retry-after": "30" }), limited({ "retry-after": "40" })];
    const { auth } = frozen(() => answers.shift() ?? tokenAnswer(), { clock });
    const limitedToo = rejectionOf(auth.getAccessToken());
    await clock.skipSleep();
    expect(await limitedToo).toMatchObject({ code: "rate_limited" });
    clock.advance(60_000);
    const { promise, release } = latch();
    const slow = frozen(() => promise.then(() => tokenAnswer("late", 7_200)), { clock });
    const token = slow.auth.getAccessToken();
    await settle();
    clock.advance(3_600_000);
    release();
    expect((await token).value).toBe("late");
  });

  test("a service inherits the clock, unless it gets a time of its own", async () => {
    const clock = frozenClock();
    const { auth } = frozen(() => tokenAnswer(), { clock });
    const at: number[] = [];
    const onEvent = (event: ServiceEvent) =>
      void (event.type === "call_finished" && at.push(event.at));
    const fetch = async () => new Response(null, { status: 403 });
    for (const options of [
      {},
      { clock: { now: () => START + 1 } },
      { clock: frozenClock(START + 2) },
    ])
      await createService(auth, { fetch, onEvent, ...options }).call("listDevices");
    expect(at).toEqual([START, START + 1, START + 2]);
  });
});

describe("a complete clock", () => {
  /** Reports each use of the time or the randomness of this machine by the code under test. */
  function watched(): string[] {
    const uses: string[] = [];
    const watch = (object: object, name: string) => {
      const real = Reflect.get(object, name);
      const watching = (...args: unknown[]) => {
        const { stack = "" } = new Error("use");
        const [from] = stack.match(/src\/(?!emulator)[\w/-]+\.ts:\d+/) ?? [];
        if (from !== undefined) uses.push(`${name} in ${from}`);
        return Reflect.apply(real, object, args);
      };
      Reflect.set(object, name, watching);
      onTestFinished(() => void Reflect.set(object, name, real));
    };
    for (const name of ["setTimeout", "setInterval", "setImmediate"]) watch(globalThis, name);
    for (const [object, name] of [
      [Date, "now"],
      [performance, "now"],
      [Math, "random"],
    ] as const)
      watch(object, name);
    return uses;
  }

  test("owns every wait and limit: no time of this machine is read, and none of its timers is set", async () => {
    const uses = watched();
    const api = [() => new Response("", { status: 503 }), () => limited(), () => Response.json([])];
    const tokens = [
      () => limited(),
      () => new Response("", { status: 500 }),
      () => tokenAnswer("one", 100),
    ];
    const script: FetchScript = (call) =>
      (call.url.endsWith("/token") ? tokens.shift() : api.shift())?.() ?? noAnswer(call);
    const clock = steppedClock();
    const { auth } = scriptedAuth("A", script, { clock, store: memoryStore({ clock }) });
    const service = createService(auth);
    expect(await clock.through(service.call("listDevices"))).toMatchObject({
      ok: true,
      retries: 2,
    });
    const late = rejectionOf(service.fetch("api/v1/acme/devices"));
    expect(await clock.through(late)).toMatchObject({ code: "timed_out" });
    await clock.pass(78_000);
    expect((await auth.getAccessToken()).value).toBe("one");
    await clock.pass(60_000);
    expect(uses).toEqual([]);
  });

  test("owns the locks of a store in memory and the lease of one in Redis", async () => {
    const uses = watched();
    const clock = steppedClock();
    const never = new Promise<never>(() => {});
    const call = async (_command: string, ...args: string[]) => (args.includes("held") ? 0 : 1);
    const stores = [memoryStore({ clock }), redisStore({ call } as RedisClient, { clock })];
    for (const store of stores) {
      store.lock("key", () => never);
      await settle();
      const second = rejectionOf(store.lock("key", async () => {}, { timeoutMs: 5_000 }));
      await clock.pass(4_999);
      expect(await isSettled(second)).toBe(false);
      await clock.pass(1);
      expect(await second).toMatchObject({ code: "store_locked" });
    }
    let isUp = true;
    const failing = {
      call: async () => (isUp ? 1 : Promise.reject(new Error("down"))),
    } as RedisClient;
    const leases: AbortSignal[] = [];
    redisStore(failing, { clock }).lock("key", (lease) => {
      if (lease !== undefined) leases.push(lease);
      return never;
    });
    await clock.pass(60_000);
    expect(leases.map(({ aborted }) => aborted)).toEqual([false]);
    isUp = false;
    await clock.pass(15_000);
    expect(leases.map(({ aborted }) => aborted)).toEqual([true]);
    expect(uses).toEqual([]);
  });

  test("may be an instance of a class, and its sleeps are its own", async () => {
    class OwnClock {
      readonly #stepped = steppedClock();
      readonly slept: number[] = [];
      now() {
        return this.#stepped.now();
      }
      monotonic() {
        return this.#stepped.monotonic();
      }
      setTimeout(task: () => void, ms: number) {
        return this.#stepped.setTimeout(task, ms);
      }
      clearTimeout(timer: unknown) {
        this.#stepped.clearTimeout(timer);
      }
      async sleep(ms: number) {
        this.slept.push(ms);
        this.#stepped.advance(ms);
      }
      random() {
        return 0;
      }
    }
    const clock = new OwnClock();
    const answers = [limited(), limited({ "retry-after": "9" }), tokenAnswer()];
    const { auth } = scriptedAuth("B", () => answers.shift() as Response, { clock });
    expect((await auth.getAccessToken()).value).toBe("token-1");
    expect(clock.slept).toEqual([2_000, 9_000]);
  });
});
