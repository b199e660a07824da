// A file that is torn or another program's is set aside and told once; one that only does not fit is left as it is.
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { isStoreError, type StoreError } from "../../src/index.js";
import { fileStore } from "../../src/stores/file.js";
import { rejectionOf } from "../support/wait.js";
import { temporaryFolder } from "./temporary-folder.js";

const key = randomBytes(32);
const posix = process.platform !== "win32";

let folder: string;
let path: string;
beforeEach(() => {
  folder = temporaryFolder();
  path = join(folder, "store.json");
});

const write = (contents: string | Uint8Array) => {
  writeFileSync(path, contents, { mode: 0o600 });
  chmodSync(path, 0o600);
};
const setAside = () => readdirSync(folder).filter((name) => name.startsWith("store.json.corrupt-"));
const valid = (more: object) =>
  JSON.stringify({ kind: "bivariant token store", format: 1, cipher: "none", entries: {}, ...more });

/** That it was told where the file is, that it is there unchanged, and that nothing else was told. */
function expectSetAside(error: unknown, contents: string | Uint8Array): void {
  expect(error).toMatchObject({ name: "StoreError", code: "store_corrupt" });
  const [name = "none", ...others] = setAside();
  expect(others).toEqual([]);
  expect((error as StoreError).message).toContain(join(folder, name));
  expect(readFileSync(join(folder, name))).toEqual(Buffer.from(contents));
  if (posix) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
}

describe("a file that is none of a store's is set aside and told once", () => {
  const foreign = [
    { name: "an empty file", contents: "" },
    { name: "a text", contents: "my notes" },
    { name: "bytes that are no UTF-8", contents: new Uint8Array([0x22, 0xff, 0xfe, 0x22]) },
    { name: "zeros, as after a power failure", contents: new Uint8Array(500) },
    { name: "a store's file behind a byte order mark", contents: `\ufeff${valid({})}` },
    { name: "a store's file twice", contents: valid({}) + valid({}) },
    { name: "a JSON array", contents: "[]" },
    { name: "null", contents: "null" },
    { name: "another program's JSON", contents: '{"name":"x","version":"1.0.0"}' },
    { name: "another kind", contents: valid({ kind: "something else" }) },
    { name: "no format", contents: valid({ format: undefined }) },
    { name: "a format as text", contents: valid({ format: "1" }) },
    { name: "a format that never was", contents: valid({ format: 0 }) },
    { name: "an unknown cipher", contents: valid({ cipher: "rot13" }) },
    { name: "no entries", contents: valid({ entries: undefined }) },
    { name: "entries in a list", contents: valid({ entries: [] }) },
    { name: "an entry that is a text", contents: valid({ entries: { key: "value" } }) },
    { name: "an entry without a value", contents: valid({ entries: { key: { version: "1" } } }) },
    { name: "an entry without a version", contents: valid({ entries: { key: { value: "v" } } }) },
    {
      name: "an entry with an expiry as text",
      contents: valid({ entries: { key: { version: "1", value: "v", expiresAt: "soon" } } }),
    },
    { name: "braces 50,000 deep", contents: "[".repeat(50_000) },
  ];
  const ways = ["get", "set", "delete"] as const;
  test.each(foreign.flatMap((row) => ways.map((way) => ({ ...row, way }))))(
    "$name, at $way",
    async ({ contents, way }) => {
      write(contents);
      const store = fileStore(path, { plaintext: true });
      const ask = {
        get: () => store.get("key"),
        set: () => store.set("key", "v"),
        delete: () => store.delete("key"),
      };
      expectSetAside(await rejectionOf(ask[way]()), contents);
      expect(await store.get("key")).toBeUndefined();
      await store.set("key", "anew", { ifVersion: null });
      expect((await store.get("key"))?.value).toBe("anew");
      expect(setAside()).toHaveLength(1);
    },
  );

  test.each([
    { name: "encrypted", options: { key } },
    { name: "in plaintext", options: { plaintext: true } },
  ])("a file $name that was cut off anywhere", async ({ options }) => {
    const store = fileStore(path, options);
    await store.set("one", "välue");
    const contents = readFileSync(path);
    for (let length = 0; length < contents.length; length++) {
      write(contents.subarray(0, length));
      const error = (await rejectionOf(store.get("one"))) as StoreError;
      expect(error, `cut at ${length}`).toMatchObject({ code: "store_corrupt" });
      const [, aside = ""] = /set aside as (\S+);/.exec(error.message) ?? [];
      expect(readFileSync(aside)).toEqual(contents.subarray(0, length));
      expect(await store.get("one")).toBeUndefined();
    }
  });

  test("whatever bytes are changed, an encrypted file never gives another value", async () => {
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
      { numRuns: 300 },
    );
  });

  test("of ten stores that read it at once one is told, and it is there once", async () => {
    write("torn");
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, () =>
        fileStore(path, { key })
          .get("key")
          .catch((error: StoreError) => error.code),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === "store_corrupt")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === undefined)).toHaveLength(9);
    expect(setAside()).toHaveLength(1);
  });

  test.skipIf(!posix)("whatever its user might do with it, what was set aside has mode 0600", async () => {
    for (const mode of [0o400, 0o700]) {
      write("torn");
      chmodSync(path, mode);
      await rejectionOf(fileStore(path, { key }).get("key"));
    }
    expect(setAside().map((name) => statSync(join(folder, name)).mode & 0o777)).toEqual([0o600, 0o600]);
  });

  test("two in the same millisecond are two files", async () => {
    const store = fileStore(path, { key });
    for (let count = 0; count < 20; count++) {
      write(`torn ${count}`);
      await rejectionOf(store.get("key"));
    }
    expect(
      setAside()
        .map((name) => readFileSync(join(folder, name), "utf8"))
        .sort(),
    ).toEqual(Array.from({ length: 20 }, (_, count) => `torn ${count}`).sort());
  });
});

describe("a file that only does not fit is left as it is", () => {
  const encrypted = async () => void (await fileStore(path, { key }).set("key", "value"));
  const plain = async () => void (await fileStore(path, { plaintext: true }).set("key", "value"));
  const cases = [
    {
      name: "another key",
      make: encrypted,
      options: { key: randomBytes(32) },
      says: /written with another key/,
    },
    {
      name: "no key for an encrypted file",
      make: encrypted,
      options: { plaintext: true },
      says: /is encrypted: give the key/,
    },
    { name: "a key for a file in plaintext", make: plain, options: { key }, says: /is not encrypted/ },
    {
      name: "a newer version's file",
      make: async () => write(valid({ format: 2, entries: "of another shape" })),
      options: { plaintext: true },
      says: /newer version/,
    },
  ];
  test.each(cases)("$name", async ({ make, options, says }) => {
    await make();
    const before = readFileSync(path);
    const store = fileStore(path, options);
    for (const ask of [() => store.get("key"), () => store.set("key", "x"), () => store.delete("key")]) {
      const error = await rejectionOf(ask());
      expect(error).toMatchObject({ name: "StoreError", code: "store_unavailable" });
      expect((error as Error).message).toMatch(says);
    }
    expect(readFileSync(path)).toEqual(before);
    expect(setAside()).toEqual([]);
  });

  test.skipIf(!posix).each([0o640, 0o604, 0o620, 0o602, 0o601, 0o644, 0o666])(
    "a file that others may use, mode %o, with the command that mends it",
    async (mode) => {
      const quoted = join(folder, "it's a store.json");
      const store = fileStore(quoted, { key });
      await store.set("key", "value");
      chmodSync(quoted, mode);
      for (const ask of [() => store.get("key"), () => store.set("key", "x"), () => store.delete("key")])
        expect(await rejectionOf(ask())).toMatchObject({ code: "store_unavailable" });
      expect(statSync(quoted).mode & 0o777).toBe(mode);
      const error = (await rejectionOf(store.get("key"))) as Error;
      execFileSync("sh", ["-c", /run: (.*)\.$/.exec(error.message)?.[1] ?? "false"]);
      expect((await store.get("key"))?.value).toBe("value");
    },
  );
});
