/** The calls of the file system that a file store makes, and their errors. */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  fsync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  type Stats,
  writeFileSync,
} from "node:fs";
import { promisify } from "node:util";
import { isBivariantError, StoreError } from "../errors.js";

// Calls that only touch names and small cached files take microseconds, a tenth of what they take
// as promises. Only `fsync` waits for the disk, so only that one is asynchronous.
const syncDescriptor = promisify(fsync);

export function randomText(): string {
  return randomBytes(8).toString("hex");
}

/** Makes a folder for this user alone, and those above it. */
export function makeFolders(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

/**
 * Opens a file, which must not be a link, without waiting for the writer of a pipe, and reads it.
 * Returns null for one that is not `wanted`.
 */
export function readOpened(
  path: string,
  wanted: (stats: Stats) => boolean,
): Uint8Array | null | undefined {
  const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);
  const descriptor = undefinedIfMissing(() => openSync(path, flags));
  if (descriptor === undefined) return undefined;
  try {
    return wanted(fstatSync(descriptor)) ? readFileSync(descriptor) : null;
  } finally {
    closeSync(descriptor);
  }
}

/** Returns undefined for anything else. The parser's message would quote the file. */
export function parseObject(bytes: Uint8Array): Record<string, unknown> | undefined {
  const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const value: unknown = quietly(() => JSON.parse(utf8.decode(bytes)));
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : undefined;
}

/**
 * Writes a new file with JSON. If the machine stops later, the contents are still there. There is
 * no newline at the end, so that a file that is cut anywhere is not JSON.
 */
export async function writeSafely(path: string, contents: object): Promise<void> {
  const descriptor = openSync(path, "wx", 0o600);
  try {
    writeFileSync(descriptor, JSON.stringify(contents));
    await syncDescriptor(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** The folder was removed meanwhile, may not be read, or cannot be synced on this system. */
const unsynced = ["ENOENT", "EACCES", "EINVAL", "EISDIR", "ENOTSUP", "EOPNOTSUPP", "EPERM"];

/**
 * Makes the names in a folder survive a power failure, if the system can do that.
 *
 * @throws StoreError `store_unavailable` on a full disk, so that the change is not repeated
 */
export async function syncFolder(folder: string): Promise<void> {
  try {
    const descriptor = openSync(folder, "r");
    await syncDescriptor(descriptor).finally(() => closeSync(descriptor));
  } catch (error) {
    if (hasCode(error, unsynced)) return;
    if (!isFull(error)) throw error;
    const problem = `A change in ${folder} is done, but may not survive a power failure`;
    throw unavailable(`${problem} (${systemCode(error)}). Make room on the disk.`, error);
  }
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

function hasCode(error: unknown, codes: readonly string[]): boolean {
  return codes.includes(systemCode(error) ?? "");
}

/** Whether a call failed because the disk is full or the quota is used up. */
export function isFull(error: unknown): boolean {
  return hasCode(error, ["ENOSPC", "EDQUOT"]);
}

/** On Windows, another process may also have the file or folder open. */
const lost = ["ENOENT"].concat(process.platform === "win32" ? ["EPERM", "EACCES", "EBUSY"] : []);

/** Whether a rename failed because another process was faster to remove the name. */
export function isLost(error: unknown): boolean {
  return hasCode(error, lost);
}

/** Renames a folder. Returns false if another process was faster to take or remove the name. */
export function isRenamed(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (!hasCode(error, [...lost, "EEXIST", "ENOTEMPTY", "ENOTDIR"])) throw error;
    return false;
  }
}

export function undefinedIfMissing<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch (error) {
    if (!hasCode(error, ["ENOENT"])) throw error;
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
  return new StoreError("store_unavailable", message, { cause });
}
