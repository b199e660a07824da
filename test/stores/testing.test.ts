// The kit for token stores (bivariant/stores/testing): it finds each planted fault, and each of its
// tests finds one.
import { spawnSync } from "node:child_process";
import { beforeAll, describe, expect, test } from "vitest";
import { type Clock, memoryStore, StoreError, type TokenStore } from "../../src/index.js";
import { type MakeStore, testStore } from "../../src/stores/testing.js";
import { blockWith, bundleProgram, cacheFolder } from "../readme/pages.js";
import { movedBySleeps, steppedClock } from "../support/clock.js";

/**
 * Runs the kit in a runner of a few lines. Returns "title: message" of each failure, and all
 * titles.
 */
async function runKit(make: MakeStore): Promise<{ failures: string[]; titles: string[] }> {
  const failures: string[] = [];
  const titles: string[] = [];
  const runs: Promise<unknown>[] = [];
  const runner = {
    describe: (_name: string, define: () => void) => define(),
    test(title: string, run: () => Promise<void>) {
      titles.push(title);
      runs.push(run().catch((error: Error) => failures.push(`${title}: ${error.message}`)));
    },
  };
  testStore(runner, make);
  await Promise.all(runs);
  return { failures, titles };
}

type Entry = Awaited<ReturnType<TokenStore["get"]>>;
type Options = NonNullable<Parameters<TokenStore["set"]>[2]>;
/** Methods of a store, with loose types. */
interface Broken {
  get?(key: string): unknown;
  set?(key: string, value: string, options?: Options): unknown;
  delete?(key: string): unknown;
  lock?(key: string, task: () => Promise<unknown>, options?: { timeoutMs?: number }): unknown;
}
type Break = (inner: TokenStore, clock: Clock) => Broken;

const conflict = () => new StoreError("store_conflict", "Another write came first.");
const locked = () => new StoreError("store_locked", "The lock is held.");
const faults: { name: string; says: RegExp; broken: Break }[] = [];
const fault = (name: string, says: RegExp, broken: Break) =>
  void faults.push({ name, says, broken });
// Faults in what get or set resolves with, in the keys, values and options, and at the end of a
// wait.
const inGet = (name: string, says: RegExp, change: (found: Entry) => unknown) =>
  fault(name, says, ({ get }) => ({ get: async (key) => change(await get(key)) }));
const inSet = (
  name: string,
  says: RegExp,
  change: (writing: Promise<Entry>, value: string) => unknown,
) => fault(name, says, ({ set }) => ({ set: (...args) => change(set(...args), args[1]) }));
const inKeys = (name: string, says: RegExp, change: (key: string) => string) =>
  fault(name, says, ({ get, set }) => ({
    get: (key) => get(change(key)),
    set: (key, ...rest) => set(change(key), ...rest),
  }));
const inValues = (name: string, says: RegExp, change: (value: string) => string) =>
  fault(name, says, ({ set }) => ({
    set: (key, value, options) => set(key, change(value), options),
  }));
const inOptions = (name: string, says: RegExp, change: (options: Options) => Options) =>
  fault(name, says, ({ set }) => ({
    set: async (key, value, options = {}) => set(key, value, change(options)),
  }));
/** Returns its own objects, counts the versions of each entry from 1, and ignores expiresAt. */
const naive: Break = () => {
  const entries = new Map<string, { value: string; version: string }>();
  return {
    get: async (key) => entries.get(key),
    async set(key, value, { ifVersion } = {}) {
      const version = entries.get(key)?.version ?? null;
      if (ifVersion !== undefined && version !== ifVersion) throw conflict();
      entries.set(key, { value, version: String(Number(version) + 1) });
      return { ...entries.get(key) };
    },
    delete: async (key) => void entries.delete(key),
  };
};
type Late = (task: () => Promise<unknown>, free: () => void) => unknown;
/** Locks by polling. When the time is over, `late` decides. */
const inWait = (name: string, says: RegExp, late: Late) =>
  fault(name, says, (_inner, clock) => {
    const held = new Set<string>();
    return {
      async lock(key, task, { timeoutMs = 10_000 } = {}) {
        const end = clock.now() + timeoutMs;
        const free = () => void held.delete(key);
        for (; held.has(key); await new Promise<void>((resolve) => clock.setTimeout?.(resolve, 5)))
          if (clock.now() >= end) return late(task, free);
        held.add(key);
        return task().finally(free);
      },
    };
  });

inGet(
  "returns null for a missing entry",
  /null for a missing entry\. It must/,
  (found) => found ?? null,
);
inGet(
  "returns no version",
  /resolve with \{ value, version \}/,
  (found) => found && { value: found.value },
);
inGet(
  "returns another version from get than from set",
  /Both must be the version/,
  (found) => found && { ...found, version: `${found.version}.0` },
);
inGet("takes an empty value for a missing entry", /an empty value is read/, (found) =>
  found?.value ? found : undefined,
);
inValues("unescapes values", /JSON, as a value/, (value) => value.replace(/\\n/g, "\n"));
inValues("stores Latin-1", /beyond ASCII/, (value) => value.replace(/[^ -ÿ]/g, "?"));
inValues("cuts values", /100,000 letters/, (value) => value.slice(0, 65_535));
inKeys("ignores case in keys", /almost the same/, (key) => key.toLowerCase());
inKeys("trims keys", /almost the same/, (key) => key.trim());
inKeys("normalises keys", /almost the same/, (key) => key.normalize());
inKeys("drops other entries when it writes", /almost the same/, () => "key");
fault(
  "deletes all keys that begin alike",
  /almost the same.*undefined/,
  ({ set, delete: remove }) => {
    const keys = new Set<string>();
    return {
      set: (key, ...rest) => set(keys.add(key) && key, ...rest),
      delete: (key) => Promise.all([...keys].filter((one) => one.startsWith(key)).map(remove)),
    };
  },
);
fault("returns its own object", /caller's own: .*changed by the caller/, naive);
inSet(
  "resolves set with nothing",
  /set\(\) resolved with undefined/,
  async (writing) => void (await writing),
);
inSet(
  "makes the version from the value",
  /Each write must have a new one/,
  async (writing, value) => ({ ...(await writing), version: value }),
);
inOptions("ignores ifVersion", /resolved\. It must reject/, ({ ifVersion: _, ...rest }) => rest);
inOptions(
  "takes ifVersion null for none",
  /needs a missing entry: .*null/,
  ({ ifVersion, ...rest }) => (ifVersion ? { ...rest, ifVersion } : rest),
);
fault(
  "compares versions before it writes, not while",
  /20 of 20 set\(\) were done/,
  ({ get, set }) => ({
    async set(key, value, { ifVersion, ...rest } = {}) {
      const { version = null } = (await get(key)) ?? {};
      if (ifVersion !== undefined && version !== ifVersion) throw conflict();
      return set(key, value, rest);
    },
  }),
);
inSet(
  "reports a conflict as its own error",
  /Error: 0 rows\. It must reject with new Store/,
  (writing) => writing.catch(() => Promise.reject(new Error("0 rows"))),
);
fault(
  "counts versions from 1 again after a delete",
  /refused, also after a new write: .*resolved/,
  naive,
);
fault("deletes nothing", /deleted entry is missing/, () => ({ delete: async () => {} }));
fault(
  "rejects the delete of a missing entry",
  /missing entry: 0 rows/,
  ({ get, delete: remove }) => ({
    delete: async (key) => ((await get(key)) ? remove(key) : Promise.reject(new Error("0 rows"))),
  }),
);
fault("ignores expiresAt", /kept until expiresAt.*It must resolve with undefined/, naive);
inOptions("expires a second too soon", /undefined too soon/, ({ expiresAt, ...rest }) =>
  expiresAt ? { ...rest, expiresAt: expiresAt - 1_000 } : rest,
);
fault(
  "rejects a past expiry, as PX of Redis does",
  /expired already.*: invalid time/,
  ({ set }, clock) => ({
    async set(key, value, options = {}) {
      if ((options.expiresAt ?? Number.POSITIVE_INFINITY) <= clock.now())
        throw new Error("invalid time");
      return set(key, value, options);
    },
  }),
);
fault("keeps the expiry of the earlier write", /removes an earlier expiry/, ({ set }) => {
  const expiries = new Map<string, Options>();
  return {
    set(key, value, options = {}) {
      expiries.set(key, { ...expiries.get(key), ...options });
      return set(key, value, expiries.get(key));
    },
  };
});
fault("swallows the result of a task", /lock\(\) resolved with undefined/, () => ({
  lock: async (_, task) => void (await task()),
}));
fault("locks nothing", /6 tasks ran under one lock/, () => ({ lock: (_, task) => task() }));
fault("shares one task among the callers that wait", /1 of 6 tasks/, ({ lock }) => {
  let running: Promise<unknown> | undefined;
  return {
    lock(...args) {
      running ??= lock(...args);
      return running;
    },
  };
});
fault("has one lock for all keys", /different keys do not wait.*not free/, ({ lock }) => ({
  lock: (_, ...rest) => lock("all", ...rest),
}));
inWait("runs the task when the wait is over", /held resolved/, (task) => task());
inWait("frees the lock when a wait is over", /never runs: .*held resolved/, (_task, free) => {
  free();
  throw locked();
});
inWait(
  "runs the task although it rejected with store_locked",
  /lock\(\) that was rejected ran/,
  (task) => {
    setImmediate(task);
    throw locked();
  },
);
fault("ignores timeoutMs", /lock\(\) did not settle within 4500 ms/, ({ lock }) => ({
  lock: (key, task) => lock(key, task, { timeoutMs: 60_000 }),
}));
fault("locks the key to write it", /under a lock.*set\(\) did not settle/, ({ lock, set }) => ({
  set: (...args) => lock(args[0], () => set(...args)),
}));
fault("replaces the error of a task", /settled with Error: failed\. It must/, ({ lock }) => ({
  lock: (key, task) => lock(key, () => task().catch(() => Promise.reject(new Error("failed")))),
}));
fault("does not free the lock after a task that rejected", /frees it: The lock is held/, () => {
  const held = new Set<string>();
  return {
    async lock(key, task) {
      if (held.has(key)) throw locked();
      held.add(key);
      const result = await task();
      held.delete(key);
      return result;
    },
  };
});

describe("a store that", () => {
  const found = new Map<string, string[]>();
  let titles: string[] = [];
  beforeAll(async () => {
    for (const { name, broken } of faults) {
      const clock = steppedClock();
      const run = runKit(() => {
        const inner = memoryStore({ clock });
        return { store: { ...inner, ...broken(inner, clock) } as TokenStore, clock };
      });
      const { failures, titles: all } = await clock.through(run);
      found.set(name, failures);
      titles = all;
    }
  });

  test.each(faults)("$name is found, with what it did and must do", ({ name, says }) => {
    expect(found.get(name)?.filter((failure) => says.test(failure))).not.toEqual([]);
  });

  test("has an error of the kit for each fault, and none of JavaScript", () => {
    const all = [...found.values()].flat();
    expect(
      all.filter((failure) => /Cannot read properties|is not a function/.test(failure)),
    ).toEqual([]);
  });

  test("keeps its promises needs every test of the kit: each of them finds a fault", () => {
    const all = [...found.values()].flat();
    expect(titles.length).toBeGreaterThan(20);
    expect(titles.filter((title) => !all.some((failure) => failure.startsWith(title)))).toEqual([]);
  });
});

describe("two handles on the same data are tested against each other, so that the kit finds", () => {
  test("a handle that keeps what it has read", async () => {
    const clock = movedBySleeps();
    const store = memoryStore({ clock });
    const read = new Map<string, Entry>();
    const get = async (key: string) =>
      read.get(key) ?? read.set(key, await store.get(key)).get(key);
    const { failures } = await runKit(() => ({ store, second: { ...store, get }, clock }));
    expect(failures.join("\n")).toContain("a deleted entry is missing");
  });

  test("locks that exclude only the tasks of one handle", async () => {
    const clock = movedBySleeps();
    const store = memoryStore({ clock });
    const { lock } = memoryStore();
    const { failures } = await runKit(() => ({ store, second: { ...store, lock }, clock }));
    expect(failures.join("\n")).toContain("2 tasks ran under one lock at the same time");
  });
});

test("without a clock the kit waits by the machine's time, and each test closes what it made", async () => {
  let [made, closed] = [0, 0];
  const { failures, titles } = await runKit(() => {
    made++;
    return { store: memoryStore(), close: async () => void closed++ };
  });
  expect(failures).toEqual([]);
  expect([made, closed]).toEqual([titles.length, titles.length]);
});

test.concurrent("node:test runs the kit as the page on stores prints it", async () => {
  const code = blockWith("ts", 'from "bivariant/stores/testing"');
  const file = await bundleProgram(code, cacheFolder(), "kit.test.mjs");
  const { status, stdout } = spawnSync(process.execPath, ["--test", file], { encoding: "utf8" });
  expect([status, stdout]).toEqual([0, expect.stringMatching(/pass 23\s+.*fail 0/)]);
});
