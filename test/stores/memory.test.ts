// The store in memory: the promises of every store, and when entries are dropped.
import { expect, test } from "vitest";
import { memoryStore } from "../../src/index.js";
import { steppedClock } from "../support/clock.js";
import { describeRefusals, describeStore, type StoreUnderTest } from "./own-store.js";

const underTest: StoreUnderTest = {
  name: "memoryStore",
  create: (clock) => memoryStore({ clock }),
};
describeStore(underTest);
describeRefusals(underTest);

test.each([null, { clock: 5 }, { mostEntries: 0 }, { mostEntries: Number.NaN }])(
  "memoryStore refuses the options %j",
  (options) => {
    expect(() => memoryStore(options as never)).toThrow(
      expect.objectContaining({ code: "option_invalid" }),
    );
  },
);

test("an inspection shows no value", async () => {
  const { inspect } = await import("node:util");
  const store = memoryStore();
  await store.set("key", "stored-secret");
  expect(inspect(store, { showHidden: true, depth: 10 })).not.toContain("stored-secret");
});

test("expired entries that are never read again are dropped after 1,000 writes", async () => {
  const clock = steppedClock();
  let readings = 0;
  const store = memoryStore({
    clock: {
      now: () => {
        readings++;
        return clock.now();
      },
    },
  });
  for (let index = 0; index < 900; index++)
    await store.set(`short ${index}`, "v", { expiresAt: clock.now() + 1 });
  clock.advance(2);
  for (let index = 0; index < 100; index++) await store.set(`long ${index}`, "v");
  const before = readings;
  for (let index = 0; index < 1_000; index++) await store.set("one", "v");
  // The second sweep reads what the first one left: the hundred and the one.
  expect(readings - before).toBe(101);
});

test("with mostEntries, the entry that was written longest ago is dropped", async () => {
  const store = memoryStore({ mostEntries: 2 });
  for (const key of ["first", "second", "first", "third"]) await store.set(key, "v");
  const kept = await Promise.all(["first", "second", "third"].map((key) => store.get(key)));
  expect(kept.map((entry) => entry?.value)).toEqual(["v", undefined, "v"]);
});
