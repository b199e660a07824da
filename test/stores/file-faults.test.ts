// Faults of the file system: each is a StoreError with the next step, and harms nothing that was stored before.
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { fileStore } from "../../src/stores/file.js";
import { rejectionOf } from "../support/wait.js";
import { startProcess } from "./start-process.js";
import { temporaryFolder } from "./temporary-folder.js";

const key = randomBytes(32).toString("base64");
const posix = process.platform !== "win32";

let folder: string;
let path: string;
beforeEach(() => {
  folder = temporaryFolder();
  path = join(folder, "store.json");
});

/** Nobody in particular: to the user root no folder is read-only. */
function asNobody(): void {
  if (process.geteuid?.() !== 0) return;
  chownSync(folder, 65_534, 65_534);
  process.seteuid?.(65_534);
  onTestFinished(() => process.seteuid?.(0));
}

async function outcomes(at: string): Promise<Record<"get" | "set" | "delete" | "lock", unknown>> {
  const store = fileStore(at, { key });
  const ran = () => Promise.reject(new Error("the task ran"));
  const settled = async (asked: Promise<unknown>) => asked.catch((error: unknown) => error);
  return {
    get: await settled(store.get("key")),
    set: await settled(store.set("key", "value")),
    delete: await settled(store.delete("key")),
    lock: await settled(store.lock("key", ran)),
  };
}

const unavailable = (says: RegExp) => ({
  name: "StoreError",
  code: "store_unavailable",
  message: expect.stringMatching(says),
});

describe("a path at which no file can be", () => {
  test("a folder", async () => {
    mkdirSync(path);
    const { get, set } = await outcomes(path);
    expect([get, set]).toEqual([
      expect.objectContaining(unavailable(/is no file: name a file/)),
      expect.objectContaining(unavailable(/is no file: name a file/)),
    ]);
  });

  test.skipIf(!posix)("a pipe, without waiting for its writer", async () => {
    execFileSync("mkfifo", ["-m", "600", path]);
    const { get, set } = await outcomes(path);
    for (const error of [get, set]) expect(error).toMatchObject(unavailable(/is no file: name a file/));
  });

  test.each([
    {
      name: "a folder's parent that is missing",
      at: () => join(folder, "no", "such", "store.json"),
      says: /ENOENT.*mkdir -p/,
      get: undefined,
    },
    {
      name: "a file among the folders",
      at: () => {
        writeFileSync(join(folder, "file"), "");
        return join(folder, "file", "store.json");
      },
      says: /ENOTDIR.*name a path elsewhere/,
    },
    { name: "a name too long", at: () => join(folder, "x".repeat(300)), says: /ENAMETOOLONG.*shorter/ },
    {
      name: "a link to nothing",
      at: () => {
        symlinkSync(join(folder, "nothing.json"), path);
        return path;
      },
      says: /link to a file that is not there/,
    },
    {
      name: "a link to itself",
      at: () => {
        symlinkSync(path, path);
        return path;
      },
      says: /ELOOP.*circle/,
    },
  ])("$name", async ({ at, says, ...row }) => {
    const { get, ...changes } = await outcomes(at());
    for (const [way, error] of Object.entries(changes)) expect(error, way).toMatchObject(unavailable(says));
    if ("get" in row) expect(get).toBeUndefined();
    else expect(get).toMatchObject(unavailable(says));
  });

  test.each([
    { name: "an empty text", at: "" },
    { name: "a NUL in it", at: "a\0b" },
    { name: "a number", at: 7 as never },
    { name: "nothing", at: undefined as never },
  ])("$name is refused before anything is done", async ({ at }) => {
    const attempt = async () => fileStore(at, { key });
    expect(await rejectionOf(attempt())).toMatchObject({ code: "option_invalid", option: "path" });
  });
});

describe.skipIf(!posix)("a folder that may not be written", () => {
  test("what is there can be read, and nothing else is possible", async () => {
    asNobody();
    await fileStore(path, { key }).set("key", "value");
    chmodSync(`${path}.locks`, 0o500);
    chmodSync(join(`${path}.locks`, "write"), 0o500);
    chmodSync(folder, 0o500);
    onTestFinished(() => {
      chmodSync(folder, 0o700);
      chmodSync(`${path}.locks`, 0o700);
      chmodSync(join(`${path}.locks`, "write"), 0o700);
    });
    const { get, ...changes } = await outcomes(path);
    expect(get).toMatchObject({ value: "value" });
    for (const [way, error] of Object.entries(changes))
      expect(error, way).toMatchObject(unavailable(/EACCES.*right to read and write/));
  });

  test("a folder in which the locks cannot be made", async () => {
    asNobody();
    chmodSync(folder, 0o500);
    const { get, ...changes } = await outcomes(path);
    expect(get).toBeUndefined();
    for (const [way, error] of Object.entries(changes))
      expect(error, way).toMatchObject(unavailable(/EACCES.*right to read and write/));
  });

  test("a torn file that cannot be set aside is told every time, and stays", async () => {
    asNobody();
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

  test("another user's file", async () => {
    asNobody();
    writeFileSync(path, "{}", { mode: 0o600 });
    chmodSync(path, 0o000);
    const { get, set } = await outcomes(path);
    for (const error of [get, set])
      expect(error).toMatchObject(unavailable(/EACCES.*right to read and write/));
  });
});

describe.skipIf(!posix)("what others could have written is not used:", () => {
  const isRoot = process.geteuid?.() === 0;

  test.skipIf(!isRoot)("a file of another user, whom root may read", async () => {
    await fileStore(path, { key }).set("key", "value");
    chownSync(path, 65_534, 65_534);
    const { get, set } = await outcomes(path);
    for (const error of [get, set]) expect(error).toMatchObject(unavailable(/belongs to another user/));
  });

  const folders = [
    { name: "that others may write to", make: (locks: string) => mkdirSync(locks), mode: 0o777 },
    { name: "that others may look into", make: (locks: string) => mkdirSync(locks), mode: 0o755 },
    {
      name: "of another user",
      make(locks: string) {
        mkdirSync(locks);
        if (isRoot) chownSync(locks, 65_534, 65_534);
      },
      mode: isRoot ? 0o700 : 0o770,
    },
    {
      name: "that is a link to one elsewhere",
      make(locks: string) {
        mkdirSync(`${locks}-elsewhere`, { mode: 0o700 });
        symlinkSync(`${locks}-elsewhere`, locks);
      },
      mode: 0o700,
    },
  ];
  test.each(folders)("a folder of locks $name", async ({ make, mode }) => {
    const locks = `${path}.locks`;
    make(locks);
    chmodSync(locks, mode);
    const { get, set, delete: deleted, lock } = await outcomes(path);
    expect(get).toBeUndefined();
    for (const error of [set, deleted, lock])
      expect(error).toMatchObject(unavailable(/only this user may use \(mode 0700\): remove it/));
    expect(readdirSync(locks)).toEqual([]);
  });
});

// A limit on the size of files stands for a full disk: the write fails halfway.
test.skipIf(!posix)("a file that can grow no more: what was stored before is still there", async () => {
  await fileStore(path, { key }).set("key", "value");
  const before = readFileSync(path);
  const through = ["sh", "-c", 'ulimit -f 256 && exec "$@"', "sh"];
  const { told } = startProcess(["fill", path], { key, through });
  expect(await told("failed")).toMatchObject({
    code: "store_unavailable",
    message: expect.stringMatching(/EFBIG.*what was stored before is still there/),
  });
  expect(readFileSync(path)).toEqual(before);
  expect(readdirSync(`${path}.locks`, { recursive: true }).sort()).toEqual(["write", join("write", "free")]);
});
