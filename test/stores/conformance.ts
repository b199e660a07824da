// What every token store promises, as tests of a factory.
import { beforeEach, describe, expect, test } from "vitest";
import type { TokenStore } from "../../src/index.js";
import { type SteppedClock, steppedClock } from "../support/clock.js";
import { rejectionOf } from "../support/wait.js";

export interface StoreUnderTest {
  readonly name: string;
  /** Makes an empty store that reads the given clock. Called once per test; `onTestFinished` may clean up after it. */
  readonly create: (clock: { readonly now: () => number }) => TokenStore | Promise<TokenStore>;
}

/** How our own stores refuse arguments of the wrong type. Other stores need not check them. */
export function describeRefusals({ name, create }: StoreUnderTest): void {
  describe(`${name} refuses, and keeps its entries, for`, () => {
    type Call = (store: TokenStore) => Promise<unknown>;
    const never = undefined as never;
    const calls: { what: string; option: string; call: Call }[] = [
      ...[undefined, null, 5, { a: 1 }, ["v"]].map((value) => ({
        what: `the value ${JSON.stringify(value)}`,
        option: "value",
        call: ((store) => store.set("key", value as never)) as Call,
      })),
      ...[undefined, null, 5, {}].map((key) => ({
        what: `the key ${JSON.stringify(key)}`,
        option: "key",
        call: (async (store) => {
          await store.get(key as never);
        }) as Call,
      })),
      { what: "a missing key in set", option: "key", call: (store) => store.set(never, "v") },
      { what: "a missing key in delete", option: "key", call: (store) => store.delete(never) },
      { what: "a missing key in lock", option: "key", call: (store) => store.lock(never, async () => {}) },
      ...[Number.NaN, "123", null].map((expiresAt) => ({
        what: `expiresAt ${String(expiresAt)}`,
        option: "expiresAt",
        call: ((store) => store.set("key", "v", { expiresAt: expiresAt as never })) as Call,
      })),
      {
        what: "a number as ifVersion",
        option: "ifVersion",
        call: (store) => store.set("key", "v", { ifVersion: 1 as never }),
      },
      {
        what: "null as options",
        option: "options",
        call: (store) => store.set("key", "v", null as never),
      },
      ...[Number.NaN, -1, "10"].map((timeoutMs) => ({
        what: `timeoutMs ${String(timeoutMs)}`,
        option: "timeoutMs",
        call: ((store) => store.lock("key", async () => {}, { timeoutMs: timeoutMs as never })) as Call,
      })),
    ];
    test.each(calls)("$what", async ({ call, option }) => {
      const store = await create(steppedClock());
      const kept = await store.set("other", "precious");
      const refusal = { name: "ConfigurationError", code: "option_invalid", option };
      expect(await rejectionOf(call(store))).toMatchObject(refusal);
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

    test("without ifVersion the last write wins", async () => {
      await store.set("key", "first");
      await store.set("key", "second");
      expect((await store.get("key"))?.value).toBe("second");
    });

    test("a write with ifVersion replaces only that version", async () => {
      const first = await store.set("key", "first");
      const second = await store.set("key", "second", { ifVersion: first.version });
      const error = await rejectionOf(store.set("key", "third", { ifVersion: first.version }));
      expect(error).toMatchObject({ name: "StoreError", code: "store_conflict" });
      expect(await store.get("key")).toEqual(second);
    });

    test("a write with ifVersion null needs a missing entry", async () => {
      await store.set("key", "first", { ifVersion: null });
      expect(await rejectionOf(store.set("key", "second", { ifVersion: null }))).toMatchObject({
        code: "store_conflict",
      });
      expect((await store.get("key"))?.value).toBe("first");
    });

    test("a write with a version of another entry does not create an entry", async () => {
      const { version } = await store.set("other", "value");
      expect(await rejectionOf(store.set("key", "x", { ifVersion: version }))).toMatchObject({
        code: "store_conflict",
      });
      expect(await store.get("key")).toBeUndefined();
    });

    test("of many writes with ifVersion null at once, one wins", async () => {
      const writes = Array.from({ length: 20 }, (_, index) =>
        store.set("key", String(index), { ifVersion: null }).then(
          () => index,
          () => undefined,
        ),
      );
      const winners = (await Promise.all(writes)).filter((index) => index !== undefined);
      expect(winners).toHaveLength(1);
      expect((await store.get("key"))?.value).toBe(String(winners[0]));
    });

    test("the version of a deleted entry stays invalid, even after the entry was written again", async () => {
      const first = await store.set("key", "first");
      await store.delete("key");
      expect(await rejectionOf(store.set("key", "x", { ifVersion: first.version }))).toMatchObject({
        code: "store_conflict",
      });
      await store.set("key", "again", { ifVersion: null });
      expect(await rejectionOf(store.set("key", "x", { ifVersion: first.version }))).toMatchObject({
        code: "store_conflict",
      });
    });

    test("of many writes over one version at once, one wins", async () => {
      const { version } = await store.set("key", "start");
      const writes = Array.from({ length: 20 }, (_, index) =>
        store.set("key", String(index), { ifVersion: version }).then(
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

    test("deleting one entry leaves others alone", async () => {
      await store.set("a", "1");
      await store.set("b", "2");
      await store.delete("a");
      expect((await store.get("b"))?.value).toBe("2");
    });

    test("an entry is missing from the instant at which it expires", async () => {
      const old = await store.set("key", "value", { expiresAt: clock.now() + 1_000 });
      clock.advance(999);
      expect((await store.get("key"))?.value).toBe("value");
      clock.advance(1);
      expect(await store.get("key")).toBeUndefined();
      expect(await rejectionOf(store.set("key", "x", { ifVersion: old.version }))).toMatchObject({
        code: "store_conflict",
      });
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

    test("an expired entry does not affect others", async () => {
      await store.set("short", "1", { expiresAt: clock.now() + 1_000 });
      await store.set("long", "2", { expiresAt: clock.now() + 2_000 });
      await store.set("kept", "3");
      clock.advance(1_000);
      await store.set("new", "4");
      const values = [];
      for (const key of ["short", "long", "kept", "new"]) values.push((await store.get(key))?.value);
      expect(values).toEqual([undefined, "2", "3", "4"]);
    });

    test("lock resolves with the result of its task", async () => {
      expect(await store.lock("key", async () => 42)).toBe(42);
    });

    test("tasks under one lock never overlap, and all run", async () => {
      let inside = 0;
      let most = 0;
      let total = 0;
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
      expect(await rejectionOf(late)).toMatchObject({ name: "StoreError", code: "store_locked" });
      await held.release();
      await store.lock("key", async () => {});
      expect(ran).toEqual([]);
    });

    test.each([
      { wait: "0 ms", timeoutMs: 0 },
      { wait: "infinity", timeoutMs: Number.POSITIVE_INFINITY },
      { wait: "more than a timer can keep", timeoutMs: 2 ** 40 },
    ])("a free lock is taken with a timeout of $wait", async ({ timeoutMs }) => {
      expect(await store.lock("key", async () => "taken", { timeoutMs })).toBe("taken");
    });

    test.each([
      { wait: "infinity", timeoutMs: Number.POSITIVE_INFINITY },
      { wait: "more than a timer can keep", timeoutMs: 2 ** 40 },
    ])("a held lock is awaited with a timeout of $wait", async ({ timeoutMs }) => {
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
      expect(await rejectionOf(store.lock("key", async () => {}, { timeoutMs: 20 }))).toMatchObject({
        code: "store_locked",
      });
      await held.release();
    });

    test("a waiter that gives up does not release the lock to the next one before it is free", async () => {
      const held = await hold(store, "key");
      const impatient = rejectionOf(store.lock("key", async () => {}, { timeoutMs: 10 }));
      const ran: string[] = [];
      const patient = store.lock("key", async () => void ran.push("ran"));
      expect(await impatient).toMatchObject({ code: "store_locked" });
      expect(ran).toEqual([]);
      await held.release();
      await patient;
      expect(ran).toEqual(["ran"]);
    });

    test.each([
      {
        how: "rejects",
        task: async () => {
          throw new Error("the task's own");
        },
      },
      {
        how: "throws",
        task: (): Promise<never> => {
          throw new Error("the task's own");
        },
      },
    ])("a task that $how passes on its error and releases the lock", async ({ task }) => {
      expect(await rejectionOf(store.lock("key", task))).toMatchObject({ message: "the task's own" });
      expect(await store.lock("key", async () => "next", { timeoutMs: 1_000 })).toBe("next");
    });

    test("a task can read and write under its lock", async () => {
      const add = () =>
        store.lock("key", async () => {
          const entry = await store.get("key");
          const next = String(Number(entry?.value ?? "0") + 1);
          await store.set("key", next, { ifVersion: entry?.version ?? null });
        });
      await Promise.all(Array.from({ length: 10 }, add));
      expect((await store.get("key"))?.value).toBe("10");
    });
  });
}

/** Resolves when the lock is taken; `release` resolves when it is released. */
async function hold(store: TokenStore, key: string): Promise<{ release(): Promise<void> }> {
  let release = () => {};
  let held: Promise<void> | undefined;
  await new Promise<void>((taken, failed) => {
    held = store.lock(key, () => {
      taken();
      return new Promise<void>((resolve) => {
        release = resolve;
      });
    });
    held.catch(failed);
  });
  return {
    async release() {
      release();
      await held;
    },
  };
}
