// Tests of our own stores: the public kit, and what they promise beyond it.
import { beforeEach, describe, expect, test } from "vitest";
import type { Clock, TokenStore } from "../../src/index.js";
import { type MakeStore, testStore } from "../../src/stores/testing.js";
import { movedBySleeps, type SteppedClock, steppedClock } from "../support/clock.js";
import { rejectionOf } from "../support/wait.js";

export interface StoreUnderTest {
  readonly name: string;
  /** Makes an empty store that reads the given clock. `onTestFinished` may clean up after it. */
  readonly create: (clock: Clock) => TokenStore;
  /** For the kit. By default a store of `create`, whose entries expire without real time. */
  readonly make?: MakeStore;
  /**
   * Whether entries expire by the clock of a server, which no test can step. Then only the kit
   * tests expiry.
   */
  readonly expiresByServer?: boolean;
}

/** Tests that a store refuses arguments of the wrong type. */
export function describeRefusals({ name, create }: StoreUnderTest): void {
  describe(`${name} refuses, and keeps its entries, for`, () => {
    type Call = (store: TokenStore, value: never) => Promise<unknown>;
    const calls: [method: string, option: string, values: unknown[], call: Call][] = [
      ["set", "value", [undefined, 5], (store, value) => store.set("key", value)],
      ["get", "key", [undefined, 5], (store, key) => store.get(key)],
      ["set", "key", [undefined], (store, key) => store.set(key, "v")],
      ["delete", "key", [undefined], (store, key) => store.delete(key)],
      ["lock", "key", [undefined], (store, key) => store.lock(key, async () => {})],
      ["lock", "task", [undefined, "x"], (store, task) => store.lock("key", task)],
      [
        "set",
        "expiresAt",
        [Number.NaN, "1", null],
        (store, expiresAt) => store.set("key", "v", { expiresAt }),
      ],
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

export function describeStore({
  name,
  create,
  make = () => {
    const clock = movedBySleeps();
    return { store: create(clock), clock };
  },
  expiresByServer = false,
}: StoreUnderTest): void {
  describe(name, () => {
    testStore({ describe, test }, make);

    let clock: SteppedClock;
    let store: TokenStore;
    beforeEach(() => {
      clock = steppedClock();
      store = create(clock);
    });

    test.each([
      { what: "a key like a property", key: "__proto__", value: "v" },
      { what: "a key like a path", key: "../../k", value: "v" },
      { what: "half a surrogate pair", key: "\ud83d", value: "\udc00 alone" },
      { what: "an empty key", key: "", value: "v" },
      { what: "a key of 10,000 letters", key: "k".repeat(10_000), value: "v" },
      { what: "a key with braces and an escape", key: "{a}%7d", value: "v" },
    ])("reads $what as it was written", async ({ key, value }) => {
      await store.set(key, value);
      expect((await store.get(key))?.value).toBe(value);
      expect(await store.get(`${key}x`)).toBeUndefined();
      expect(await store.get("\ud83e")).toBeUndefined();
    });

    if (!expiresByServer)
      test("has no entry from the instant at which it expires", async () => {
        const old = await store.set("key", "value", { expiresAt: clock.now() + 1_000 });
        clock.advance(999);
        expect((await store.get("key"))?.value).toBe("value");
        clock.advance(1);
        expect(await store.get("key")).toBeUndefined();
        const late = store.set("key", "x", { ifVersion: old.version });
        expect(await rejectionOf(late)).toMatchObject({
          name: "StoreError",
          code: "store_conflict",
        });
      });

    test.each([
      { when: "at infinity", expiresAt: Number.POSITIVE_INFINITY, kept: true },
      { when: "later than any calendar has it", expiresAt: 1e300, kept: true },
      { when: "long ago", expiresAt: 0, kept: false },
      { when: "at minus infinity", expiresAt: Number.NEGATIVE_INFINITY, kept: false },
    ])("writes an entry that expires $when", async ({ expiresAt, kept }) => {
      await store.set("key", "value", { expiresAt });
      expect((await store.get("key"))?.value).toBe(kept ? "value" : undefined);
    });

    test.each([2 ** 40, Number.POSITIVE_INFINITY])(
      "locks a free key with a timeout of 0 ms, and waits for a locked one with %d ms",
      async (timeoutMs) => {
        const order: string[] = [];
        let patient: Promise<unknown> | undefined;
        const first = async () => {
          patient = store.lock("key", async () => void order.push("second"), { timeoutMs });
          // Stores on disk and in Redis ask again by the machine's time. A caller that does
          // not wait would be faster than this.
          await new Promise((resolve) => setTimeout(resolve, 20));
          order.push("first");
        };
        await store.lock("key", first, { timeoutMs: 0 });
        await patient;
        expect(order).toEqual(["first", "second"]);
      },
    );

    test("passes on what a task throws at once, and frees the lock", async () => {
      const fail = (): never => {
        throw new Error("the task's own");
      };
      const message = "the task's own";
      expect(await rejectionOf(store.lock("key", fail))).toMatchObject({ message });
      expect(await store.lock("key", async () => "next", { timeoutMs: 1_000 })).toBe("next");
    });
  });
}
