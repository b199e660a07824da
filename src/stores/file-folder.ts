/**
 * The folder of a file store: who may use it, what its marker says, and the errors of the file
 * system.
 */
import {
  closeSync,
  constants,
  fstatSync,
  fsync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  type Stats,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { promisify } from "node:util";
import { isBivariantError, StoreError } from "../errors.js";
import type { Encryption } from "./encryption.js";

// Calls that only touch names and small cached files take microseconds, a tenth of what they take
// as promises. Only `fsync` waits for the disk, so only that one is asynchronous.
const syncDescriptor = promisify(fsync);

const kind = "bivariant token store";
/** A store in one file has format 1. */
const format = 2;
const markerName = "store.json";
/**
 * An empty folder, which is moved where a new one is needed to remove an entry while the disk is
 * full.
 */
export const spareName = "spare";
const innerFolders = ["entries", "locks", spareName];

/** The file is torn, was changed by hand or belongs to another program. */
export class Damaged extends Error {}

/** Makes the folder with its marker, unless another process does. */
export async function makeFolder(folder: string, encryption: Encryption): Promise<void> {
  for (const missing of [dirname(folder), folder]) makeOneFolder(missing);
  for (const inner of innerFolders) makeOneFolder(join(folder, inner));
  const { cipher } = encryption;
  const keyId = await encryption.keyId();
  const made = join(folder, temporaryName());
  try {
    // There is no newline at the end, so that a file that is cut anywhere is not JSON.
    await writeSafely(made, JSON.stringify({ kind, format, cipher, keyId }));
    linkSync(made, join(folder, markerName));
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  } finally {
    quietly(() => unlinkSync(made));
  }
  for (const changed of [folder, dirname(folder)]) await syncFolder(changed);
}

/**
 * Returns false for an empty folder. @throws StoreError if this is not the folder of a store with
 * this key
 */
export async function checkFolder(folder: string, encryption: Encryption): Promise<boolean> {
  const marker = join(folder, markerName);
  const bytes = readPrivately(marker);
  if (bytes !== undefined) {
    try {
      await checkHead(parseJson(bytes), folder, encryption);
      // Programs that copy or tidy up folders leave out empty ones.
      for (const inner of innerFolders) quietly(() => makeOneFolder(join(folder, inner)));
      return true;
    } catch (error) {
      if (!(error instanceof Damaged)) throw error;
      const problem = `${folder} cannot be read as a store: ${error.message} (${markerName}).`;
      throw new StoreError(
        "store_corrupt",
        `${problem} It was left as it is. Move the folder away.`,
      );
    }
  }
  // A process that makes the folder may just have begun, or may have been killed.
  const isOurs = (name: string) =>
    name.startsWith("~") || [...innerFolders, markerName].includes(name);
  if (!readdirSync(folder).every(isOurs))
    throw unavailable(`${folder} is a folder with other files. Use the path of a new folder.`);
  const entries = undefinedIfMissing(() => readdirSync(join(folder, "entries"))) ?? [];
  // Another process may have made the marker and entries since. The marker is made first.
  if (entries.length === 0 || lstatIfThere(marker) !== undefined) return false;
  const problem = `${folder} has entries, but its file ${markerName} is missing.`;
  throw new StoreError("store_corrupt", `${problem} Restore that file, or move the folder away.`);
}

export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    // The parser's message would quote the file.
    throw new Damaged("it is not JSON");
  }
}

/**
 * Checks what a store says about itself.
 * @throws Damaged; StoreError, after which the store must stay
 */
async function checkHead(head: unknown, path: string, encryption: Encryption): Promise<void> {
  if (!isRecord(head) || head.kind !== kind || typeof head.format !== "number")
    throw new Damaged("it is not the file of a store");
  if (head.format > format)
    throw unavailable(
      `${path} was written by a newer version of this package. Update the package.`,
    );
  if (head.format !== format) throw new Damaged("its format is unknown");
  if (head.cipher !== encryption.cipher) {
    if (head.cipher === "none")
      throw unavailable(
        `${path} is not encrypted. Open it with plaintext: true, or remove it to start anew.`,
      );
    if (head.cipher !== "dir+A256GCM") throw new Damaged("its cipher is unknown");
    throw unavailable(`${path} is encrypted. Open it with the key that it was written with.`);
  }
  if (head.keyId !== (await encryption.keyId()))
    throw unavailable(`${path} was written with another key. Use that key, or another path.`);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reads a file that only this user may use. */
function readPrivately(path: string): Uint8Array | undefined {
  return readOpened(path, (stats) => {
    if (!stats.isFile()) throw unavailable(`${path} is not a file. Remove it.`);
    requireOwner(path, stats);
    if (!isPrivate(stats)) throw unavailable(forbidden(path, stats, "600"));
  });
}

/** Opens a file without following a link or waiting for the writer of a pipe, and reads it. */
export function readOpened(path: string, check: (stats: Stats) => void): Uint8Array | undefined {
  const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);
  const descriptor = undefinedIfMissing(() => openSync(path, flags));
  if (descriptor === undefined) return undefined;
  try {
    check(fstatSync(descriptor));
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Writes a new file. If the machine stops later, the contents are still there. */
export async function writeSafely(path: string, contents: string): Promise<void> {
  const descriptor = openSync(path, "wx", 0o600);
  try {
    writeFileSync(descriptor, contents);
    await syncDescriptor(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** The folder was removed meanwhile, may not be read, or cannot be synced on this system. */
const unsynced = ["ENOENT", "EACCES", "EINVAL", "EISDIR", "ENOTSUP", "EOPNOTSUPP", "EPERM"];

/** Makes the names in a folder survive a power failure, if the system can do that. */
export async function syncFolder(folder: string): Promise<void> {
  try {
    const descriptor = openSync(folder, "r");
    await syncDescriptor(descriptor).finally(() => closeSync(descriptor));
  } catch (error) {
    if (!unsynced.includes(systemCode(error) ?? "")) throw error;
  }
}

export function makeOneFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
}

/**
 * After this time a temporary file belongs to a process that was killed. Removing a living one only
 * repeats its write.
 */
const staleMs = 600_000;

/**
 * Begins with `~`, then the number of the version that it will be, if any. Each name is used once.
 */
export function temporaryName(number?: number): string {
  return `~${number ?? ""}.${Date.now()}.${randomText()}`;
}

export function isStale(name: string): boolean {
  return isOld(Number(/^~\d*\.(\d+)\./.exec(name)?.[1] ?? Date.now()));
}

/** Or far ahead, after the clock was set back. In epoch milliseconds. */
export function isOld(instant: number): boolean {
  return Math.abs(Date.now() - instant) > staleMs;
}

export function randomText(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString("hex");
}

/** As the kernel has it. */
const mostLinks = 40;

/**
 * Resolves a link, so that all names of the store have the same locks. In a folder that others may
 * write to, such as /tmp, a link of another user could lead to any file of this one.
 */
export function followLink(path: string): {
  readonly at: string;
  readonly stats: Stats | undefined;
} {
  for (let at = path, links = 0; links <= mostLinks; links++) {
    const stats = lstatIfThere(at);
    if (!stats?.isSymbolicLink()) return { at, stats };
    if (!isOwn(stats))
      throw unavailable(
        `${at} is a link of another user. Remove it, or use a path in a folder of your own.`,
      );
    const target = readlinkSync(at);
    at = isAbsolute(target) ? target : `${dirname(at)}/${target}`;
  }
  throw Object.assign(new Error("too many links"), { code: "ELOOP" });
}

export function lstatIfThere(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

export function requireOwnFolder(path: string, stats: Stats): void {
  if (!stats.isDirectory())
    throw unavailable(`${path} is not a folder. Use a path for a folder of the store.`);
  requireOwner(path, stats);
  if (!isPrivate(stats)) throw unavailable(forbidden(path, stats, "700"));
}

function requireOwner(path: string, stats: Stats): void {
  if (!isOwn(stats))
    throw unavailable(`${path} belongs to another user. Use another path, or change the owner.`);
}

/**
 * Root can use the files of all users, but a store belongs to its user. Windows has no owners of
 * this kind.
 */
export function isOwn({ uid }: Stats): boolean {
  return process.geteuid === undefined || uid === process.geteuid();
}

function isPrivate({ mode }: Stats): boolean {
  return process.platform === "win32" || (mode & 0o077) === 0;
}

function forbidden(path: string, stats: Stats, right: string): string {
  const mode = (stats.mode & 0o777).toString(8).padStart(4, "0");
  return (
    `Other users may use ${path} (mode ${mode}). Run: ` +
    `chmod ${right} '${path.replace(/'/g, "'\\''")}'`
  );
}

const noRight = "Give this user the right to read and write the folder and its parent.";
const nextSteps: Readonly<Record<string, string>> = {
  EACCES: noRight,
  EPERM: noRight,
  EROFS: "The file system is read-only. Use a path elsewhere.",
  ENOENT: "The parent of its folder does not exist. Make it with mkdir -p.",
  ENOTDIR: "A part of the path is not a folder. Use a path elsewhere.",
  ELOOP: "The links form a circle. Use the path of the folder itself.",
  ENAMETOOLONG: "Use a shorter path.",
  ENOSPC: "The disk is full. Make room; the earlier contents are unchanged.",
  EDQUOT: "The quota is used up. Make room; the earlier contents are unchanged.",
  EFBIG: "The file may not grow so large. The earlier contents are unchanged.",
  EMFILE: "This process has too many files open.",
  ENFILE: "This machine has too many files open.",
};

export function systemCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && !isBivariantError(error) ? code : undefined;
}

/** Whether a call failed because the disk is full or the quota is used up. */
export function isFull(error: unknown): boolean {
  return ["ENOSPC", "EDQUOT"].includes(systemCode(error) ?? "");
}

export function undefinedIfMissing<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch (error) {
    if (systemCode(error) !== "ENOENT") throw error;
    return undefined;
  }
}

export function quietly<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch {
    return undefined;
  }
}

/** On Windows, another process may also have a file in this folder open. */
const lost = ["ENOENT", "EEXIST", "ENOTEMPTY", "ENOTDIR"].concat(
  process.platform === "win32" ? ["EPERM", "EACCES", "EBUSY"] : [],
);

/** Returns false if another process was faster to make, take or remove a name. */
export function won(call: () => void): boolean {
  try {
    call();
    return true;
  } catch (error) {
    if (!lost.includes(systemCode(error) ?? "")) throw error;
    return false;
  }
}

/**
 * Makes a file system error `store_unavailable` with the next step, and returns other errors
 * unchanged.
 */
export function asStoreError(error: unknown, path: string): unknown {
  const code = systemCode(error);
  if (code === undefined) return error;
  const next = nextSteps[code] ?? "Look at the folder and its parent.";
  return unavailable(`The store ${path} failed (${code}). ${next}`, error);
}

export function unavailable(message: string, cause?: unknown): StoreError {
  return new StoreError("store_unavailable", message, cause === undefined ? {} : { cause });
}
