// Long tests of the file store: processes killed at random, files cut at every byte, and bytes
// changed.
import { randomBytes } from "node:crypto";
import { readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isStoreError, type StoreError } from "../../src/index.js";
import { encryptedStore } from "../../src/stores/encrypted.js";
import { fileStore } from "../../src/stores/file.js";
import { testStore } from "../../src/stores/testing.js";
import { rejectionOf } from "../support/wait.js";
import { killWhileWriting } from "./start-process.js";
import { entryFiles, temporaryFolder } from "./temporary-folder.js";

const key = randomBytes(32).toString("base64");

describe("an encryptedStore over a fileStore", () => {
  testStore({ describe, test }, () => {
    const path = join(temporaryFolder(), "store");
    const open = () => encryptedStore(fileStore(path, { plaintext: true }), key);
    return { store: open(), second: open() };
  });
});

test("processes that are killed at 100 random moments while they write leave the old value or the new one", async () => {
  const atOnce = 2;
  for (let kills = 0; kills < 100; kills += atOnce)
    await Promise.all(
      Array.from({ length: atOnce }, () => killWhileWriting(key, Math.random() * 60)),
    );
});

test.each([
  { name: "an encrypted store", options: { key } },
  { name: "a store in plaintext", options: { plaintext: true } },
])("the file of an entry of $name that was cut at any byte is set aside", async ({ options }) => {
  const path = join(temporaryFolder(), "store");
  const store = fileStore(path, options);
  for (let length = 0; ; length++) {
    await store.set("one", "välue", { ifVersion: null });
    const [file = ""] = entryFiles(path);
    const contents = readFileSync(file);
    if (length >= contents.length) break;
    truncateSync(file, length);
    const error = (await rejectionOf(store.get("one"))) as StoreError;
    expect(error, `cut at ${length}`).toMatchObject({ code: "store_corrupt" });
    const [, aside = ""] = /set aside as (\S+);/.exec(error.message) ?? [];
    expect(readFileSync(aside)).toEqual(contents.subarray(0, length));
    expect(await store.get("one")).toBeUndefined();
  }
});

test("an encrypted entry with a changed byte never yields another value", async () => {
  const path = join(temporaryFolder(), "store");
  const store = fileStore(path, { key });
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.nat(255), async (at, byte) => {
      await store.delete("key");
      await store.set("key", "value");
      const [file = ""] = entryFiles(path);
      const changed = readFileSync(file);
      changed[at % changed.length] = byte;
      writeFileSync(file, changed);
      const outcome = await store.get("key").catch((error: unknown) => error);
      if (isStoreError(outcome)) expect(outcome.code).toBe("store_corrupt");
      else expect((outcome as { value: string } | undefined)?.value).toBe("value");
    }),
    { numRuns: 1_000 },
  );
});
