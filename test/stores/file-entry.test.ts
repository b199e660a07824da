// Entries of a file store: a process that was suspended in the middle of a change loses to those
// that changed it since.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  copyFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { TokenStore } from "../../src/index.js";
import { encryptionWith } from "../../src/stores/encryption.js";
import { fileStore } from "../../src/stores/file.js";
import { close, look, type Place, replace, sweepEntry } from "../../src/stores/file-entry.js";
import { entryFiles, temporaryFolder } from "./temporary-folder.js";

const key = randomBytes(32);
let path: string;
let store: TokenStore;
let place: Place;
beforeEach(async () => {
  path = join(temporaryFolder(), "store");
  store = fileStore(path, { key });
  const encryption = encryptionWith(key);
  place = { root: path, name: await encryption.nameOf("key"), encryption };
});
const stored = async (name = "key") => (await store.get(name))?.value;
const newestFile = () => entryFiles(path)[0] ?? "";
const numberAfter = (file: string, step = 1) =>
  join(dirname(file), String(Number(file.split("/").at(-1)) + step));

describe("a change that began before", () => {
  const since: { name: string; change: () => Promise<unknown>; value: string | undefined }[] = [
    { name: "another write", change: () => store.set("key", "new"), value: "new" },
    {
      name: "many other writes",
      async change() {
        for (const value of ["1", "2", "3", "4"]) await store.set("key", value);
      },
      value: "4",
    },
    { name: "a delete", change: () => store.delete("key"), value: undefined },
    {
      name: "a delete and a new write",
      async change() {
        await store.delete("key");
        await store.set("key", "again");
      },
      value: "again",
    },
    {
      name: "the sweep of the expired entry and a new write",
      async change() {
        await sweepEntry(place, () => true);
        await store.set("key", "again");
      },
      value: "again",
    },
    {
      name: "a delete by a process that was killed before it removed the folder",
      async change() {
        await store.set("key", "last");
        mkdirSync(join(newestFile(), "..", String(Number(newestFile().split("/").at(-1)) + 1)));
      },
      value: undefined,
    },
  ];

  test.each(since)("$name is not done", async ({ change, value }) => {
    await store.set("key", "old");
    const seen = await look(place);
    await change();
    expect(await replace(place, seen, "late")).toBeUndefined();
    expect(await stored()).toBe(value);
    if (value !== undefined) expect(await close(place, seen)).toBe(false);
    expect(await stored()).toBe(value);
  });

  test.each(since)(
    "$name, with its file written, finds that file gone or its number taken",
    async ({ change, value }) => {
      await store.set("key", "old");
      // As after its last look, just before the link.
      const number = Number(newestFile().split("/").at(-1)) + 1;
      const made = join(dirname(newestFile()), `~${number}.${Date.now()}.0123456789abcdef`);
      copyFileSync(newestFile(), made);
      await change();
      expect(() => linkSync(made, join(dirname(made), String(number)))).toThrow(/ENOENT|EEXIST/);
      expect(await stored()).toBe(value);
    },
  );

  test("the first write of another process is not done", async () => {
    await store.set("other", "value");
    const seen = await look(place);
    await store.set("key", "first");
    expect(await replace(place, seen, "late")).toBeUndefined();
    expect(await stored()).toBe("first");
  });
});

test("a delete that was killed at any step counts, and the next write begins anew", async () => {
  for (const left of ["marker and versions", "marker only", "empty folder"]) {
    await store.set("key", "1");
    const { version } = await store.set("key", "2");
    const files = entryFiles(path);
    const folder = dirname(newestFile());
    if (left !== "empty folder")
      mkdirSync(join(folder, String(Number(newestFile().split("/").at(-1)) + 1)));
    if (left !== "marker and versions")
      for (const file of files) renameSync(file, join(path, "..", "away"));
    expect(await stored(), left).toBeUndefined();
    await expect(store.set("key", "late", { ifVersion: version })).rejects.toMatchObject({
      code: "store_conflict",
    });
    await store.set("key", "new", { ifVersion: null });
    expect(await stored(), left).toBe("new");
    expect(entryFiles(path)).toHaveLength(1);
  }
});

describe("something planted in the folder of an entry is set aside, and the last value counts:", () => {
  const older = () => entryFiles(path)[1] ?? "";
  const planted: { name: string; plant: () => void | Promise<void> }[] = [
    {
      name: "a huge number",
      plant: () => copyFileSync(newestFile(), join(newestFile(), "..", "9".repeat(30))),
    },
    {
      name: "the highest number",
      plant: () => copyFileSync(newestFile(), join(newestFile(), "..", `${2 ** 49}`)),
    },
    {
      name: "one of the last numbers",
      plant: () => copyFileSync(newestFile(), join(newestFile(), "..", `${2 ** 49 - 1}`)),
    },
    {
      name: "a socket",
      async plant() {
        const server = createServer().listen(numberAfter(newestFile()));
        onTestFinished(() => void server.close());
        await once(server, "listening");
      },
    },
    {
      name: "a file that is longer than any text",
      plant() {
        const next = numberAfter(newestFile());
        writeFileSync(next, "");
        truncateSync(next, 2 ** 31);
      },
    },
    {
      name: "a number far above",
      plant: () => copyFileSync(newestFile(), numberAfter(newestFile(), 1_000)),
    },
    {
      name: "the older file under the next number",
      plant: () => copyFileSync(older(), numberAfter(newestFile())),
    },
    {
      name: "the same file under the next number",
      plant: () => copyFileSync(newestFile(), numberAfter(newestFile())),
    },
    {
      name: "garbage under the next number",
      plant: () => writeFileSync(numberAfter(newestFile()), "x"),
    },
    {
      name: "a link to the older file",
      plant: () => symlinkSync(older(), numberAfter(newestFile())),
    },
    {
      name: "the file of another entry",
      async plant() {
        const before = new Set(entryFiles(path));
        await store.set("other", "foreign");
        const [foreign = ""] = entryFiles(path).filter((file) => !before.has(file));
        const [own = ""] = [...before];
        copyFileSync(foreign, numberAfter(own));
      },
    },
  ];
  test.each(planted)("$name", async ({ plant }) => {
    await store.set("key", "old");
    const { version } = await store.set("key", "value");
    await plant();
    for (let times = 0; times < 2; times++)
      expect(await store.get("key")).toEqual({ value: "value", version });
    expect(readdirSync(join(path, "corrupt"))).toHaveLength(1);
    await store.set("key", "new", { ifVersion: version });
    await store.set("key", "newer");
    expect(await stored()).toBe("newer");
    await store.delete("key");
    expect(readdirSync(join(path, "entries"))).not.toContain(place.name);
  });
});

test.each([
  { name: "with a value before it", writes: ["old", "torn"] },
  { name: "without one", writes: ["torn"] },
])(
  "a damaged file $name that others set aside and replaced meanwhile is not set aside again",
  async ({ writes }) => {
    for (const value of writes) await store.set("key", value);
    writeFileSync(newestFile(), "torn");
    const seen = await look(place, async () => {
      await store.get("key").catch(() => {});
      await store.set("key", "new");
    });
    expect(seen.entry?.value).toBe(writes.length === 1 ? "new" : "old");
    expect(await stored()).toBe("new");
  },
);

test("a damaged file that a suspended process sets aside late takes no newer write with it", async () => {
  for (const value of ["1", "2"]) await store.set("key", value);
  const newest = newestFile();
  for (const step of [1, 2, 3]) writeFileSync(numberAfter(newest, step), "torn");
  await look(place, async () => {
    for (const value of ["3", "4"]) await store.set("key", value);
  });
  expect(await stored()).toBe("4");
});

describe("an entry that is no folder is set aside and reported once, and then it is missing:", () => {
  test.each([
    { name: "a file", plant: (entry: string) => writeFileSync(entry, "") },
    { name: "a link to nothing", plant: (entry: string) => symlinkSync("/nothing", entry) },
  ])("$name", async ({ plant }) => {
    await store.set("other", "value");
    plant(join(path, "entries", place.name));
    await expect(store.get("key")).rejects.toMatchObject({ code: "store_corrupt" });
    await store.set("key", "new", { ifVersion: null });
    expect(await stored()).toBe("new");
  });
});

test("a folder that another program makes in that of an entry is set aside at each delete", async () => {
  for (const count of [1, 2]) {
    await store.set("key", "value");
    mkdirSync(join(dirname(newestFile()), "@eaDir"));
    writeFileSync(join(dirname(newestFile()), "@eaDir", "notes"), "");
    await store.delete("key");
    expect(readdirSync(join(path, "corrupt"))).toHaveLength(count);
  }
});

test("a folder where the next file should be counts as a delete, even with something in it", async () => {
  await store.set("key", "value");
  const folder = join(newestFile(), "..", String(Number(newestFile().split("/").at(-1)) + 1));
  mkdirSync(folder);
  writeFileSync(join(folder, "notes"), "");
  expect(await stored()).toBeUndefined();
  await store.set("key", "new", { ifVersion: null });
  expect(await stored()).toBe("new");
});
