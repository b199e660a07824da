/**
 * `bivariant/stores/testing`: tests of the promises that every token store must keep, for any test
 * runner. @packageDocumentation
 */
import type { StoredValue, TokenStore } from "../auth/shared/token-store.js";
import { type Clock, inTime, type ResolvedClock, resolveClock } from "../clock.js";
import { isStoreError, type StoreErrorCode } from "../errors.js";
import type { NamesOf } from "../option-names.js";
import { requireOptions } from "../options.js";

/** The functions of a test runner, such as vitest, jest, node:test or Bun's. */
export interface StoreTestRunner {
  /** Groups the tests that `define` defines. */
  describe(name: string, define: () => void): unknown;
  /** Defines one test, which fails if `run` rejects. */
  test(name: string, run: () => Promise<void>): unknown;
}

/** What {@link testStore} tests, and how. */
export interface StoreUnderTest {
  readonly store: TokenStore;
  /**
   * Another handle on the same data, as a second process has. The tests then work on the data from
   * both.
   */
  readonly second?: TokenStore | undefined;
  /** The clock that the stores were made with. The tests wait by it. Default: this machine's. */
  readonly clock?: Clock | undefined;
  /** Runs after the test, also if it failed. */
  readonly close?: (() => unknown) | undefined;
}

const madeNames: NamesOf<StoreUnderTest> = { store: true, second: true, clock: true, close: true };

/** Makes a store for one test. It need not be empty: each test uses keys of its own. */
export type MakeStore = () => TokenStore | StoreUnderTest | Promise<TokenStore | StoreUnderTest>;

/**
 * Tests that a store keeps the promises of `TokenStore`. An error says what the store did and what
 * it must do. The tests take a few seconds, because they wait for entries to expire, unless the
 * store has a clock that skips waits.
 *
 * @param runner the functions of your test runner
 * @param makeStore is called once in each test
 * @example
 * import { createClient } from "redis";
 * import { describe, test } from "vitest"; // or from "node:test"
 * import { redisStore } from "bivariant/stores/redis";
 *
 * testStore({ describe, test }, async () => {
 *   const [client, other] = await Promise.all([
 *     createClient().connect(),
 *     createClient().connect(),
 *   ]);
 *   const close = () => Promise.all([client.close(), other.close()]);
 *   return { store: redisStore(client), second: redisStore(other), close };
 * });
 */
export function testStore({ describe, test }: StoreTestRunner, makeStore: MakeStore): void {
  describe("a token store", () => {
    for (const [title, check] of Object.entries(promises))
      test(title, async () => {
        const made = await makeStore();
        const given: StoreUnderTest = "get" in made ? { store: made } : made;
        requireOptions("what makeStore returns", given, madeNames);
        const { store, second = store, close } = given;
        try {
          const clock = resolveClock(given);
          const key = `bivariant test ${crypto.randomUUID()}`;
          await check(limited(store, clock), limited(second, clock), key, clock);
        } finally {
          await close?.();
        }
      });
  });
}

/** Checks one promise: `one` and `two` are handles on the same data, and `key` has no entry yet. */
type Check = (one: TokenStore, two: TokenStore, key: string, clock: ResolvedClock) => Promise<void>;

/** Shorter than the usual limit of a test runner, whose message would not name the method. */
const limitMs = 4_000;
/** An entry is written and read within this time, also by a database far away. */
const lifeMs = 300;
/** A database may count in seconds, or have a clock of its own. */
const graceMs = 1_500;
const mustBeEntry = "It must resolve with { value, version }, both strings.";

const kept =
  (value: string, name = ""): Check =>
  async (one, two, key) => {
    await one.set(key + name, value);
    await mustHold(two, key + name, value);
  };

/** The promises by the titles of their tests. */
const promises: Readonly<Record<string, Check>> = {
  async "get resolves with undefined for a missing entry"(one, _two, key) {
    await mustBeMissing(one, key, "for a missing entry");
  },
  async "set and get resolve with the value and its version"(one, two, key) {
    const [written, read] = [await one.set(key, "value"), await two.get(key)];
    for (const [method, found] of [["set", written] as const, ["get", read] as const])
      must(
        found?.value === "value" && typeof found.version === "string",
        `${method}() resolved with ${shown(found)}`,
        mustBeEntry,
      );
    must(
      read?.version === written.version,
      `get() resolved with the version ${read?.version} after set() had resolved ` +
        `with ${written.version}`,
      "Both must be the version of that write.",
    );
  },
  "an empty value is read as it was written": kept(""),
  "JSON, as a value and in a key, is read as it was written": kept(
    '{"a":"\\u0000\\n\\""}',
    '["token","https://a.example/x%2F?*"]',
  ),
  "a text with letters beyond ASCII is read as it was written": kept("日本語 🙂 ä", "schlüssel"),
  "a text of 100,000 letters is read as it was written": kept("x".repeat(100_000)),
  async "keys that are almost the same are different entries"(one, two, key) {
    const names = ["a", "A", "a ", "ab", "\u00e4", "a\u0308", "a%", "a_", "a:b", "a/b"];
    for (const name of names) await one.set(key + name, `the value of ${name}`);
    for (const name of names) await mustHold(two, key + name, `the value of ${name}`);
    await one.delete(`${key}a`);
    for (const name of names.slice(1)) await mustHold(two, key + name, `the value of ${name}`);
  },
  async "the object that get resolves with is the caller's own"(one, _two, key) {
    await one.set(key, "value");
    const found = await one.get(key);
    if (found !== undefined) Reflect.set(found, "value", "changed by the caller");
    await mustHold(one, key, "value");
  },
  async "every write changes the version, even with the same value"(one, two, key) {
    const versions = [];
    for (const store of [one, two, one, two]) versions.push((await store.set(key, "same")).version);
    const isNew = new Set(versions).size === versions.length;
    must(
      isNew,
      `Four writes had the versions ${versions.join(", ")}`,
      "Each write must have a new one.",
    );
  },
  async "set with ifVersion replaces that version and no other"(one, two, key) {
    const first = await one.set(key, "first");
    const second = await two.set(key, "second", { ifVersion: first.version });
    await mustConflict(one, key, first.version);
    await mustHold(two, key, "second", second.version);
  },
  async "set with ifVersion null needs a missing entry"(one, two, key) {
    const { version } = await one.set(key, "first", { ifVersion: null });
    await mustConflict(two, key, null);
    await mustHold(two, key, "first", version);
  },
  async "the version of a deleted entry is refused, also after a new write"(one, two, key) {
    const { version } = await one.set(key, "first");
    await two.delete(key);
    await mustConflict(one, key, version);
    await two.set(key, "again", { ifVersion: null });
    await mustConflict(one, key, version);
  },
  async "of many writes over one version, or none, at the same time, one is done"(one, two, key) {
    for (const name of ["missing", "present"]) {
      const ifVersion = name === "missing" ? null : (await one.set(key + name, "start")).version;
      const writes = Array.from({ length: 20 }, async (_, index) =>
        (index % 2 ? one : two).set(key + name, String(index), { ifVersion }),
      );
      const done = (await Promise.allSettled(writes)).flatMap(({ status }, index) =>
        status === "fulfilled" ? [String(index)] : [],
      );
      must(
        done.length === 1,
        `${done.length} of 20 set() were done`,
        "It must be one, and 19 store_conflict.",
      );
      await mustHold(one, key + name, done[0] ?? "");
    }
  },
  async "a deleted entry is missing, and delete accepts a missing entry"(one, two, key) {
    await one.set(key, "value");
    await mustHold(two, key, "value");
    await one.delete(key);
    await mustBeMissing(two, key, "after delete()");
    await two.delete(key);
  },
  async "an entry is kept until expiresAt, then missing, also for ifVersion"(one, two, key, clock) {
    const expiresAt = clock.now() + lifeMs;
    const { version } = await one.set(key, "value", { expiresAt });
    const found = await two.get(key);
    const isTooSoon = found === undefined && clock.now() < expiresAt;
    must(
      !isTooSoon,
      "get() resolved with undefined too soon",
      "expiresAt is in epoch milliseconds.",
    );
    await elapsed(lifeMs, clock);
    while ((await two.get(key)) !== undefined && clock.now() < expiresAt + graceMs)
      await elapsed(20, clock);
    await mustBeMissing(two, key, "after expiresAt");
    await mustConflict(one, key, version);
    await one.set(key, "new", { ifVersion: null });
  },
  async "an entry that has expired already can be written, and is missing"(one, two, key, clock) {
    const { version: ifVersion } = await one.set(key, "old");
    await one.set(key, "", { ifVersion, expiresAt: 1 });
    await mustBeMissing(two, key, "with an expiresAt in 1970");
    await one.set(key, "old");
    await one.set(key, "value", { expiresAt: clock.now() - 60_000 });
    await mustBeMissing(two, key, "with an expiresAt in the past");
  },
  async "set without expiresAt removes an earlier expiry"(one, two, key, clock) {
    await one.set(key, "short", { expiresAt: clock.now() + lifeMs });
    await two.set(key, "long");
    await elapsed(lifeMs + graceMs, clock);
    await mustHold(one, key, "long");
  },
  async "lock resolves with the result of its task"(one, _two, key) {
    const result: unknown = await one.lock(key, async () => "result");
    must(
      result === "result",
      `lock() resolved with ${shown(result)}`,
      "It must be the task's result.",
    );
  },
  async "the tasks of one lock never overlap, and all of them run"(one, two, key, clock) {
    let [inside, most, ran] = [0, 0, 0];
    const task = async () => {
      inside++;
      most = Math.max(most, inside);
      await elapsed(2, clock);
      inside--;
      ran++;
    };
    await Promise.all([one, two, one, two, one, two].map((store) => store.lock(key, task)));
    must(
      most === 1,
      `${most} tasks ran under one lock at the same time`,
      "Only one may run at a time.",
    );
    must(ran === 6, `${ran} of 6 tasks under one lock ran`, "All of them must run.");
  },
  async "locks of different keys do not wait for each other"(one, two, key) {
    await one.lock(`${key}a`, () => two.lock(`${key}ab`, async () => {}, { timeoutMs: 1_000 }));
  },
  async "a lock that is held rejects with store_locked, and its task never runs"(one, two, key) {
    let hasRun = false;
    const task = async () => {
      hasRun = true;
    };
    await one.lock(key, async () => {
      await mustBeLocked(two, key, task);
      // The wait that ended must not have freed the lock.
      await mustBeLocked(two, key, task);
    });
    await one.lock(key, async () => {});
    must(!hasRun, "The task of a lock() that was rejected ran", "It must not run.");
  },
  async "under a lock its key can be written and deleted, and stays locked"(one, two, key) {
    await one.lock(key, async () => {
      await one.set(key, "value");
      await mustHold(two, key, "value");
      await two.delete(key);
      await mustBeLocked(two, key);
    });
  },
  async "a task that rejects makes lock reject with its error, and frees it"(one, two, key) {
    const error = new Error("the error of the task");
    const seen: unknown = await one
      .lock(key, () => Promise.reject(error))
      .catch((reason) => reason);
    must(
      seen === error,
      `lock() settled with ${shown(seen)}`,
      "It must reject with the task's error.",
    );
    await two.lock(key, async () => {}, { timeoutMs: 1_000 });
  },
};

/** @throws Error whose message says what the store did and what it must do */
function must(isSo: boolean, did: string, rule: string, cause?: unknown): void {
  if (!isSo) throw new Error(`${did}. ${rule}`, { cause });
}

async function mustHold(
  store: TokenStore,
  key: string,
  value: string,
  version?: string,
): Promise<void> {
  const found: StoredValue | undefined = await store.get(key);
  const did = `get() resolved with ${shown(found)}`;
  must(found?.value === value, did, `The value must be ${shown(value)}.`);
  must(
    version === undefined || found?.version === version,
    did,
    `The version must still be ${version}.`,
  );
}

async function mustBeMissing(store: TokenStore, key: string, when: string): Promise<void> {
  const found: unknown = await store.get(key);
  must(
    found === undefined,
    `get() resolved with ${shown(found)} ${when}`,
    "It must resolve with undefined.",
  );
}

/** Writes over a version that is not the current one. */
function mustConflict(store: TokenStore, key: string, ifVersion: string | null): Promise<void> {
  const attempt = store.set(key, "refused", { ifVersion });
  return mustReject(
    "store_conflict",
    `set() with the wrong ifVersion ${shown(ifVersion)}`,
    attempt,
  );
}

/** Waits briefly for a lock that is held. */
function mustBeLocked(store: TokenStore, key: string, task = async () => {}): Promise<void> {
  const attempt = store.lock(key, task, { timeoutMs: 50 });
  return mustReject("store_locked", "lock() of a key that is held", attempt);
}

async function mustReject(
  code: StoreErrorCode,
  what: string,
  attempt: Promise<unknown>,
): Promise<void> {
  const [outcome] = await Promise.allSettled([attempt]);
  const fault: unknown = outcome.status === "rejected" ? outcome.reason : undefined;
  const did = outcome.status === "rejected" ? `rejected with ${shown(fault)}` : "resolved";
  const rule = `It must reject with new StoreError("${code}", message).`;
  must(isStoreError(fault) && fault.code === code, `${what} ${did}`, rule, fault);
}

/** A handle whose methods reject, with the name of the method, if they do not settle in time. */
function limited(store: TokenStore, clock: ResolvedClock): TokenStore {
  const within = async <T>(
    method: string,
    operation: () => Promise<T>,
    ms = limitMs,
  ): Promise<T> => {
    const did = `${method}() did not settle within ${ms} ms`;
    const late = () => new Error(`${did}. It must resolve or reject.`);
    return inTime((async () => operation())(), ms, clock, late);
  };
  return {
    get: (key) => within("get", () => store.get(key)),
    async set(key, value, options) {
      const written: unknown = await within("set", () => store.set(key, value, options));
      must(Object(written) === written, `set() resolved with ${shown(written)}`, mustBeEntry);
      return written as StoredValue;
    },
    delete: (key) => within("delete", () => store.delete(key)),
    // It is longer for a lock, so that a method which hangs under a lock is the one that is named.
    lock: (key, task, options) =>
      within("lock", () => store.lock(key, task, options), limitMs + 500),
  };
}

function elapsed(ms: number, clock: ResolvedClock): Promise<void> {
  return clock.sleep(ms, new AbortController().signal);
}

function shown(value: unknown): string {
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  return (JSON.stringify(value) ?? String(value)).slice(0, 200);
}
