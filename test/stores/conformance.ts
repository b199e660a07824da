// What every token store promises, as tests of a factory: run them for each store there is.
import { beforeEach, describe, expect, test } from "vitest";
import type { TokenStore } from "../../src/index.js";
import { type SteppedClock, steppedClock } from "../support/clock.js";
import { rejectionOf } from "../support/wait.js";

export interface StoreUnderTest {
  readonly name: string;
  /**
   * An empty store that reads the given clock. Called once per test; `onTestFinished` may clean up after it. A store
   * that cannot be given a clock says so by `ownClock`.
   */
  readonly create: (clock: { readonly now: () => number }) => TokenStore | Promise<TokenStore>;
  /** Expiry is by a clock that no test moves: the tests of it are left out. */
  readonly ownClock?: boolean;
}

/** What a store of ours answers to arguments of the wrong type, which a store of a user's own need not look at. */
export function describeRefusals({ name, create }: StoreUnderTest): void {
  describe(`${name} refuses, and keeps what it has, with`, () => {
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
      { what: "no key to write", option: "key", call: (store) => store.set(never, "v") },
      { what: "no key to delete", option: "key", call: (store) => store.delete(never) },
      { what: "no key to lock", option: "key", call: (store) => store.lock(never, async () => {}) },
      ...[Number.NaN, "123", null].map((expiresAt) => ({
        what: `expiresAt ${String(expiresAt)}`,
        option: "expiresAt",
        call: ((store) => store.set("key", "v", { expiresAt: expiresAt as never })) as Call,
      })),
      {
        what: "an ifVersion that is none",
        option: "ifVersion",
        call: (store) => store.set("key", "v", { ifVersion: 1 as never }),
      },
      {
        what: "options that are null",
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

export function describeStore({ name, create, ownClock = false }: StoreUnderTest): void {
  describe(`${name} keeps the promises of a token store`, () => {
    let clock: SteppedClock;
    let store: TokenStore;
    beforeEach(async () => {
      clock = steppedClock();
      store = await create(clock);
    });

    test("what was never written is undefined", async () => {
      expect(await store.get("key")).toBeUndefined();
    });

    test("what was written is read, with the version that writing gave", async () => {
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
    ])("$what survives", async ({ key, value }) => {
      await store.set(key, value);
      expect((await store.get(key))?.value).toBe(value);
      expect(await store.get(`${key}x`)).toBeUndefined();
    });

    test("keys that differ in one half of a surrogate pair, in case or in a trailing space are apart", async () => {
      const keys = ["\ud83d", "\ud83e", "a", "A", "a ", "\u00e4", "a\u0308"];
      for (const key of keys) await store.set(key, `of ${key}`);
      for (const key of keys) expect((await store.get(key))?.value).toBe(`of ${key}`);
    });

    test("every write changes the version, also of the same value", async () => {
      const versions = [];
      for (let times = 0; times < 5; times++) versions.push((await store.set("key", "same")).version);
      expect(new Set(versions).size).toBe(5);
    });

    test("without ifVersion the last write wins", async () => {
      await store.set("key", "first");
      await store.set("key", "second");
      expect((await store.get("key"))?.value).toBe("second");
    });

    test("with ifVersion only that version is written over", async () => {
      const first = await store.set("key", "first");
      const second = await store.set("key", "second", { ifVersion: first.version });
      const error = await rejectionOf(store.set("key", "third", { ifVersion: first.version }));
      expect(error).toMatchObject({ name: "StoreError", code: "store_conflict" });
      expect(await store.get("key")).toEqual(second);
    });

    test("with ifVersion null only where there is none", async () => {
      await store.set("key", "first", { ifVersion: null });
      expect(await rejectionOf(store.set("key", "second", { ifVersion: null }))).toMatchObject({
        code: "store_conflict",
      });
      expect((await store.get("key"))?.value).toBe("first");
    });

    test("with a version there is no writing where there is none", async () => {
      const { version } = await store.set("other", "value");
      expect(await rejectionOf(store.set("key", "x", { ifVersion: version }))).toMatchObject({
        code: "store_conflict",
      });
      expect(await store.get("key")).toBeUndefined();
    });

    test("of many that write where there is none, one wins", async () => {
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

    test("a version of what was deleted is no version any more, also after it was written again", async () => {
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

    test("of many that write over one version, one wins", async () => {
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

    test("what was deleted is gone, and deleting nothing is no error", async () => {
      await store.set("key", "value");
      await store.delete("key");
      await store.delete("key");
      expect(await store.get("key")).toBeUndefined();
    });

    test("keys are apart", async () => {
      await store.set("a", "1");
      await store.set("b", "2");
      await store.delete("a");
      expect((await store.get("b"))?.value).toBe("2");
    });

    test.skipIf(ownClock)(
      "what expires is gone from that instant on, and can be written as if it never was",
      async () => {
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
      },
    );

    test.skipIf(ownClock)("a write without expiresAt takes an earlier expiry away", async () => {
      await store.set("key", "value", { expiresAt: clock.now() + 1_000 });
      await store.set("key", "value");
      clock.advance(10_000);
      expect((await store.get("key"))?.value).toBe("value");
    });

    test.skipIf(ownClock).each([
      { when: "never, by infinity", expiresAt: Number.POSITIVE_INFINITY, kept: true },
      { when: "long ago", expiresAt: 0, kept: false },
      { when: "before all time", expiresAt: Number.NEGATIVE_INFINITY, kept: false },
    ])("what expires $when can be written", async ({ expiresAt, kept }) => {
      await store.set("key", "value", { expiresAt });
      expect((await store.get("key"))?.value).toBe(kept ? "value" : undefined);
    });

    test.skipIf(ownClock)("what expires takes nothing else along", async () => {
      await store.set("short", "1", { expiresAt: clock.now() + 1_000 });
      await store.set("long", "2", { expiresAt: clock.now() + 2_000 });
      await store.set("kept", "3");
      clock.advance(1_000);
      await store.set("new", "4");
      const values = [];
      for (const key of ["short", "long", "kept", "new"]) values.push((await store.get(key))?.value);
      expect(values).toEqual([undefined, "2", "3", "4"]);
    });

    test("a lock gives what the task gives", async () => {
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

    test("without the lock they would", async () => {
      let inside = 0;
      let most = 0;
      const task = async () => {
        inside++;
        most = Math.max(most, inside);
        await new Promise((resolve) => setTimeout(resolve, 1));
        inside--;
      };
      await Promise.all(Array.from({ length: 10 }, task));
      expect(most).toBeGreaterThan(1);
    });

    test("locks of different keys do not wait for each other", async () => {
      const held = await hold(store, "a");
      expect(await store.lock("b", async () => "had")).toBe("had");
      await held.release();
    });

    test("a lock that is not had in time is store_locked, and its task does not run", async () => {
      const held = await hold(store, "key");
      const ran: string[] = [];
      const late = store.lock("key", async () => void ran.push("ran"), { timeoutMs: 20 });
      expect(await rejectionOf(late)).toMatchObject({ name: "StoreError", code: "store_locked" });
      await held.release();
      await store.lock("key", async () => {});
      expect(ran).toEqual([]);
    });

    test.each([
      { wait: "no time at all", timeoutMs: 0 },
      { wait: "for ever", timeoutMs: Number.POSITIVE_INFINITY },
      { wait: "longer than a timer can", timeoutMs: 2 ** 40 },
    ])("a free lock is had by who would wait $wait", async ({ timeoutMs }) => {
      expect(await store.lock("key", async () => "had", { timeoutMs })).toBe("had");
    });

    test.each([
      { wait: "for ever", timeoutMs: Number.POSITIVE_INFINITY },
      { wait: "longer than a timer can", timeoutMs: 2 ** 40 },
    ])("a held lock is awaited by who would wait $wait", async ({ timeoutMs }) => {
      const held = await hold(store, "key");
      const ran: string[] = [];
      const patient = store.lock("key", async () => void ran.push("ran"), { timeoutMs });
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(ran).toEqual([]);
      await held.release();
      await patient;
      expect(ran).toEqual(["ran"]);
    });

    test("an entry may be written by who does not hold its lock, and the lock outlives the entry", async () => {
      const held = await hold(store, "key");
      await store.set("key", "value");
      await store.delete("key");
      expect(await rejectionOf(store.lock("key", async () => {}, { timeoutMs: 20 }))).toMatchObject({
        code: "store_locked",
      });
      await held.release();
    });

    test("one that gave up leaves the lock to those behind it, and not before it is free", async () => {
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
    ])("a task that $how rejects with its own error and releases the lock", async ({ task }) => {
      expect(await rejectionOf(store.lock("key", task))).toMatchObject({ message: "the task's own" });
      expect(await store.lock("key", async () => "next", { timeoutMs: 1_000 })).toBe("next");
    });

    test("a task may read and write under its lock", async () => {
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

/** Resolves when the lock is had; `release` resolves when it is given back. */
async function hold(store: TokenStore, key: string): Promise<{ release(): Promise<void> }> {
  let release = () => {};
  let held: Promise<void> | undefined;
  await new Promise<void>((had, failed) => {
    held = store.lock(key, () => {
      had();
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
