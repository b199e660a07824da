// Tests of the promises that every token store must keep.
import { beforeEach, describe, expect, test } from "vitest";
import type { TokenStore } from "../../src/index.js";
import { latch } from "../people/person.js";
import { type SteppedClock, steppedClock } from "../support/clock.js";
import { rejectionOf } from "../support/wait.js";

const conflict = { name: "StoreError", code: "store_conflict" };
const locked = { name: "StoreError", code: "store_locked" };

export interface StoreUnderTest {
  readonly name: string;
  /** Makes an empty store that reads the given clock. Called once per test; `onTestFinished` may clean up after it. */
  readonly create: (clock: { readonly now: () => number }) => TokenStore | Promise<TokenStore>;
}

/** Tests that our own stores refuse arguments of the wrong type. Other stores need not check them. */
export function describeRefusals({ name, create }: StoreUnderTest): void {
  describe(`${name} refuses, and keeps its entries, for`, () => {
    type Call = (store: TokenStore, value: never) => Promise<unknown>;
    const calls: [method: string, option: string, values: unknown[], call: Call][] = [
      ["set", "value", [undefined, null, 5, { a: 1 }, ["v"]], (store, value) => store.set("key", value)],
      ["get", "key", [undefined, null, 5, {}], (store, key) => store.get(key)],
      ["set", "key", [undefined], (store, key) => store.set(key, "v")],
      ["delete", "key", [undefined], (store, key) => store.delete(key)],
      ["lock", "key", [undefined], (store, key) => store.lock(key, async () => {})],
      ["lock", "task", [undefined, "x"], (store, task) => store.lock("key", task)],
      ["set", "expiresAt", [Number.NaN, "1", null], (store, at) => store.set("key", "v", { expiresAt: at })],
      ["set", "ifVersion", [1], (store, ifVersion) => store.set("key", "v", { ifVersion })],
      ["set", "options", [null], (store, options) => store.set("key", "v", options)],
      [
        "lock",
        "timeoutMs",
        [Number.NaN, -1, "10"],
        (store, timeoutMs) => store.lock("key", async () => {}, { timeoutMs }),
      ],
    ];
    const rows = calls.flatMap(([method, option, values, call]) =>
      values.map((value) => ({ method, option, call, value })),
    );
    test.each(rows)("$method with the $option $value", async ({ call, option, value }) => {
      const store = await create(steppedClock());
      const kept = await store.set("other", "precious");
      const refusal = { name: "ConfigurationError", code: "option_invalid", option };
      expect(await rejectionOf((async () => call(store, value as never))())).toMatchObject(refusal);
      expect(await store.get("key")).toBeUndefined();
      expect(await store.get("other")).toEqual(kept);
    });
  });
}

export function describeStore({ name, create }: StoreUnderTest): void {
  describe(`${name} keeps the promises of a token store`, () => {
    let clock: SteppedClock;
    let store: TokenStore;
    beforeEach(async () => {
      clock = steppedClock();
      store = await create(clock);
    });

    test("an entry that was never written is undefined", async () => {
      expect(await store.get("key")).toBeUndefined();
    });

    test("an entry is read with the value and version that set returned", async () => {
      const written = await store.set("key", "value");
      expect(written.value).toBe("value");
      expect(await store.get("key")).toEqual(written);
    });

    test.each([
      { what: "an empty text", key: "k", value: "" },
      { what: "JSON", key: '["token","A","https://a.example/x"]', value: '{"a":"ä\\n\u0000"}' },
      { what: "letters beyond ASCII", key: "schlüssel", value: "日本語 🙂" },
      { what: "a long text", key: "k", value: "x".repeat(100_000) },
      { what: "a key like a path", key: "../../k", value: "v" },
      { what: "a key like a property", key: "__proto__", value: "v" },
      { what: "half a surrogate pair", key: "\ud83d", value: "\udc00 alone" },
      { what: "an empty key", key: "", value: "v" },
      { what: "a key of 10,000 letters", key: "k".repeat(10_000), value: "v" },
    ])("$what is read as it was written", async ({ key, value }) => {
      await store.set(key, value);
      expect((await store.get(key))?.value).toBe(value);
      expect(await store.get(`${key}x`)).toBeUndefined();
    });

    test("keys that differ only in a surrogate, in case, in a trailing space or in normalisation are different", async () => {
      const keys = ["\ud83d", "\ud83e", "a", "A", "a ", "\u00e4", "a\u0308"];
      for (const key of keys) await store.set(key, `of ${key}`);
      for (const key of keys) expect((await store.get(key))?.value).toBe(`of ${key}`);
    });

    test("every write changes the version, even with the same value", async () => {
      const versions = [];
      for (let times = 0; times < 5; times++) versions.push((await store.set("key", "same")).version);
      expect(new Set(versions).size).toBe(5);
    });

    test("a write with ifVersion replaces only that version", async () => {
      const first = await store.set("key", "first");
      const second = await store.set("key", "second", { ifVersion: first.version });
      const error = await rejectionOf(store.set("key", "third", { ifVersion: first.version }));
      expect(error).toMatchObject(conflict);
      expect(await store.get("key")).toEqual(second);
    });

    test("a write with ifVersion null needs a missing entry", async () => {
      await store.set("key", "first", { ifVersion: null });
      expect(await rejectionOf(store.set("key", "second", { ifVersion: null }))).toMatchObject(conflict);
      expect((await store.get("key"))?.value).toBe("first");
    });

    test("the version of a deleted entry stays invalid, even after the entry was written again", async () => {
      const first = await store.set("key", "first");
      await store.delete("key");
      expect(await rejectionOf(store.set("key", "x", { ifVersion: first.version }))).toMatchObject(conflict);
      await store.set("key", "again", { ifVersion: null });
      expect(await rejectionOf(store.set("key", "x", { ifVersion: first.version }))).toMatchObject(conflict);
    });

    test.each([
      { over: "a missing entry", start: async () => null },
      { over: "one version", start: async () => (await store.set("key", "start")).version },
    ])("only one of many writes over $over at the same time wins", async ({ start }) => {
      const ifVersion = await start();
      const writes = Array.from({ length: 20 }, (_, index) =>
        store.set("key", String(index), { ifVersion }).then(
          () => index,
          () => undefined,
        ),
      );
      const winners = (await Promise.all(writes)).filter((index) => index !== undefined);
      expect(winners).toHaveLength(1);
      expect((await store.get("key"))?.value).toBe(String(winners[0]));
    });

    test("a deleted entry is gone, and deleting a missing entry is not an error", async () => {
      await store.set("key", "value");
      await store.delete("key");
      await store.delete("key");
      expect(await store.get("key")).toBeUndefined();
    });

    test("an entry is missing from the instant at which it expires", async () => {
      const old = await store.set("key", "value", { expiresAt: clock.now() + 1_000 });
      clock.advance(999);
      expect((await store.get("key"))?.value).toBe("value");
      clock.advance(1);
      expect(await store.get("key")).toBeUndefined();
      expect(await rejectionOf(store.set("key", "x", { ifVersion: old.version }))).toMatchObject(conflict);
      await store.set("key", "new", { ifVersion: null });
      expect((await store.get("key"))?.value).toBe("new");
    });

    test("a write without expiresAt removes an earlier expiry", async () => {
      await store.set("key", "value", { expiresAt: clock.now() + 1_000 });
      await store.set("key", "value");
      clock.advance(10_000);
      expect((await store.get("key"))?.value).toBe("value");
    });

    test.each([
      { when: "at infinity", expiresAt: Number.POSITIVE_INFINITY, kept: true },
      { when: "long ago", expiresAt: 0, kept: false },
      { when: "at minus infinity", expiresAt: Number.NEGATIVE_INFINITY, kept: false },
    ])("an entry that expires $when can be written", async ({ expiresAt, kept }) => {
      await store.set("key", "value", { expiresAt });
      expect((await store.get("key"))?.value).toBe(kept ? "value" : undefined);
    });

    test("tasks under one lock never overlap, and all run", async () => {
      let [inside, most, total] = [0, 0, 0];
      const task = async () => {
        inside++;
        most = Math.max(most, inside);
        const before = total;
        await new Promise((resolve) => setTimeout(resolve, 1));
        total = before + 1;
        inside--;
      };
      await Promise.all(Array.from({ length: 10 }, () => store.lock("key", task)));
      expect([most, total]).toEqual([1, 10]);
    });

    test("locks of different keys do not wait for each other", async () => {
      const held = await hold(store, "a");
      expect(await store.lock("b", async () => "taken")).toBe("taken");
      await held.release();
    });

    test("a lock that is not free in time rejects with store_locked, and its task does not run", async () => {
      const held = await hold(store, "key");
      const ran: string[] = [];
      const late = store.lock("key", async () => void ran.push("ran"), { timeoutMs: 20 });
      expect(await rejectionOf(late)).toMatchObject(locked);
      await held.release();
      await store.lock("key", async () => {});
      expect(ran).toEqual([]);
    });

    test("a free lock is taken with a timeout of 0 ms", async () => {
      expect(await store.lock("key", async () => "taken", { timeoutMs: 0 })).toBe("taken");
    });

    test.each([
      { wait: "infinity", timeoutMs: Number.POSITIVE_INFINITY },
      { wait: "more than a timer can keep", timeoutMs: 2 ** 40 },
    ])("a lock is taken, or awaited while it is held, with a timeout of $wait", async ({ timeoutMs }) => {
      expect(await store.lock("key", async () => "taken", { timeoutMs })).toBe("taken");
      const held = await hold(store, "key");
      const ran: string[] = [];
      const patient = store.lock("key", async () => void ran.push("ran"), { timeoutMs });
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(ran).toEqual([]);
      await held.release();
      await patient;
      expect(ran).toEqual(["ran"]);
    });

    test("a lock does not prevent writes, and outlives its entry", async () => {
      const held = await hold(store, "key");
      await store.set("key", "value");
      await store.delete("key");
      expect(await rejectionOf(store.lock("key", async () => {}, { timeoutMs: 20 }))).toMatchObject(locked);
      await held.release();
    });

    test("a waiter that gives up does not release the lock to the next one before it is free", async () => {
      const held = await hold(store, "key");
      const impatient = rejectionOf(store.lock("key", async () => {}, { timeoutMs: 10 }));
      const ran: string[] = [];
      const patient = store.lock("key", async () => void ran.push("ran"));
      expect(await impatient).toMatchObject(locked);
      expect(ran).toEqual([]);
      await held.release();
      await patient;
      expect(ran).toEqual(["ran"]);
    });

    const fail = (): never => {
      throw new Error("the task's own");
    };
    test.each([
      { how: "rejects", task: async () => fail() },
      { how: "throws", task: fail },
    ])("a task that $how passes on its error and releases the lock", async ({ task }) => {
      expect(await rejectionOf(store.lock("key", task))).toMatchObject({ message: "the task's own" });
      expect(await store.lock("key", async () => "next", { timeoutMs: 1_000 })).toBe("next");
    });
  });
}

/** Resolves when the lock is taken; `release` resolves when it is released. */
async function hold(store: TokenStore, key: string): Promise<{ release(): Promise<void> }> {
  const [taken, ended] = [latch(), latch()];
  const held = store.lock(key, () => {
    taken.release();
    return ended.promise;
  });
  await Promise.race([taken.promise, held]);
  return {
    release() {
      ended.release();
      return held;
    },
  };
}
