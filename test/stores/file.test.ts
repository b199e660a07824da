// The store in a file: the promises of every store, the file itself, damaged files, and faults of the file system.
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { StoreError } from "../../src/index.js";
import { fileStore } from "../../src/stores/file.js";
import { steppedClock } from "../support/clock.js";
import { rejectionOf } from "../support/wait.js";
import { describeRefusals, describeStore } from "./own-store.js";
import { startProcess } from "./start-process.js";
import { expectFreeLocks, temporaryFolder } from "./temporary-folder.js";

const key = randomBytes(32).toString("base64");
const posix = process.platform !== "win32";
const isRoot = process.geteuid?.() === 0;

let folder: string;
let path: string;
beforeEach(() => {
  folder = temporaryFolder();
  path = join(folder, "store.json");
});
const mode = (at: string) => statSync(at).mode & 0o777;

const newPath = () => join(temporaryFolder(), "store.json");
describeStore({
  name: "fileStore with a key",
  create: ({ now }) => fileStore(newPath(), { key, now }),
  make() {
    const at = newPath();
    return { store: fileStore(at, { key }), second: fileStore(at, { key }) };
  },
});
describeRefusals({
  name: "fileStore in plaintext",
  create: ({ now }) => fileStore(newPath(), { plaintext: true, now }),
});

test.each([
  { name: "null", options: null },
  { name: "a number", options: 5 },
  { name: "a text as now", options: { plaintext: true, now: "now" } },
])("fileStore refuses $name as options", ({ options }) => {
  const open = () => fileStore(path, options as never);
  expect(open).toThrow(expect.objectContaining({ code: "option_invalid" }));
});

describe("the file", () => {
  test.skipIf(!posix)("its folder and its locks belong to the user alone, whatever the umask", async () => {
    const umask = process.umask(0);
    onTestFinished(() => void process.umask(umask));
    const at = join(folder, "new", "store.json");
    await fileStore(at, { key }).set("key", "value");
    expect([at, join(at, ".."), `${at}.locks`].map(mode)).toEqual([0o600, 0o700, 0o700]);
  });

  test("is not created by reading", async () => {
    expect(await fileStore(join(folder, "new", "store.json"), { key }).get("key")).toBeUndefined();
    expect(existsSync(join(folder, "new"))).toBe(false);
  });

  test("is relative to the current folder at the time the store was made", async () => {
    const cwd = process.cwd();
    const store = fileStore(relative(cwd, path), { key });
    onTestFinished(() => process.chdir(cwd));
    process.chdir("/");
    await store.set("key", "value");
    expect(existsSync(path)).toBe(true);
  });

  test("is the only thing left after use, except for its folder of locks, all free", async () => {
    const store = fileStore(path, { key });
    const names = ["key 1", "key 2", "key 3", "key 4", "key 5"];
    await Promise.all(names.map((name) => store.lock(name, () => store.set(name, "value"))));
    await rejectionOf(store.set("key 1", "value", { ifVersion: "none" }));
    expect(readdirSync(folder).sort()).toEqual(["store.json", "store.json.locks"]);
    expectFreeLocks(path);
  });

  test("is read again after each write of another store, even if its size and times stay the same", async () => {
    const [one, other] = [fileStore(path, { key }), fileStore(path, { key })];
    for (let count = 0; count < 50; count++) {
      await one.set("key", String(count % 10));
      expect((await other.get("key"))?.value).toBe(String(count % 10));
    }
  });

  test("loses expired entries at the next write", async () => {
    const clock = steppedClock();
    const store = fileStore(path, { plaintext: true, now: clock.now });
    await store.set("short", "value-that-expires", { expiresAt: clock.now() + 1 });
    clock.advance(1);
    expect(readFileSync(path, "utf8")).toContain("value-that-expires");
    await store.set("other", "value");
    expect(readFileSync(path, "utf8")).not.toContain("value-that-expires");
  });

  test.skipIf(!posix)("is replaced behind a link, and both names share one lock", async () => {
    mkdirSync(join(folder, "far"));
    const [link, target] = [join(folder, "link.json"), join(folder, "far", "store.json")];
    await fileStore(target, { key }).set("key", "old");
    symlinkSync(target, link);
    const byLink = fileStore(link, { key });
    await byLink.set("key", "new");
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(readlinkSync(link)).toBe(target);
    const byTarget = fileStore(target, { key });
    expect((await byTarget.get("key"))?.value).toBe("new");
    const second = () => rejectionOf(byTarget.lock("key", async () => {}, { timeoutMs: 20 }));
    expect(await byLink.lock("key", second)).toMatchObject({ code: "store_locked" });
  });
});

const write = (contents: string | Uint8Array) => {
  writeFileSync(path, contents, { mode: 0o600 });
  chmodSync(path, 0o600);
};
const setAside = () => readdirSync(folder).filter((name) => name.startsWith("store.json.corrupt-"));
const storeFile = (change: object) =>
  JSON.stringify({ kind: "bivariant token store", format: 1, cipher: "none", entries: {}, ...change });

describe("a damaged file is set aside and reported once:", () => {
  const entry = (value: unknown) => storeFile({ entries: { key: value } });
  const damaged: { name: string; contents: string | Uint8Array }[] = [
    { name: "an empty file", contents: "" },
    { name: "a text", contents: "my notes" },
    { name: "invalid UTF-8", contents: new Uint8Array([0x22, 0xff, 0xfe, 0x22]) },
    { name: "zeros, as after a power failure", contents: new Uint8Array(500) },
    { name: "a store's file with a byte order mark", contents: `\ufeff${storeFile({})}` },
    { name: "a store's file twice", contents: storeFile({}) + storeFile({}) },
    { name: "a JSON array", contents: "[]" },
    { name: "null", contents: "null" },
    { name: "another program's JSON", contents: '{"name":"x","version":"1.0.0"}' },
    { name: "another kind", contents: storeFile({ kind: "something else" }) },
    { name: "a missing format", contents: storeFile({ format: undefined }) },
    { name: "a format as text", contents: storeFile({ format: "1" }) },
    { name: "an unknown older format", contents: storeFile({ format: 0 }) },
    { name: "an unknown cipher", contents: storeFile({ cipher: "rot13" }) },
    { name: "missing entries", contents: storeFile({ entries: undefined }) },
    { name: "entries in an array", contents: storeFile({ entries: [] }) },
    { name: "an entry that is a text", contents: entry("value") },
    { name: "an entry without a value", contents: entry({ version: "1" }) },
    { name: "an entry without a version", contents: entry({ value: "v" }) },
    { name: "an expiry as text", contents: entry({ version: "1", value: "v", expiresAt: "soon" }) },
    { name: "brackets 50,000 deep", contents: "[".repeat(50_000) },
  ];
  test.each(damaged)("$name", async ({ contents }) => {
    const store = fileStore(path, { plaintext: true });
    for (const use of [() => store.get("key"), () => store.set("key", "v"), () => store.delete("key")]) {
      write(contents);
      const before = setAside();
      const error = (await rejectionOf(use())) as StoreError;
      expect(error).toMatchObject({ name: "StoreError", code: "store_corrupt" });
      const [name = "", ...others] = setAside().filter((one) => !before.includes(one));
      expect(others).toEqual([]);
      expect(error.message).toContain(join(folder, name));
      expect(readFileSync(join(folder, name))).toEqual(Buffer.from(contents));
      expect(await store.get("key")).toBeUndefined();
      expect(await store.set("key", "anew", { ifVersion: null })).toMatchObject({ value: "anew" });
    }
  });

  test("by one of ten stores that read it at the same time", async () => {
    write("torn");
    const read = () =>
      fileStore(path, { key })
        .get("key")
        .catch((error: StoreError) => error.code);
    const outcomes = await Promise.all(Array.from({ length: 10 }, read));
    expect(outcomes.filter((outcome) => outcome === "store_corrupt")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === undefined)).toHaveLength(9);
    expect(setAside()).toHaveLength(1);
  });

  test.skipIf(!posix)("with mode 0600, whatever mode it had", async () => {
    for (const before of [0o400, 0o700]) {
      write("torn");
      chmodSync(path, before);
      await rejectionOf(fileStore(path, { key }).get("key"));
    }
    expect(setAside().map((name) => mode(join(folder, name)))).toEqual([0o600, 0o600]);
  });
});

describe("an intact file that does not fit is refused and left as it is:", () => {
  const encrypted = async () => void (await fileStore(path, { key }).set("key", "value"));
  const plain = async () => void (await fileStore(path, { plaintext: true }).set("key", "value"));
  const newer = async () => write(storeFile({ format: 2, entries: "of another shape" }));
  const plaintext = { plaintext: true };
  test.each([
    { name: "another key", make: encrypted, options: { key: randomBytes(32) }, says: /with another key/ },
    { name: "a missing key", make: encrypted, options: plaintext, says: /encrypted.*with the key/ },
    { name: "a key for plaintext", make: plain, options: { key }, says: /is not encrypted/ },
    { name: "the file of a newer version", make: newer, options: plaintext, says: /newer version/ },
  ])("$name", async ({ make, options, says }) => {
    await make();
    const before = readFileSync(path);
    const store = fileStore(path, options);
    for (const use of [() => store.get("key"), () => store.set("key", "x"), () => store.delete("key")])
      expect(await rejectionOf(use())).toMatchObject(unavailable(says));
    expect(readFileSync(path)).toEqual(before);
    expect(setAside()).toEqual([]);
  });

  test.skipIf(!posix).each([0o640, 0o604, 0o620, 0o602, 0o601, 0o644, 0o666])(
    "a file with mode %o, with the command that corrects it",
    async (wrong) => {
      const quoted = join(folder, "it's a store.json");
      const store = fileStore(quoted, { key });
      await store.set("key", "value");
      chmodSync(quoted, wrong);
      for (const use of [() => store.get("key"), () => store.set("key", "x"), () => store.delete("key")])
        expect(await rejectionOf(use())).toMatchObject({ code: "store_unavailable" });
      expect(mode(quoted)).toBe(wrong);
      const { message } = (await rejectionOf(store.get("key"))) as Error;
      execFileSync("sh", ["-c", /Run: (.*)$/.exec(message)?.[1] ?? "false"]);
      expect((await store.get("key"))?.value).toBe("value");
    },
  );
});

function unavailable(says: RegExp) {
  return { name: "StoreError", code: "store_unavailable", message: expect.stringMatching(says) };
}

/** The value or error of each method. */
async function outcomes(at = path): Promise<Record<"get" | "set" | "delete" | "lock", unknown>> {
  const store = fileStore(at, { key });
  const settled = async (used: Promise<unknown>) => used.catch((error: unknown) => error);
  return {
    get: await settled(store.get("key")),
    set: await settled(store.set("key", "value")),
    delete: await settled(store.delete("key")),
    lock: await settled(store.lock("key", () => Promise.reject(new Error("the task ran")))),
  };
}

describe("a wrong path fails with store_unavailable and the next step:", () => {
  const paths: { name: string; at: () => string; says: RegExp; isMissing?: boolean }[] = [
    {
      ...{ name: "below a missing folder", isMissing: true, says: /ENOENT.*mkdir -p/ },
      at: () => join(folder, "no", "such", "store.json"),
    },
    {
      ...{ name: "below a file", says: /ENOTDIR.*Use a path elsewhere/ },
      at() {
        writeFileSync(join(folder, "file"), "");
        return join(folder, "file", "store.json");
      },
    },
    { name: "a long name", at: () => join(folder, "x".repeat(300)), says: /ENAMETOOLONG.*shorter/ },
    {
      ...{ name: "a link to a missing file", says: /link to a missing file/ },
      at() {
        symlinkSync(join(folder, "nothing.json"), path);
        return path;
      },
    },
    {
      ...{ name: "a link to itself", says: /ELOOP.*circle/ },
      at() {
        symlinkSync(path, path);
        return path;
      },
    },
  ];
  test.each(paths)("$name", async ({ at, says, isMissing }) => {
    const { get, ...changes } = await outcomes(at());
    for (const [way, error] of Object.entries(changes)) expect(error, way).toMatchObject(unavailable(says));
    if (isMissing) expect(get).toBeUndefined();
    else expect(get).toMatchObject(unavailable(says));
  });

  test.each([
    { name: "a folder", make: () => mkdirSync(path) },
    {
      name: "a pipe, without waiting for its writer",
      make: () => execFileSync("mkfifo", ["-m", "600", path]),
    },
  ])("$name", async ({ make }) => {
    make();
    const { get, set } = await outcomes();
    for (const error of [get, set]) expect(error).toMatchObject(unavailable(/is not a file/));
  });
});

describe.skipIf(!posix)("a folder without write permission", () => {
  /** Root may write to every folder, so root becomes another user for the test. */
  function becomeUser(): void {
    if (!isRoot) return;
    chownSync(folder, 65_534, 65_534);
    process.seteuid?.(65_534);
    onTestFinished(() => process.seteuid?.(0));
  }

  test.each([
    { name: "can still be read", isFilled: true },
    { name: "prevents the locks from being made", isFilled: false },
  ])("$name, and every change fails with store_unavailable", async ({ isFilled }) => {
    becomeUser();
    const folders = isFilled ? [join(`${path}.locks`, "write"), `${path}.locks`, folder] : [folder];
    if (isFilled) await fileStore(path, { key }).set("key", "value");
    for (const at of folders) chmodSync(at, 0o500);
    onTestFinished(() => {
      for (const at of folders.reverse()) chmodSync(at, 0o700);
    });
    const { get, ...changes } = await outcomes();
    expect((get as { value?: string } | undefined)?.value).toBe(isFilled ? "value" : undefined);
    for (const [way, error] of Object.entries(changes))
      expect(error, way).toMatchObject(unavailable(/EACCES.*right to read and write/));
  });

  test("leaves a damaged file in place, and reports it every time", async () => {
    becomeUser();
    const store = fileStore(path, { key });
    await store.set("key", "value");
    writeFileSync(path, "torn");
    chmodSync(folder, 0o500);
    for (let times = 0; times < 2; times++)
      expect(await rejectionOf(store.get("key"))).toMatchObject({
        code: "store_corrupt",
        message: expect.stringMatching(/could not be set aside \(EACCES\)/),
      });
    chmodSync(folder, 0o700);
    expect(readFileSync(path, "utf8")).toBe("torn");
  });
});

describe.skipIf(!posix)("a file or folder that another user could have written is refused:", () => {
  test.skipIf(!isRoot)("a file of another user that root may read", async () => {
    await fileStore(path, { key }).set("key", "value");
    chownSync(path, 65_534, 65_534);
    const { get, set } = await outcomes();
    for (const error of [get, set]) expect(error).toMatchObject(unavailable(/belongs to another user/));
  });

  test.each([
    { name: "that others may write to", make: (locks: string) => mkdirSync(locks), after: 0o777 },
    { name: "that others may list", make: (locks: string) => mkdirSync(locks), after: 0o755 },
    {
      name: "of another user",
      make(locks: string) {
        mkdirSync(locks);
        if (isRoot) chownSync(locks, 65_534, 65_534);
      },
      after: isRoot ? 0o700 : 0o770,
    },
    {
      name: "that is a link",
      make(locks: string) {
        mkdirSync(`${locks}-elsewhere`, { mode: 0o700 });
        symlinkSync(`${locks}-elsewhere`, locks);
      },
      after: 0o700,
    },
  ])("a folder of locks $name", async ({ make, after }) => {
    const locks = `${path}.locks`;
    make(locks);
    chmodSync(locks, after);
    const { get, ...changes } = await outcomes();
    expect(get).toBeUndefined();
    for (const error of Object.values(changes))
      expect(error).toMatchObject(unavailable(/only this user may use \(mode 0700\). Remove it/));
    expect(readdirSync(locks)).toEqual([]);
  });
});

// A limit on the size of files acts like a full disk: the write fails halfway.
test.skipIf(!posix)("a write that fails halfway leaves the earlier contents", async () => {
  await fileStore(path, { key }).set("key", "value");
  const before = readFileSync(path);
  const through = ["sh", "-c", 'ulimit -f 256 && exec "$@"', "sh"];
  const { told } = startProcess(["fill", path], { key, through });
  expect(await told("failed")).toMatchObject({
    code: "store_unavailable",
    message: expect.stringMatching(/EFBIG.*earlier contents are unchanged/),
  });
  expect(readFileSync(path)).toEqual(before);
  expectFreeLocks(path);
});

test("a write whose caller gave up while it was queued is dropped", async () => {
  const store = fileStore(path, { key });
  const gaveUp = new AbortController();
  const first = store.set("a", "1");
  const second = rejectionOf(store.set("b", "2", { signal: gaveUp.signal }));
  gaveUp.abort();
  expect(await second).toMatchObject({ name: "AbortError" });
  expect([(await first).value, await store.get("b")]).toEqual(["1", undefined]);
});
