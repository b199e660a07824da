/** What is in the file of a file store: JSON that says whose it is, how it is encrypted and with which key. */
import { constants, type Stats } from "node:fs";
import { chmod, lstat, open, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isBivariantError, StoreError } from "../errors.js";
import type { Encryption } from "./encryption.js";

const kind = "bivariant token store";
const format = 1;

export interface Entry {
  readonly version: string;
  /** Epoch milliseconds. */
  readonly expiresAt?: number;
  readonly value: string;
}

/** By what stands for the key name. */
export type Entries = Map<string, Entry>;

/** The file is torn, somebody else's, or changed by hand: it is to be set aside. */
export class Damaged extends Error {}

/**
 * The entries; none when there is no file.
 *
 * @throws Damaged
 * @throws StoreError `store_unavailable` when it is not for others to read, or another key's: it is left as it is
 */
export async function readEntries(path: string, encryption: Encryption): Promise<Entries> {
  const bytes = await readPrivately(path);
  return bytes === undefined ? new Map() : parse(bytes, path, encryption);
}

export async function formatEntries(entries: Entries, encryption: Encryption): Promise<string> {
  const { cipher } = encryption;
  // No newline at the end: cut anywhere, the text is no JSON any more.
  return JSON.stringify({
    kind,
    format,
    cipher,
    keyId: await encryption.keyId(),
    entries: Object.fromEntries(entries),
  });
}

async function readPrivately(path: string): Promise<Uint8Array | undefined> {
  // Non-blocking, since opening a pipe would wait for its writer.
  const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
  const handle = await open(path, flags).catch((error) => {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  });
  if (handle === undefined) return undefined;
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) unavailable(`${path} is no file: name a file for the store`);
    if (!isOwn(stats))
      unavailable(`${path} belongs to another user: name another file, or make it this user's`);
    if (!isPrivate(stats)) {
      const mode = (stats.mode & 0o777).toString(8).padStart(4, "0");
      unavailable(`Others may use ${path} (mode ${mode}); run: chmod 600 '${path.replace(/'/g, "'\\''")}'`);
    }
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

async function parse(bytes: Uint8Array, path: string, encryption: Encryption): Promise<Entries> {
  const file = json(bytes);
  if (!isRecord(file) || file.kind !== kind || typeof file.format !== "number")
    throw new Damaged("it is not the file of a store");
  if (file.format > format)
    unavailable(`${path} was written by a newer version of this package: use that one`);
  if (file.format !== format) throw new Damaged("its format is unknown");
  if (file.cipher !== encryption.cipher) {
    if (file.cipher !== "none" && file.cipher !== "dir+A256GCM") throw new Damaged("its cipher is unknown");
    unavailable(
      file.cipher === "none"
        ? `${path} is not encrypted, and a key was given: open it with plaintext: true, or remove it and start anew`
        : `${path} is encrypted: give the key that it was written with`,
    );
  }
  if (file.keyId !== (await encryption.keyId()))
    unavailable(
      `${path} was written with another key: give that one, or name another file; it was left as it is`,
    );
  if (!isRecord(file.entries)) throw new Damaged("it has no entries");
  const entries: Entries = new Map();
  for (const [name, entry] of Object.entries(file.entries)) {
    if (!isEntry(entry)) throw new Damaged("one of its entries is none");
    entries.set(name, entry);
  }
  return entries;
}

function json(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    // What the parser says would quote the file.
    throw new Damaged("it is not JSON: torn, or another program's");
  }
}

function isEntry(value: unknown): value is Entry {
  if (!isRecord(value)) return false;
  const { version, expiresAt, value: text } = value;
  return (
    typeof version === "string" &&
    typeof text === "string" &&
    (expiresAt === undefined || typeof expiresAt === "number")
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function unavailable(message: string): never {
  throw new StoreError("store_unavailable", `${message}.`);
}

const nextSteps: Readonly<Record<string, string>> = {
  EACCES: "give this user the right to read and write the folder and the file",
  EPERM: "give this user the right to read and write the folder and the file",
  EROFS: "the file system is read-only: name a path elsewhere",
  ENOENT: "its folder is made if it is missing, but not that folder's parent: make it with mkdir -p",
  ENOTDIR: "a part of the path is no folder: name a path elsewhere",
  EISDIR: "this is a folder: name a file in it",
  ELOOP: "the links go in a circle: name the file itself",
  ENAMETOOLONG: "choose a shorter path",
  ENOSPC: "the disk is full: make room; what was stored before is still there",
  EDQUOT: "the quota is used up: make room; what was stored before is still there",
  EFBIG: "the file may not grow so large; what was stored before is still there",
  EMFILE: "this process has too many files open",
  ENFILE: "this machine has too many files open",
};

/** The code of a system error; `undefined` when it is none. */
export function systemCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && !isBivariantError(error) ? code : undefined;
}

/** `store_unavailable` for a fault of the file system; anything else as it is. */
export function asStoreError(error: unknown, path: string): unknown {
  const code = systemCode(error);
  if (code === undefined) return error;
  const next = nextSteps[code] ?? "look at the file and its folder";
  return new StoreError("store_unavailable", `The store ${path} failed (${code}): ${next}.`, {
    cause: error,
  });
}

/** Root may use everybody's files: a store is its user's all the same. Windows has no owners of this kind. */
export function isOwn({ uid }: Stats): boolean {
  return process.geteuid === undefined || uid === process.geteuid();
}

export function isPrivate({ mode }: Stats): boolean {
  return process.platform === "win32" || (mode & 0o077) === 0;
}

/**
 * The folder of the locks, where unfinished writes lie too: a folder itself, no link to one, and nobody else's.
 *
 * @throws StoreError `store_unavailable`
 */
export async function checkLockFolder(folder: string): Promise<void> {
  const stats = await lstat(folder).catch((error) => {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  });
  if (stats === undefined || (stats.isDirectory() && isOwn(stats) && isPrivate(stats))) return;
  throw new StoreError(
    "store_unavailable",
    `${folder} is not a folder that only this user may use (mode 0700): remove it if no process uses the store.`,
  );
}

/** Whoever reads sees the old contents or the new ones, whenever this process or the machine stops. */
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

/**
 * Moves a file that is none of a store's to `<path>.corrupt-<timestamp>`.
 *
 * @returns the error that tells so, and where it is now
 */
export async function setAside(path: string, why: string, own: string): Promise<StoreError> {
  const said = `${path} cannot be read as a store: ${why}.`;
  try {
    // By way of the own folder: who lost the lock meanwhile must not move away what another wrote.
    await rename(path, join(own, "aside"));
    return await finishAside(path, said, own);
  } catch (error) {
    // The file, or the lock: others went on with it.
    if (systemCode(error) === "ENOENT") throw error;
    const message = `${said} It could not be set aside (${systemCode(error) ?? "unknown"}): move it away.`;
    return new StoreError("store_corrupt", message, { cause: error });
  }
}

/** Clears up what a holder that was killed left in the folder; tells when that was a file on its way aside. */
export async function clearUp(path: string, own: string): Promise<StoreError | undefined> {
  const left = await readdir(own);
  for (const name of left) if (name !== "aside") await rm(join(own, name), { force: true });
  return left.includes("aside") ? finishAside(path, `${path} could not be read as a store.`, own) : undefined;
}

async function finishAside(path: string, said: string, own: string): Promise<StoreError> {
  const aside = join(own, "aside");
  await chmod(aside, 0o600);
  const start = `${path}.corrupt-${new Date().toISOString().replace(/[-:.]/g, "")}`;
  let to = start;
  for (let count = 2; (await lstat(to).catch(() => undefined)) !== undefined; count++)
    to = `${start}-${count}`;
  await rename(aside, to);
  await syncFolder(dirname(path));
  return new StoreError("store_corrupt", `${said} It was set aside as ${to}; the store starts anew, empty.`);
}

/** So that the rename itself outlives a power failure, where the system can do that. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r").catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}
