// Clocks that lie: they stand still, jump, or end a sleep at once. With each of them every call
// ends after a bounded number of sleeps and requests, and nothing repeats without a wait.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { deadlineIn, resolveClock } from "../../src/clock.js";
import { sleep } from "../../src/http/backoff.js";
import {
  apiClient,
  type Clock,
  completeLogin,
  createConnector,
  isBivariantError,
  memoryStore,
  resumeAuth,
} from "../../src/index.js";
import { backFromLogin, client, loggedIn } from "../people/person.js";
import { BASE_URL } from "../support/auth.js";
import { START, steppedClock } from "../support/clock.js";
import { credentialOf } from "../support/deployment.js";
import { scriptedFetch, tokenAnswer } from "../support/fetch.js";
import { rejectionOf } from "../support/wait.js";

interface OddTime {
  /** What each of the first readings adds to `now`, in milliseconds. After them it stands still. */
  readonly jumps: readonly number[];
  /** The share of a sleep by which monotonic time moves; `undefined` if the clock has none. */
  readonly moves: number | undefined;
  readonly ends: "in a microtask" | "in a turn" | "by timers that end at once";
}

const oddTimes: fc.Arbitrary<OddTime> = fc
  .record({
    jumps: fc.array(fc.constantFrom(0, 0, 1, -1, 999, -60_000, 60_000, 86_400_000, -86_400_000), {
      maxLength: 8,
    }),
    moves: fc.constantFrom(undefined, 0, 0, 0.000_1, 0.5, 1 / 3, 0.999_999, 1),
    ends: fc.constantFrom<OddTime["ends"]>(
      "in a microtask",
      "in a turn",
      "by timers that end at once",
    ),
  })
  // The timers of this machine would end the sleeps of a clock that has neither.
  .filter(({ moves, ends }) => moves !== undefined || ends !== "by timers that end at once");

/**
 * Of a world that does not spin: its callers wait for 20 seconds each, a second or longer each
 * time.
 */
const mostSleeps = 500;

const settings = { seed: 20_260_101, numRuns: 40 };

class Spinning extends Error {}

/**
 * Counts the sleeps, and ends a spin by an error, since a loop of microtasks would let no test end.
 */
function oddClock({ jumps, moves, ends }: OddTime): { readonly clock: Clock; count(): number } {
  let [at, readings, passed, sleeps] = [START, 0, 0, 0];
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  const move = (ms: number) => {
    passed += ms * (moves ?? 0);
    if (++sleeps > mostSleeps) throw new Spinning(`${sleeps} sleeps`);
  };
  const now = () => {
    at += jumps[readings++] ?? 0;
    return at;
  };
  const sleep = async (ms: number) => {
    move(ms);
    if (ends === "in a turn") await turn();
  };
  // Those of a clock with a sleep are time limits alone. They never end, since each answer comes.
  const setTimeout = (task: () => void, ms: number) => {
    if (ends !== "by timers that end at once") return undefined;
    return setImmediate(() => {
      move(ms);
      task();
    });
  };
  const clearTimeout = (timer: unknown) => clearImmediate(timer as NodeJS.Immediate);
  const own = ends === "by timers that end at once" ? {} : { sleep };
  const clock =
    moves === undefined
      ? { now, ...own }
      : { now, monotonic: () => passed, setTimeout, clearTimeout, ...own };
  return { clock, count: () => sleeps };
}

const limited = (retryAfter?: string) => () =>
  new Response("", {
    status: 429,
    headers: retryAfter === undefined ? {} : { "retry-after": retryAfter },
  });

const tokenAnswers = {
  token: () => tokenAnswer("token", 60),
  "429": limited(),
  "429 for a second": limited("1"),
  "429 for half a minute": limited("30"),
  "429 until a date": limited(new Date(START + 1_000).toUTCString()),
  "429 until a late date": limited(new Date(START + 86_400_000).toUTCString()),
  "503": () => new Response("", { status: 503 }),
  fault: () => Promise.reject(new TypeError("fetch failed")),
  refusal: () => Response.json({ error: "invalid_client" }, { status: 400 }),
};
type AnswerName = keyof typeof tokenAnswers;

const apiAnswers = {
  "200": () => Response.json([]),
  "401": () => new Response("", { status: 401 }),
  "429": limited("2"),
  "503": tokenAnswers[503],
};

const worlds = fc.record({
  time: oddTimes,
  // One signs each request, which takes most of the time here.
  variant: fc.constantFrom(...(["A", "B", "B", "B"] as const)),
  isShared: fc.boolean(),
  shareInFlight: fc.boolean(),
  callers: fc.integer({ min: 1, max: 4 }),
  answers: fc.array(fc.constantFrom(...(Object.keys(tokenAnswers) as AnswerName[])), {
    minLength: 1,
    maxLength: 4,
  }),
  api: fc.array(fc.constantFrom(...(["200", "401", "429", "503"] as const)), {
    minLength: 1,
    maxLength: 4,
  }),
});

test("with a random odd clock each call of machines ends, after a bounded number of sleeps", async () => {
  const property = fc.asyncProperty(worlds, async (world) => {
    const { clock, count } = oddClock(world.time);
    let [asked, called] = [0, 0];
    const fetch = scriptedFetch((call) => {
      if (asked + called > mostSleeps) throw new Spinning(`${asked} requests`);
      const isToken = call.method === "POST";
      const next = isToken
        ? tokenAnswers[world.answers[asked++ % world.answers.length] as AnswerName]
        : apiAnswers[world.api[called++ % world.api.length] as keyof typeof apiAnswers];
      return next();
    });
    const options = {
      credentials: [credentialOf(world.variant)],
      fetch,
      clock,
      retryDeadlineMs: 20_000,
      shareInFlight: world.shareInFlight,
      ...(world.isShared && { store: memoryStore() }),
    };
    // Two processes, which share a store.
    const connectors = [createConnector(options), createConnector(options)];
    const target = { baseUrl: BASE_URL, tenantId: "acme" };
    const faults: unknown[] = [];
    const watch = (promise: Promise<unknown>) =>
      promise.catch((error: unknown) => void (isBivariantError(error) || faults.push(error)));
    const caller = async (index: number) => {
      const connector = connectors[index % 2] as (typeof connectors)[0];
      const service = await connector.connect(target);
      for (let turn = 0; turn < 2; turn++) {
        await watch(service.auth.getAccessToken());
        await watch(service.call("listDevices"));
      }
    };
    await Promise.all(Array.from({ length: world.callers }, (_, index) => watch(caller(index))));
    expect(faults).toEqual([]);
    expect(count()).toBeLessThanOrEqual(mostSleeps);
    expect(fetch.calls.length).toBeLessThanOrEqual(mostSleeps);
  });
  await fc.assert(property, settings);
});

const logins = fc.record({
  time: oddTimes,
  notedBeforeMs: fc.constantFrom(-60_000, 0, 1_000, 60_000),
  isStoreDown: fc.boolean(),
  answers: fc.array(fc.constantFrom(...(["token", "429 for a second", "503", "fault"] as const)), {
    maxLength: 3,
  }),
});

test("with a random odd clock each renewal and each login of a person ends, after a bounded number of sleeps", async () => {
  const property = fc.asyncProperty(
    logins,
    async ({ time, notedBeforeMs, isStoreDown, answers }) => {
      const { options: first, store, server } = await loggedIn({ store: memoryStore() });
      // The requests of one credential share a gate, which has the clock of the first of them.
      const options = { ...first, credential: apiClient(client) };
      const key = JSON.stringify(["grant", "B", options.baseUrl, "acme", "portal", "session-1"]);
      const grant = JSON.parse((await store.get(key))?.value ?? "");
      // Another process noted that it sends the refresh token, and was not heard of again.
      const sentAt = START - notedBeforeMs;
      const noted = {
        ...grant,
        sentAt,
        attempt: "other",
        token: { ...grant.token, expiresAt: sentAt },
      };
      await store.set(key, JSON.stringify(noted));
      const left = [...answers];
      server.before = () => {
        const name = left.shift();
        return name && (tokenAnswers[name]() as Response);
      };
      const { clock, count } = oddClock(time);
      let isDown = false;
      const get: typeof store.get = async (name) => {
        if (isDown) throw new Error("down");
        return store.get(name);
      };
      const set: typeof store.set = async (...write) => {
        const written = await store.set(...write);
        isDown = isStoreDown;
        return written;
      };
      const odd = { ...store, lossWindowMs: 200, get, set };
      const auth = await resumeAuth({ ...options, clock, store: odd });
      // Each may meet the rate limit while the other writes to the store.
      const back = await backFromLogin(options, (state) => `code=another&state=${state}`);
      const login = completeLogin({ ...options, ...back, person: "session-2", clock, store: odd });
      const ends = await Promise.allSettled([auth?.getAccessToken(), login]);
      const faults = ends.flatMap((end) => (end.status === "rejected" ? [end.reason] : []));
      expect(faults.filter((error) => !isBivariantError(error))).toEqual([]);
      expect(count()).toBeLessThanOrEqual(mostSleeps);
    },
  );
  await fc.assert(property, settings);
});

describe("a sleep", () => {
  const clockOf = (clock: Partial<Clock>) =>
    resolveClock({ clock: { now: () => START, ...clock } });

  test("that ends early counts in full, also beside another, and by less than a millisecond", async () => {
    const clock = clockOf({ sleep: async () => {} });
    const leftMs = deadlineIn(1_000_000, clock);
    await Promise.all([sleep(300_000, undefined, clock), sleep(500_000, undefined, clock)]);
    expect(leftMs()).toBeLessThanOrEqual(500_000);
    expect(leftMs()).toBeGreaterThan(400_000);
    const before = leftMs();
    await sleep(1e-12, undefined, clock);
    expect(leftMs()).toBeLessThanOrEqual(before - 1);
  });

  test("that ends because it was aborted does not count", async () => {
    const stepped = steppedClock();
    const clock = clockOf({ ...stepped, sleep: async () => {} });
    const leftMs = deadlineIn(1_000, clock);
    expect(await rejectionOf(sleep(600, AbortSignal.abort("gone"), clock))).toBe("gone");
    expect(leftMs()).toBe(1_000);
  });
});
