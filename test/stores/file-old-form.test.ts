// A store that an earlier version wrote, which is one file, becomes a folder with the same entries.
import { randomBytes } from "node:crypto";
import fs, {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { StoreError } from "../../src/index.js";
import { encryptionWith } from "../../src/stores/encryption.js";
import { fileStore } from "../../src/stores/file.js";
import { rejectionOf } from "../support/wait.js";
import { oldFile } from "./old-file.js";
import { temporaryFolder } from "./temporary-folder.js";

const key = randomBytes(32).toString("base64");
const plain = { plaintext: true };
const far = 4_000_000_000_000;

let folder: string;
let path: string;
beforeEach(() => {
  folder = temporaryFolder();
  path = join(folder, "store.json");
});
const write = (contents: string) => {
  writeFileSync(path, contents, { mode: 0o600 });
  chmodSync(path, 0o600);
};
const setAside = () => readdirSync(folder).filter((name) => name.startsWith("store.json.corrupt-"));

describe.each([
  { name: "an encrypted file", options: { key }, encryption: encryptionWith(key) },
  { name: "a file in plaintext", options: plain, encryption: undefined },
])("$name of the old form", ({ options, encryption }) => {
  const entries = [
    { key: "a", value: "välue" },
    { key: "k".repeat(300), value: "", expiresAt: far },
    { key: "over", value: "old", expiresAt: 1 },
  ];
  beforeEach(async () => {
    write(await oldFile(entries, encryption));
    mkdirSync(join(`${path}.locks`, "write", "free"), { recursive: true });
  });

  async function expectTaken(): Promise<void> {
    const store = fileStore(path, options);
    expect((await store.get("a"))?.value).toBe("välue");
    expect((await store.get("k".repeat(300)))?.value).toBe("");
    expect(await store.get("over")).toBeUndefined();
    const early = fileStore(path, { ...options, clock: { now: () => far - 1 } });
    const late = fileStore(path, { ...options, clock: { now: () => far } });
    expect((await early.get("k".repeat(300)))?.value).toBe("");
    expect(await late.get("k".repeat(300))).toBeUndefined();
    expect(readdirSync(folder)).toEqual(["store.json"]);
    expect(statSync(path).isDirectory()).toBe(true);
  }

  test("is taken over by the first use", expectTaken);

  test("is taken over by a write", async () => {
    await fileStore(path, options).set("b", "new");
    expect((await fileStore(path, options).get("b"))?.value).toBe("new");
    await expectTaken();
  });

  test("is taken over once by twenty stores at the same time, and no write of theirs is lost", async () => {
    const names = Array.from({ length: 20 }, (_, index) => `name ${index}`);
    await Promise.all(names.map((name) => fileStore(path, options).set(name, name)));
    for (const name of names) expect((await fileStore(path, options).get(name))?.value).toBe(name);
    await expectTaken();
  });

  test("is taken over with what a process of an earlier version writes meanwhile", async () => {
    const late = `${path}.locks/contents`;
    writeFileSync(late, await oldFile([...entries, { key: "b", value: "late" }], encryption), {
      mode: 0o600,
    });
    const taken = fileStore(path, options).get("a");
    const hasBegun = () => readdirSync(folder).some((name) => name.includes(".new-"));
    while (!hasBegun()) await new Promise((resolve) => setImmediate(resolve));
    renameSync(late, path);
    await taken;
    expect((await fileStore(path, options).get("b"))?.value).toBe("late");
    await expectTaken();
  });

  test.each([
    { name: "a process was killed between the two moves", since: () => {} },
    { name: "that, and after somebody made an empty folder", since: () => mkdirSync(path, { mode: 0o700 }) },
  ])("is taken over after $name", async ({ since }) => {
    renameSync(path, `${path}.old-form`);
    mkdirSync(join(folder, "store.json.new-0123456789abcdef"));
    since();
    await expectTaken();
  });

  test("is removed after a process was killed before it did that", async () => {
    const old = readFileSync(path);
    await fileStore(path, options).get("a");
    writeFileSync(`${path}.old-form`, old, { mode: 0o600 });
    writeFileSync(join(path, "taken-over"), "");
    await expectTaken();
    expect(readdirSync(path)).not.toContain("taken-over");
  });

  test("is taken over with what earlier versions wrote after processes were killed between the two moves", async () => {
    renameSync(path, `${path}.old-form`);
    write(await oldFile([{ key: "b", value: "1" }], encryption));
    renameSync(path, `${path}.old-form-2`);
    write(await oldFile([{ key: "b", value: "2" }], encryption));
    expect((await fileStore(path, options).get("b"))?.value).toBe("2");
    await expectTaken();
  });

  test("is taken over with what an earlier version writes between the two moves", async () => {
    const late = await oldFile([{ key: "b", value: "late" }], encryption);
    const real = fs.renameSync;
    vi.spyOn(fs, "renameSync").mockImplementation((from, to) => {
      real(from, to);
      if (to === `${path}.old-form`) write(late);
    });
    syncBuiltinESMExports();
    onTestFinished(() => {
      vi.restoreAllMocks();
      syncBuiltinESMExports();
    });
    expect((await fileStore(path, options).get("b"))?.value).toBe("late");
    await expectTaken();
  });

  test("is left as it is beside another store that was put in its place, and that is reported", async () => {
    renameSync(path, `${path}.old-form`);
    await fileStore(join(folder, "other"), options).set("b", "other");
    renameSync(join(folder, "other"), path);
    expect(await rejectionOf(fileStore(path, options).get("b"))).toMatchObject({
      code: "store_unavailable",
      message: expect.stringMatching(/Move one of the two away/),
    });
    rmSync(path, { recursive: true });
    await expectTaken();
  });

  test("is taken over without the files and folders beside it whose names are alike", async () => {
    const alike = ["new-photos-0123456789abcdef", "old-form"].map((name) => `${path}.${name}`);
    for (const name of alike) mkdirSync(name);
    expect((await fileStore(path, options).get("a"))?.value).toBe("välue");
    expect(readdirSync(folder).map((name) => join(folder, name))).toEqual([path, ...alike]);
  });

  test("is taken over behind a link, which stays", async () => {
    const link = join(temporaryFolder(), "link");
    symlinkSync(path, link);
    expect((await fileStore(link, options).get("a"))?.value).toBe("välue");
    await expectTaken();
  });
});

const storeFile = (change: object) =>
  JSON.stringify({ kind: "bivariant token store", format: 1, cipher: "none", entries: {}, ...change });
const entry = (value: unknown) => storeFile({ entries: { key: value } });

describe("a damaged file of the old form is set aside and reported once:", () => {
  const damaged = [
    { name: "one that is cut", contents: storeFile({}).slice(0, -1) },
    { name: "an unknown cipher", contents: storeFile({ cipher: "rot13" }) },
    { name: "missing entries", contents: storeFile({ entries: undefined }) },
    { name: "an entry without a value", contents: entry({ version: "1" }) },
  ];
  test.each(damaged)("$name", async ({ contents }) => {
    const store = fileStore(path, plain);
    write(contents);
    const error = (await rejectionOf(store.get("key"))) as StoreError;
    expect(error).toMatchObject({ name: "StoreError", code: "store_corrupt" });
    const [name = "", ...others] = setAside();
    expect(others).toEqual([]);
    expect(error.message).toContain(join(folder, name));
    expect(readFileSync(join(folder, name))).toEqual(Buffer.from(contents));
    expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    expect(await store.get("key")).toBeUndefined();
    expect(await store.set("key", "anew", { ifVersion: null })).toMatchObject({ value: "anew" });
  });

  test("by one of ten stores that read it at the same time", async () => {
    write(storeFile({}).slice(0, -1));
    const read = () =>
      fileStore(path, { key })
        .get("key")
        .catch((error: StoreError) => error.code);
    const outcomes = await Promise.all(Array.from({ length: 10 }, read));
    expect(outcomes.filter((outcome) => outcome === "store_corrupt")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === undefined)).toHaveLength(9);
    expect(setAside()).toHaveLength(1);
  });
});

describe("an intact file of the old form that does not fit, or another file, is refused and left as it is:", () => {
  const encrypted = () => oldFile([{ key: "key", value: "value" }], encryptionWith(key));
  const isNoFolder = /store\.json is not a folder\. Use a path for a folder of the store\.$/;
  test.each([
    { name: "another key", make: encrypted, options: { key: randomBytes(32) }, says: /with another key/ },
    { name: "a missing key", make: encrypted, options: plain, says: /encrypted.*with the key/ },
    { name: "a key for plaintext", make: () => oldFile([]), options: { key }, says: /is not encrypted/ },
    { name: "an empty file", make: () => "", options: plain, says: isNoFolder },
    { name: "a text", make: () => "my notes", options: plain, says: isNoFolder },
    { name: "a byte order mark", make: () => `\ufeff${storeFile({})}`, options: plain, says: isNoFolder },
    { name: "JSON of another program", make: () => '{"name":"x"}', options: plain, says: isNoFolder },
    {
      name: "a newer format",
      make: () => storeFile({ format: 2 }),
      options: plain,
      says: /newer version/,
    },
  ])("$name", async ({ make, options, says }) => {
    write(await make());
    const before = readFileSync(path);
    const store = fileStore(path, options);
    for (const use of [() => store.get("key"), () => store.set("key", "x"), () => store.delete("key")]) {
      const error = { name: "StoreError", code: "store_unavailable", message: expect.stringMatching(says) };
      expect(await rejectionOf(use())).toMatchObject(error);
    }
    expect(readFileSync(path)).toEqual(before);
    expect(readdirSync(folder)).toEqual(["store.json"]);
  });

  test.skipIf(process.platform === "win32")("a file that others may use", async () => {
    write(await oldFile([]));
    chmodSync(path, 0o640);
    const error = await rejectionOf(fileStore(path, plain).get("key"));
    expect(error).toMatchObject({
      code: "store_unavailable",
      message: expect.stringMatching(/Run: chmod 600/),
    });
    expect(existsSync(path)).toBe(true);
    write("my notes");
    chmodSync(path, 0o640);
    expect(await rejectionOf(fileStore(path, plain).get("key"))).toMatchObject({
      message: expect.stringMatching(/is not a folder/),
    });
  });
});
