// Long tests of the file store: processes killed at random, files cut at every byte, and bytes changed.
import { randomBytes } from "node:crypto";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { isStoreError, type StoreError } from "../../src/index.js";
import { fileStore } from "../../src/stores/file.js";
import { rejectionOf } from "../support/wait.js";
import { killWhileWriting } from "./start-process.js";
import { temporaryFolder } from "./temporary-folder.js";

const key = randomBytes(32).toString("base64");

test("processes that are killed at 100 random moments while they write leave the old value or the new one", async () => {
  const atOnce = 2;
  for (let kills = 0; kills < 100; kills += atOnce)
    await Promise.all(Array.from({ length: atOnce }, () => killWhileWriting(key, Math.random() * 60)));
});

test.each([
  { name: "an encrypted file", options: { key } },
  { name: "a file in plaintext", options: { plaintext: true } },
])("$name that was cut at any byte is set aside", async ({ options }) => {
  const path = join(temporaryFolder(), "store.json");
  const store = fileStore(path, options);
  await store.set("one", "välue");
  const contents = readFileSync(path);
  for (let length = 0; length < contents.length; length++) {
    writeFileSync(path, contents.subarray(0, length), { mode: 0o600 });
    chmodSync(path, 0o600);
    const error = (await rejectionOf(store.get("one"))) as StoreError;
    expect(error, `cut at ${length}`).toMatchObject({ code: "store_corrupt" });
    const [, aside = ""] = /set aside as (\S+);/.exec(error.message) ?? [];
    expect(readFileSync(aside)).toEqual(contents.subarray(0, length));
    expect(await store.get("one")).toBeUndefined();
  }
});

test("an encrypted file with a changed byte never yields another value", async () => {
  const folder = temporaryFolder();
  const path = join(folder, "store.json");
  await fileStore(path, { key }).set("key", "value");
  const contents = readFileSync(path);
  let count = 0;
  await fc.assert(
    fc.asyncProperty(fc.nat(contents.length - 1), fc.nat(255), async (at, byte) => {
      const changed = Buffer.from(contents);
      changed[at] = byte;
      const file = join(folder, `changed-${count++}.json`);
      writeFileSync(file, changed, { mode: 0o600 });
      const outcome = await fileStore(file, { key })
        .get("key")
        .catch((error: unknown) => error);
      if (isStoreError(outcome)) expect(["store_corrupt", "store_unavailable"]).toContain(outcome.code);
      else expect([undefined, "value"]).toContain((outcome as { value: string } | undefined)?.value);
    }),
    { numRuns: 1_000 },
  );
});
