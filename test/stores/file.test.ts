// The store in a folder: the promises of every store, the folder itself, damaged files, and faults
// of the file system.
import { execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join, relative } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { StoreError, TokenStore } from "../../src/index.js";
import { type FileStoreOptions, fileStore } from "../../src/stores/file.js";
import { newHolder } from "../../src/stores/file-lock.js";
import { movedBySleeps, steppedClock } from "../support/clock.js";
import { rejectionOf } from "../support/wait.js";
import { beforeCalls } from "./file-calls.js";
import { describeRefusals, describeStore } from "./own-store.js";
import { startProcess } from "./start-process.js";
import { entryFiles, expectNothingLeft, temporaryFolder } from "./temporary-folder.js";

const key = randomBytes(32).toString("base64");
const posix = process.platform !== "win32";
const isRoot = process.geteuid?.() === 0;

let folder: string;
let path: string;
beforeEach(() => {
  folder = temporaryFolder();
  path = join(folder, "store");
});
const mode = (at: string) => statSync(at).mode & 0o777;

const newPath = () => join(temporaryFolder(), "store");
const usesOf = (store: TokenStore) => [
  () => store.get("key"),
  () => store.set("key", "x"),
  () => store.delete("key"),
];
describeStore({
  name: "fileStore with a key",
  create: (clock) => fileStore(newPath(), { key, clock }),
  make() {
    const [at, clock] = [newPath(), movedBySleeps()];
    return { store: fileStore(at, { key, clock }), second: fileStore(at, { key, clock }), clock };
  },
});
describeRefusals({
  name: "fileStore in plaintext",
  create: (clock) => fileStore(newPath(), { plaintext: true, clock }),
});

test.each([null, { plaintext: true, clock: "now" }])(
  "fileStore refuses the options %j",
  (options) => {
    const open = () => fileStore(path, options as never);
    expect(open).toThrow(expect.objectContaining({ code: "option_invalid" }));
  },
);

describe("the folder", () => {
  test.skipIf(!posix)("and all in it belong to the user alone, whatever the umask", async () => {
    const umask = process.umask(0);
    onTestFinished(() => void process.umask(umask));
    const at = join(folder, "new", "store");
    await fileStore(at, { key }).set("key", "value");
    const [file = ""] = entryFiles(at);
    const folders = [join(at, ".."), at, join(at, "entries"), join(at, "locks")];
    expect(folders.map(mode)).toEqual(folders.map(() => 0o700));
    expect([join(at, "store.json"), file].map(mode)).toEqual([0o600, 0o600]);
  });

  test("is not created by reading", async () => {
    const store = fileStore(join(folder, "new", "store"), { key });
    expect(await store.get("key")).toBeUndefined();
    await store.delete("key");
    expect(existsSync(join(folder, "new"))).toBe(false);
  });

  test("is made anew after it was removed", async () => {
    const store = fileStore(path, { key });
    await store.set("key", "value");
    rmSync(path, { recursive: true });
    expect(await store.get("key")).toBeUndefined();
    await store.set("key", "anew");
    expect((await fileStore(path, { key }).get("key"))?.value).toBe("anew");
  });

  test("gets back the folders in it that were removed while they were empty", async () => {
    const store = fileStore(path, { key });
    await store.set("key", "value");
    await store.delete("key");
    for (const name of ["entries", "locks"]) rmSync(join(path, name), { recursive: true });
    expect(await store.get("key")).toBeUndefined();
    expect(await store.lock("key", () => store.set("key", "new"))).toMatchObject({ value: "new" });
  });

  test("is refused and left as it is if it has entries and no marker", async () => {
    await fileStore(path, { key }).set("key", "value");
    rmSync(join(path, "store.json"));
    const before = readdirSync(path, { recursive: true });
    const message = expect.stringMatching(/store.json is missing. Restore that file/);
    for (const options of [{ key }, { plaintext: true }])
      for (const use of usesOf(fileStore(path, options)))
        expect(await rejectionOf(use())).toMatchObject({ code: "store_corrupt", message });
    expect(readdirSync(path, { recursive: true })).toEqual(before);
  });

  test("is relative to the current folder at the time the store was made", async () => {
    const cwd = process.cwd();
    const store = fileStore(relative(cwd, path), { key });
    onTestFinished(() => process.chdir(cwd));
    process.chdir("/");
    await store.set("key", "value");
    expect(existsSync(path)).toBe(true);
  });

  test("is the only thing left after use, with a file for each entry and no lock", async () => {
    const store = fileStore(path, { key });
    const names = ["key 1", "key 2", "key 3", "key 4", "key 5"];
    for (let times = 0; times < 3; times++)
      await Promise.all(names.map((name) => store.lock(name, () => store.set(name, "value"))));
    await rejectionOf(store.set("key 1", "value", { ifVersion: "none" }));
    expect(readdirSync(folder)).toEqual(["store"]);
    expect(readdirSync(path).sort()).toEqual(["entries", "locks", "store.json"]);
    expect(entryFiles(path)).toHaveLength(5);
    expectNothingLeft(path);
  });

  test("loses expired entries while others are written", async () => {
    const clock = steppedClock();
    const store = fileStore(path, { key, clock });
    for (let count = 0; count < 20; count++)
      await store.set(`short ${count}`, "value", { expiresAt: clock.now() + 1 });
    await store.set("long", "value", { expiresAt: clock.now() + 2 });
    clock.advance(1);
    for (let count = 0; count < 20; count++) await store.set("other", "value");
    expect(readdirSync(join(path, "entries"))).toHaveLength(2);
    expect((await store.get("long"))?.value).toBe("value");
  });

  test("loses the locks that killed processes left, with what they had written", async () => {
    const store = fileStore(path, { key });
    await store.set("key", "value");
    const { pid } = spawnSync(process.execPath, ["--version"]);
    const ended = newHolder().replace(/(?<=\.)\d+(?=\.)/, String(pid));
    for (const lock of ["hash", "hash.entry", "hash.entry~0123456789abcdef"]) {
      mkdirSync(join(path, "locks", lock));
      writeFileSync(join(path, "locks", lock, ended), "half");
    }
    mkdirSync(join(path, "locks", "empty~0123456789abcdef"));
    for (let count = 0; count < 4; count++) await store.set("key", "value");
    expectNothingLeft(path);
  });

  test.skipIf(!posix)("is used behind a link, and both names share one lock", async () => {
    mkdirSync(join(folder, "far"));
    const [link, target] = [join(folder, "link"), join(folder, "far", "store")];
    await fileStore(target, { key }).set("key", "old");
    symlinkSync(join("far", "store"), link);
    const byLink = fileStore(link, { key });
    await byLink.set("key", "new");
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    const byTarget = fileStore(target, { key });
    expect((await byTarget.get("key"))?.value).toBe("new");
    const second = () => rejectionOf(byTarget.lock("key", async () => {}, { timeoutMs: 20 }));
    expect(await byLink.lock("key", second)).toMatchObject({ code: "store_locked" });
  });
});

const setAside = () =>
  existsSync(join(path, "corrupt")) ? readdirSync(join(path, "corrupt")) : [];
const entryFile = () => entryFiles(path)[0] ?? "";
const write = (file: string, contents: string | Uint8Array) => {
  rmSync(file, { force: true, recursive: true });
  writeFileSync(file, contents, { mode: 0o600 });
};

describe("a damaged file of an entry", () => {
  const entry = (change: object) => (good: string) =>
    JSON.stringify({ ...JSON.parse(good), ...change });
  type Contents = (good: string) => string | Uint8Array;
  const contents: { name: string; contents: Contents }[] = [
    { name: "an empty file", contents: () => "" },
    { name: "invalid UTF-8", contents: () => new Uint8Array([0x22, 0xff, 0xfe, 0x22]) },
    { name: "zeros, as after a power failure", contents: () => new Uint8Array(500) },
    { name: "a file twice", contents: (good) => good + good },
    { name: "a JSON array", contents: () => "[]" },
    { name: "null", contents: () => "null" },
    { name: "the name of another entry", contents: entry({ name: "other" }) },
    { name: "no version", contents: entry({ version: undefined }) },
    { name: "no value", contents: entry({ value: undefined }) },
    { name: "an expiry as text", contents: entry({ expiresAt: "soon" }) },
    { name: "brackets 50,000 deep", contents: () => "[".repeat(50_000) },
  ];
  const planted: { name: string; plant: (file: string) => unknown }[] = [
    { name: "a folder", plant: (file) => mkdirSync(join(file, "notes"), { recursive: true }) },
    { name: "a link to nothing", plant: (file) => symlinkSync("/nothing", file) },
    {
      name: "a socket",
      async plant(file) {
        const server = createServer().listen(file);
        onTestFinished(() => void server.close());
        await once(server, "listening");
      },
    },
    {
      name: "a file that is longer than any text",
      plant(file) {
        writeFileSync(file, "");
        truncateSync(file, 2 ** 31);
      },
    },
    ...(posix ? [0o000, 0o777] : []).map((mode) => ({
      name: `a file with mode ${mode.toString(8)}`,
      plant: (file: string) => writeFileSync(file, "torn", { mode }),
    })),
  ];
  const damaged = [
    ...planted,
    ...contents.map(({ name, contents }) => ({
      name,
      plant: (file: string, good: string) => write(file, contents(good)),
    })),
  ];
  test.each(damaged)(
    "is set aside and reported once, and the entry is missing: $name",
    async ({ plant }) => {
      const store = fileStore(path, { plaintext: true });
      for (const use of usesOf(store)) {
        const { value } = await store.set("key", "only");
        const file = entryFile();
        const good = readFileSync(file, "utf8");
        rmSync(file);
        await plant(file, good);
        const { ino } = lstatSync(file);
        const before = setAside();
        const error = (await rejectionOf(use())) as StoreError;
        expect(error).toMatchObject({ name: "StoreError", code: "store_corrupt" });
        const [name = "", ...others] = setAside().filter((one) => !before.includes(one));
        expect(others).toEqual([]);
        expect(error.message).toContain(join(path, "corrupt", name));
        expect(error.message).not.toContain(value);
        expect(lstatSync(join(path, "corrupt", name)).ino).toBe(ino);
        expect(await store.get("key")).toBeUndefined();
        expect(await store.set("key", "anew", { ifVersion: null })).toMatchObject({
          value: "anew",
        });
        rmSync(file);
      }
    },
  );

  test("is reported by one of ten stores that read it at the same time", async () => {
    await fileStore(path, { key }).set("key", "value");
    write(entryFile(), "torn");
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

describe("a folder that does not fit is refused every time and left as it is:", () => {
  const plaintext = { plaintext: true };
  const filled = (options: FileStoreOptions) => async () =>
    void (await fileStore(path, options).set("key", "value"));
  const marked = (change: object) => async () => {
    await filled(plaintext)();
    const marker = { kind: "bivariant token store", format: 3, cipher: "none", ...change };
    write(join(path, "store.json"), JSON.stringify(marker));
  };
  const foreign = () => {
    mkdirSync(path, { mode: 0o700 });
    writeFileSync(join(path, "notes"), "");
  };
  const torn = async () => {
    await filled(plaintext)();
    write(join(path, "store.json"), "");
  };
  const corrupt = { options: plaintext, says: /Move the folder away/, code: "store_corrupt" };
  test.each<{
    name: string;
    make: () => unknown;
    options: FileStoreOptions;
    says: RegExp;
    code?: string;
  }>([
    {
      name: "another key",
      make: filled({ key }),
      options: { key: randomBytes(32) },
      says: /with another key/,
    },
    {
      name: "a missing key",
      make: filled({ key }),
      options: plaintext,
      says: /encrypted.*with the key/,
    },
    {
      name: "a key for plaintext",
      make: filled(plaintext),
      options: { key },
      says: /is not encrypted/,
    },
    {
      name: "the folder of a newer version",
      make: marked({ format: 4, entries: "other" }),
      options: plaintext,
      says: /newer version/,
    },
    {
      name: "another program's folder",
      make: foreign,
      options: plaintext,
      says: /folder with other files/,
    },
    { name: "an empty marker", make: torn, ...corrupt },
    { name: "a marker of another kind", make: marked({ kind: "something else" }), ...corrupt },
    { name: "a format as text", make: marked({ format: "3" }), ...corrupt },
    { name: "an unknown older format", make: marked({ format: 2 }), ...corrupt },
    { name: "an unknown cipher", make: marked({ cipher: "rot13" }), ...corrupt },
  ])("$name", async ({ make, options, says, code = "store_unavailable" }) => {
    await make();
    const before = readdirSync(path, { recursive: true });
    const message = expect.stringMatching(says);
    for (const use of usesOf(fileStore(path, options)))
      expect(await rejectionOf(use())).toMatchObject({ name: "StoreError", code, message });
    expect(readdirSync(path, { recursive: true })).toEqual(before);
  });

  test("a folder with another key that was put in the place of this one", async () => {
    const store = fileStore(path, { key });
    await store.set("key", "value");
    await fileStore(`${path}-other`, { key: randomBytes(32) }).set("key", "value");
    renameSync(path, `${path}-away`);
    renameSync(`${path}-other`, path);
    expect(await rejectionOf(store.get("key"))).toMatchObject(unavailable(/with another key/));
    expect(await rejectionOf(store.set("key", "x"))).toMatchObject(unavailable(/with another key/));
  });

  test.skipIf(!posix).each([0o740, 0o702, 0o701])(
    "a folder with mode %o, with the command that corrects it",
    async (wrong) => {
      const quoted = join(folder, "it's a store");
      const store = fileStore(quoted, { key });
      await store.set("key", "value");
      chmodSync(quoted, wrong);
      for (const use of usesOf(store))
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
  const made = (make: () => void) => () => {
    make();
    return path;
  };
  test.each<{ name: string; at: () => string; says: RegExp; isMissing?: boolean }>([
    {
      name: "below a missing folder",
      at: () => join(folder, "no", "such", "store"),
      says: /ENOENT.*mkdir -p/,
      isMissing: true,
    },
    { name: "a file", at: made(() => writeFileSync(path, "my notes")), says: /is not a folder/ },
    {
      name: "below a file",
      says: /ENOTDIR.*Use a path elsewhere/,
      at: () => join(made(() => writeFileSync(path, ""))(), "store"),
    },
    { name: "a long name", at: () => join(folder, "x".repeat(300)), says: /ENAMETOOLONG.*shorter/ },
    {
      name: "a link to a missing file",
      says: /link to a missing file/,
      at: made(() => symlinkSync(join(folder, "nothing.json"), path)),
    },
    {
      name: "a link to itself",
      says: /ELOOP.*circle/,
      at: made(() => symlinkSync(path, path)),
    },
    {
      name: "a pipe as its marker",
      says: /is not a file/,
      at: made(() => {
        mkdirSync(path, { mode: 0o700 });
        execFileSync("mkfifo", ["-m", "600", join(path, "store.json")]);
      }),
    },
  ])("$name", async ({ at, says, isMissing }) => {
    const { get, delete: deleted, ...changes } = await outcomes(at());
    for (const [way, error] of Object.entries(changes))
      expect(error, way).toMatchObject(unavailable(says));
    for (const found of [get, deleted])
      if (isMissing) expect(found).toBeUndefined();
      else expect(found).toMatchObject(unavailable(says));
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

  const forbid = (folders: readonly string[]) => {
    for (const at of folders) chmodSync(at, 0o500);
    onTestFinished(() => {
      for (const at of [...folders].reverse()) chmodSync(at, 0o700);
    });
  };

  test.each([
    { name: "can still be read", isFilled: true },
    { name: "cannot get a store", isFilled: false },
  ])("$name, and every change fails with store_unavailable", async ({ isFilled }) => {
    becomeUser();
    if (isFilled) await fileStore(path, { key }).set("key", "value");
    const all = readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name)));
    forbid([...all.filter((at) => statSync(at).isDirectory()).reverse(), folder]);
    const { get, ...changes } = await outcomes();
    expect((get as { value?: string } | undefined)?.value).toBe(isFilled ? "value" : undefined);
    if (!isFilled) Reflect.deleteProperty(changes, "delete");
    for (const [way, error] of Object.entries(changes))
      expect(error, way).toMatchObject(unavailable(/EACCES.*right to read and write/));
  });

  test("leaves a damaged file in place, and reports it every time", async () => {
    becomeUser();
    const store = fileStore(path, { key });
    await store.set("key", "value");
    const file = entryFile();
    writeFileSync(file, "torn");
    forbid([join(path, "entries"), path]);
    for (let times = 0; times < 2; times++)
      expect(await rejectionOf(store.get("key"))).toMatchObject({
        code: "store_corrupt",
        message: expect.stringMatching(/could not be set aside \(EACCES\)/),
      });
    expect(readFileSync(file, "utf8")).toBe("torn");
  });
});

test.skipIf(!isRoot)(
  "a folder or a marker of another user that root may read is refused",
  async () => {
    await fileStore(path, { key }).set("key", "value");
    for (const at of [join(path, "store.json"), path]) {
      chownSync(at, 65_534, 65_534);
      for (const error of Object.values(await outcomes()))
        expect(error).toMatchObject(unavailable(/belongs to another user/));
    }
  },
);

// A limit on the size of files acts like a full disk: the write fails halfway.
test.skipIf(!posix)("a write that fails halfway leaves the earlier contents", async () => {
  await fileStore(path, { key }).set("large", "value");
  const before = readFileSync(entryFile());
  const through = ["sh", "-c", 'ulimit -f 256 && exec "$@"', "sh"];
  const { reported } = startProcess(["fill", path], { key, through });
  expect(await reported("failed")).toMatchObject({
    code: "store_unavailable",
    message: expect.stringMatching(/EFBIG.*earlier contents are unchanged/),
  });
  expect(readFileSync(entryFile())).toEqual(before);
  expectNothingLeft(path);
});

describe("a fault of the file system:", () => {
  const failure = (code: string) => Object.assign(new Error(code), { code });

  test("while the disk is full entries are deleted, and expired ones make room for a write", async () => {
    const clock = steppedClock();
    const store = fileStore(path, { key, clock });
    for (const name of ["long 1", "long 2"]) await store.set(name, "value");
    await store.set("short", "value", { expiresAt: clock.now() + 1 });
    let hasRoom = false;
    beforeCalls(({ name, at }) => {
      if (name === "mkdirSync" && !hasRoom) throw failure("ENOSPC");
      // With the lock goes the entry that was moved there.
      if (name === "rmdirSync" && String(at).endsWith(".entry")) hasRoom = true;
    });
    await store.delete("long 1");
    expect(await store.get("long 1")).toBeUndefined();
    hasRoom = false;
    expect(await rejectionOf(store.set("new", "value"))).toMatchObject(
      unavailable(/ENOSPC.*disk is full/),
    );
    clock.advance(1);
    expect(await store.set("new", "value")).toMatchObject({ value: "value" });
    expect(await store.get("long 2")).toMatchObject({ value: "value" });
  });

  test("writes that find the disk full while another sweeps share its sweep, and all fail", async () => {
    const store = fileStore(path, { plaintext: true });
    await store.set("key", "value");
    let sweeps = 0;
    beforeCalls(({ name, at }) => {
      if (name === "mkdirSync") throw failure("ENOSPC");
      if (name === "rmdirSync" && at === join(path, "locks", "spare")) sweeps++;
    });
    const writes = Array.from({ length: 50 }, (_, index) => store.set(`key ${index}`, "value"));
    for (const error of await Promise.all(writes.map(rejectionOf)))
      expect(error).toMatchObject(unavailable(/ENOSPC/));
    // Some may come after the end of a sweep, since names are hashed off the event loop.
    expect(sweeps).toBeLessThan(50);
  });

  test.each(["EIO", "ENOSPC"])(
    "a write whose folder cannot be made durable (%s) is done once and not acknowledged",
    async (code) => {
      const store = fileStore(path, { key });
      const { version: ifVersion } = await store.set("key", "value");
      const end = beforeCalls(({ name, at }) => {
        if (name === "openSync" && at === join(path, "entries")) throw failure(code);
      });
      expect(await rejectionOf(store.set("key", "new", { ifVersion }))).toMatchObject(
        unavailable(new RegExp(code)),
      );
      end();
      expect((await store.get("key"))?.value).toBe("new");
    },
  );
});

test("of two hundred writes at once at most 64 are under way", async () => {
  const store = fileStore(path, { key });
  await store.set("key", "value");
  let most = 0;
  const look = setInterval(() => {
    most = Math.max(
      most,
      readdirSync(join(path, "locks")).filter((name) => name.includes("~")).length,
    );
  });
  await Promise.all(Array.from({ length: 200 }, (_, index) => store.set(`key ${index}`, "value")));
  clearInterval(look);
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(64);
});

test("a write whose caller gave up while it was queued is dropped", async () => {
  const store = fileStore(path, { key });
  const gaveUp = new AbortController();
  const first = store.set("key", "1");
  const second = rejectionOf(store.set("key", "2", { signal: gaveUp.signal }));
  gaveUp.abort();
  expect(await second).toMatchObject({ name: "AbortError" });
  expect([await first, (await store.get("key"))?.value]).toMatchObject([{ value: "1" }, "1"]);
});
