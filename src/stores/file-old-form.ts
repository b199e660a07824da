/**
 * Takes over a store of the form before version 2 of the format: one file with all entries, and its locks in
 * the folder `<path>.locks`. It can be deleted when no such files are left.
 */
import { chmodSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { performance } from "node:perf_hooks";
import { StoreError } from "../errors.js";
import type { Encryption } from "./encryption.js";
import { type Entry, look, replace } from "./file-entry.js";
import {
  checkHead,
  Damaged,
  isOwn,
  isRecord,
  lstatIfThere,
  makeFolder,
  parseJson,
  quietly,
  randomText,
  readPrivately,
  syncFolder,
  unavailable,
  won,
  writeSafely,
} from "./file-folder.js";
import { takeLock } from "./file-lock.js";

/** Thousands of entries take some seconds. */
const timeoutMs = 60_000;

/** The start of every file of the old form. It was written elsewhere and renamed, so it was never empty. */
const head = '{"kind":"bivariant token store"';
/** A file in the new folder, as long as what it was made from may still be there. */
const noteName = "taken-over";
const copiedAtOnce = 32;

/** Whether there is something to do: a file of the old form, or what a killed process left of one. */
export function hasOldForm(path: string): boolean {
  return isOldForm(path) || movedAway(path).moved.length > 0;
}

/** The file may be torn after its start. */
function isOldForm(path: string): boolean {
  const stats = lstatIfThere(path);
  if (!stats?.isFile() || !isOwn(stats)) return false;
  // Another process may just have put its folder there.
  return quietly(() => readFileSync(path, "latin1"))?.startsWith(head) === true;
}

/** The files that were moved away and are still there, the oldest first, and a free name for the next one. */
function movedAway(path: string): { readonly moved: readonly string[]; readonly next: string } {
  const moved: string[] = [];
  for (let count = 1; ; count++) {
    const name = `${path}.old-form${count === 1 ? "" : `-${count}`}`;
    if (lstatIfThere(name) === undefined) return { moved, next: name };
    if (isOldForm(name)) moved.push(name);
  }
}

/**
 * Builds the folder beside the file, moves the file away, and then the folder to its place. A process that is
 * killed between the two moves leaves the old file under another name. A process with an earlier version of
 * this package may then write a new file: the next takeover copies the entries of both.
 */
export async function takeOver(path: string, encryption: Encryption): Promise<void> {
  const lock = await takeLock(`${path}.taking-over`, timeoutMs, performance.now() + timeoutMs);
  try {
    const { moved, next } = movedAway(path);
    const isFile = isOldForm(path);
    // Another process has done it.
    if (!isFile && moved.length === 0) return;
    // Of a process that was killed.
    for (const name of readdirSync(dirname(path)))
      if (name.startsWith(basename(path)) && /^\.new-[0-9a-f]{16}$/.test(name.slice(basename(path).length)))
        quietly(() => rmSync(join(dirname(path), name), { recursive: true }));
    // A folder of another program, if it is empty.
    quietly(() => rmdirSync(path));
    if (isFile || lstatIfThere(path) === undefined) {
      const made = `${path}.new-${randomText()}`;
      const bytes = await copyEntries(isFile ? [...moved, path] : moved, made, encryption);
      if (isFile) {
        if (!isOldForm(path)) return;
        renameSync(path, next);
        // This process was suspended for long, and another one has put its folder there.
        if (!isOldForm(next)) return renameSync(next, path);
        // A process with an earlier version wrote until now. Its last file is copied by the next attempt.
        if (!readFileSync(next).equals(bytes)) return;
      }
      // This fails if a process with an earlier version has written a new file.
      if (!won(() => renameSync(made, path))) return;
      await syncFolder(dirname(path));
    } else if (lstatIfThere(join(path, noteName)) === undefined) {
      const problem = `${moved[0]} has entries of ${path}, which is something else now.`;
      throw unavailable(`${problem} Move one of the two away.`);
    }
    // If one cannot be removed, the note stays, so that the next process removes the rest.
    quietly(() => {
      for (const left of [`${path}.locks`, ...[...movedAway(path).moved].reverse(), join(path, noteName)])
        rmSync(left, { recursive: true, force: true });
    });
  } finally {
    lock.release();
  }
}

type OldEntry = Entry & { name: string };

/** Of entries with the same name the last one counts. Returns the contents of the last file. */
async function copyEntries(
  from: readonly string[],
  made: string,
  encryption: Encryption,
): Promise<Uint8Array> {
  const entries = new Map<string, OldEntry>();
  let bytes: Uint8Array = new Uint8Array();
  for (const path of from) {
    try {
      bytes = readPrivately(path) ?? bytes;
      for (const entry of await readEntries(bytes, path, encryption)) entries.set(entry.name, entry);
    } catch (error) {
      throw error instanceof Damaged ? setAside(path, error.message) : error;
    }
  }
  await makeFolder(made, encryption);
  const toCopy = [...entries.values()];
  const copyOne = async ({ name, value, expiresAt }: OldEntry) => {
    const place = { root: made, name, encryption };
    await replace(place, await look(place), value, expiresAt);
  };
  // The disk makes those durable together that are written at the same time.
  while (toCopy.length > 0) await Promise.all(toCopy.splice(0, copiedAtOnce).map(copyOne));
  await writeSafely(join(made, noteName), "");
  return bytes;
}

async function readEntries(bytes: Uint8Array, path: string, encryption: Encryption): Promise<OldEntry[]> {
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

/** Moves a damaged file to `<path>.corrupt-<timestamp>-<random>`, and returns the error that reports it. */
function setAside(path: string, why: string): StoreError {
  const problem = `${path} cannot be read as a store: ${why}.`;
  const to = `${path}.corrupt-${new Date().toISOString().replace(/[-:.]/g, "")}-${randomText()}`;
  chmodSync(path, 0o600);
  renameSync(path, to);
  return new StoreError("store_corrupt", `${problem} It was set aside as ${to}; the store is empty now.`);
}
