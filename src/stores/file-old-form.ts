/**
 * Takes over a store of the form before version 2 of the format: one file with all entries, and its locks in
 * the folder `<path>.locks`. It can be deleted once nobody has such a file any more.
 */
import { chmodSync, existsSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { performance } from "node:perf_hooks";
import { StoreError } from "../errors.js";
import type { Encryption } from "./encryption.js";
import { type Entry, look, replace } from "./file-entry.js";
import {
  checkHead,
  Damaged,
  isRecord,
  lstatIfThere,
  makeFolder,
  parseJson,
  quietly,
  randomText,
  readPrivately,
  syncFolder,
} from "./file-folder.js";
import { takeLock } from "./file-lock.js";

/** Thousands of entries take some seconds. */
const timeoutMs = 60_000;

/** Whether there is something to do: a file at the path, or what a killed process left of one. */
export function hasOldForm(path: string): boolean {
  return lstatIfThere(path)?.isFile() === true || existsSync(movedFrom(path));
}

function movedFrom(path: string): string {
  return `${path}.old-form`;
}

/**
 * Builds the folder beside the file, moves the file away, and then the folder to its place. A process that is
 * killed between the two moves leaves the old file under another name, and the next process moves it back.
 *
 * @param given the path that the user gave, which may be a link to this one
 */
export async function takeOver(path: string, given: string, encryption: Encryption): Promise<void> {
  const lock = await takeLock(`${path}.taking-over`, timeoutMs, performance.now() + timeoutMs);
  try {
    const old = movedFrom(path);
    const beside = `${path}.new-`;
    // Of a process that was killed.
    for (const name of readdirSync(dirname(path)))
      if (name.startsWith(basename(beside)) && /-[0-9a-f]{16}$/.test(name))
        rmSync(join(dirname(path), name), { recursive: true });
    if (existsSync(old) && lstatIfThere(path) === undefined) renameSync(old, path);
    if (lstatIfThere(path)?.isFile()) {
      const made = `${beside}${randomText()}`;
      const bytes = await copyEntries(path, given, made, encryption);
      if (!lstatIfThere(path)?.isFile()) return;
      renameSync(path, old);
      // A process with an earlier version of this package may have written until now. If this one was
      // suspended for long, another one may even have put its folder there.
      const isSame = lstatIfThere(old)?.isFile() && readFileSync(old).equals(bytes);
      if (!isSame) return renameSync(old, path);
      renameSync(made, path);
      await syncFolder(dirname(path));
    }
    for (const left of [old, `${path}.locks`]) quietly(() => rmSync(left, { recursive: true, force: true }));
  } finally {
    lock.release();
  }
}

async function copyEntries(
  path: string,
  given: string,
  made: string,
  encryption: Encryption,
): Promise<Uint8Array> {
  try {
    const bytes = readPrivately(path) ?? new Uint8Array();
    const entries = await readEntries(bytes, path, encryption);
    await makeFolder(made, encryption);
    for (const { name, value, expiresAt } of entries) {
      const place = { root: made, name, encryption };
      await replace(place, await look(place), value, expiresAt);
    }
    return bytes;
  } catch (error) {
    if (!(error instanceof Damaged)) throw error;
    throw path === given ? setAside(path, error.message) : damagedTarget(given, path, error.message);
  }
}

async function readEntries(
  bytes: Uint8Array,
  path: string,
  encryption: Encryption,
): Promise<(Entry & { name: string })[]> {
  const file = parseJson(bytes);
  await checkHead(file, path, 1, encryption);
  const entries = isRecord(file) && isRecord(file.entries) ? Object.entries(file.entries) : undefined;
  if (entries === undefined) throw new Damaged("it has no entries");
  return Promise.all(
    entries.map(async ([key, entry]) => {
      const { version, expiresAt, value: sealed } = isRecord(entry) ? entry : {};
      const isExpiry = expiresAt === undefined || typeof expiresAt === "number";
      if (typeof version !== "string" || typeof sealed !== "string" || !isExpiry)
        throw new Damaged("one of its entries is invalid");
      const value = await encryption.open(sealed, { name: key, version, expiresAt });
      if (value === undefined) throw new Damaged("an entry was changed or moved");
      // Without encryption the names of the old form were the keys.
      const name = encryption.cipher === "none" ? await encryption.nameOf(key) : key;
      return { name, value, version, ...(expiresAt === undefined ? {} : { expiresAt }) };
    }),
  );
}

/** Moves a damaged file to `<path>.corrupt-<timestamp>`, and returns the error that reports it. */
function setAside(path: string, why: string): StoreError {
  const problem = `${path} cannot be read as a store: ${why}.`;
  const start = `${path}.corrupt-${new Date().toISOString().replace(/[-:.]/g, "")}`;
  let to = start;
  for (let count = 2; lstatIfThere(to) !== undefined; count++) to = `${start}-${count}`;
  chmodSync(path, 0o600);
  renameSync(path, to);
  return new StoreError("store_corrupt", `${problem} It was set aside as ${to}; the store is empty now.`);
}

/** The file may belong to another program, and nobody gave its own path to the store. */
function damagedTarget(link: string, path: string, why: string): StoreError {
  const problem = `${link} is a link to ${path}, which cannot be read as a store: ${why}.`;
  return new StoreError(
    "store_corrupt",
    `${problem} It was left as it is. Correct the link, or move the file away.`,
  );
}
