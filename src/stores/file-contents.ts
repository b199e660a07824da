/** Reads a store's JSON file, replaces it as a whole, and sets it aside if it is damaged. */
import { constants, type Stats } from "node:fs";
import { chmod, lstat, open, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { StoredValue } from "../auth/token-store.js";
import { isBivariantError, StoreError } from "../errors.js";
import type { Encryption } from "./encryption.js";

const kind = "bivariant token store";
const format = 1;

export interface Entry extends StoredValue {
  /** Epoch milliseconds. */
  readonly expiresAt?: number;
}

export type Entries = Map<string, Entry>;

/** The file is torn, was changed by hand or belongs to another program. It must be set aside. */
export class Damaged extends Error {}

/** Returns no entries if there is no file. @throws Damaged; StoreError, after which the file must stay */
export async function readEntries(path: string, encryption: Encryption): Promise<Entries> {
  const bytes = await readPrivately(path);
  return bytes === undefined ? new Map() : parse(bytes, path, encryption);
}

export async function formatEntries(entries: Entries, encryption: Encryption): Promise<string> {
  const { cipher } = encryption;
  const keyId = await encryption.keyId();
  // There is no newline at the end, so that a file that is cut anywhere is not JSON.
  return JSON.stringify({ kind, format, cipher, keyId, entries: Object.fromEntries(entries) });
}

async function readPrivately(path: string): Promise<Uint8Array | undefined> {
  // Opening a pipe would otherwise wait for its writer. Links were resolved before.
  const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);
  const handle = await open(path, flags).catch(undefinedIfMissing);
  if (handle === undefined) return undefined;
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw unavailable(`${path} is not a file. Use the path of a file.`);
    if (!isOwn(stats))
      throw unavailable(`${path} belongs to another user. Use another path, or change the owner.`);
    if (!isPrivate(stats)) {
      const mode = (stats.mode & 0o777).toString(8).padStart(4, "0");
      const command = `chmod 600 '${path.replace(/'/g, "'\\''")}'`;
      throw unavailable(`Other users may use ${path} (mode ${mode}). Run: ${command}`);
    }
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

async function parse(bytes: Uint8Array, path: string, encryption: Encryption): Promise<Entries> {
  let file: unknown;
  try {
    file = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    // The parser's message would quote the file.
    throw new Damaged("it is not JSON");
  }
  if (!isRecord(file) || file.kind !== kind || typeof file.format !== "number")
    throw new Damaged("it is not the file of a store");
  if (file.format > format)
    throw unavailable(`${path} was written by a newer version of this package. Update the package.`);
  if (file.format !== format) throw new Damaged("its format is unknown");
  if (file.cipher !== encryption.cipher) {
    if (file.cipher === "none")
      throw unavailable(
        `${path} is not encrypted. Open it with plaintext: true, or remove it to start anew.`,
      );
    if (file.cipher !== "dir+A256GCM") throw new Damaged("its cipher is unknown");
    throw unavailable(`${path} is encrypted. Open it with the key that it was written with.`);
  }
  if (file.keyId !== (await encryption.keyId()))
    throw unavailable(`${path} was written with another key. Use that key, or the path of another file.`);
  if (!isRecord(file.entries)) throw new Damaged("it has no entries");
  const entries = Object.entries(file.entries);
  if (entries.every(([, entry]) => isEntry(entry))) return new Map(entries as [string, Entry][]);
  throw new Damaged("one of its entries is invalid");
}

function isEntry(entry: unknown): boolean {
  if (!isRecord(entry)) return false;
  const { version, expiresAt, value } = entry;
  const isExpiry = expiresAt === undefined || typeof expiresAt === "number";
  return typeof version === "string" && typeof value === "string" && isExpiry;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Readers see either the old contents or the new ones, even if this process or the machine stops. */
export async function replaceFile(path: string, contents: string, own: string): Promise<void> {
  const made = join(own, "contents");
  try {
    const handle = await open(made, "wx", 0o600);
    try {
      await handle.writeFile(contents);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(made, path);
  } catch (error) {
    await rm(made, { force: true }).catch(() => {});
    throw error;
  }
  await syncFolder(dirname(path));
}

/** Moves a damaged file to `<path>.corrupt-<timestamp>`, and returns the error that reports it. */
export async function setAside(path: string, why: string, own: string): Promise<StoreError> {
  const problem = `${path} cannot be read as a store: ${why}.`;
  try {
    // The path inside the own folder is gone if the lock was lost. Another process's file must not be moved.
    await rename(path, join(own, "aside"));
    return await finishAside(path, problem, own);
  } catch (error) {
    // The file or the lock is gone, because another process took over.
    if (systemCode(error) === "ENOENT") throw error;
    const message = `${problem} It could not be set aside (${systemCode(error) ?? "unknown"}). Move it away.`;
    return new StoreError("store_corrupt", message, { cause: error });
  }
}

/** Clears the folder of a killed holder. Returns an error if that holder was setting a file aside. */
export async function clearUp(path: string, own: string): Promise<StoreError | undefined> {
  const left = await readdir(own);
  for (const name of left) if (name !== "aside") await rm(join(own, name), { force: true });
  return left.includes("aside") ? finishAside(path, `${path} could not be read as a store.`, own) : undefined;
}

async function finishAside(path: string, problem: string, own: string): Promise<StoreError> {
  const aside = join(own, "aside");
  await chmod(aside, 0o600);
  const start = `${path}.corrupt-${new Date().toISOString().replace(/[-:.]/g, "")}`;
  let to = start;
  for (let count = 2; (await lstat(to).catch(() => undefined)) !== undefined; count++)
    to = `${start}-${count}`;
  await rename(aside, to);
  await syncFolder(dirname(path));
  return new StoreError("store_corrupt", `${problem} It was set aside as ${to}; the store is empty now.`);
}

/** Makes the rename survive a power failure, if the system can do that. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r").catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}

/** Root can use the files of all users, but a store belongs to its user. Windows has no owners of this kind. */
export function isOwn({ uid }: Stats): boolean {
  return process.geteuid === undefined || uid === process.geteuid();
}

function isPrivate({ mode }: Stats): boolean {
  return process.platform === "win32" || (mode & 0o077) === 0;
}

/** Refuses a folder of locks that is a link, or that another user may use. */
export async function requirePrivateFolder(folder: string): Promise<void> {
  const stats = await lstat(folder).catch(undefinedIfMissing);
  if (stats === undefined || (stats.isDirectory() && isOwn(stats) && isPrivate(stats))) return;
  throw unavailable(
    `${folder} must be a folder that only this user may use (mode 0700). Remove it if no process uses the store.`,
  );
}

const noRight = "Give this user the right to read and write the folder and the file.";
const nextSteps: Readonly<Record<string, string>> = {
  EACCES: noRight,
  EPERM: noRight,
  EROFS: "The file system is read-only. Use a path elsewhere.",
  ENOENT: "The parent of its folder does not exist. Make it with mkdir -p.",
  ENOTDIR: "A part of the path is not a folder. Use a path elsewhere.",
  EISDIR: "This is a folder. Use the path of a file in it.",
  ELOOP: "The links form a circle. Use the path of the file itself.",
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

export function undefinedIfMissing(error: unknown): undefined {
  if (systemCode(error) !== "ENOENT") throw error;
}

/** Makes a file system error `store_unavailable` with the next step, and returns other errors unchanged. */
export function asStoreError(error: unknown, path: string): unknown {
  const code = systemCode(error);
  if (code === undefined) return error;
  const next = nextSteps[code] ?? "Look at the file and its folder.";
  return unavailable(`The store ${path} failed (${code}). ${next}`, error);
}

export function unavailable(message: string, cause?: unknown): StoreError {
  return new StoreError("store_unavailable", message, cause === undefined ? {} : { cause });
}
