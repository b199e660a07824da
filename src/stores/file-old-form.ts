/**
 * Takes over a store of the form before version 2 of the format: one file with all entries, and its locks in
 * the folder `<path>.locks`. It can be deleted once nobody has such a file any more.
 */
import {
  chmodSync,
  closeSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmdirSync,
  rmSync,
} from "node:fs";
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
  undefinedIfMissing,
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
const writtenAtOnce = 32;

/** Whether there is something to do: a file of the old form, or what a killed process left of one. */
export function hasOldForm(path: string): boolean {
  return isOldForm(path) || movedAway(path).moved.length > 0;
}

/** The file may be torn after its start. */
function isOldForm(path: string): boolean {
  const stats = lstatIfThere(path);
  if (!stats?.isFile() || !isOwn(stats)) return false;
  const descriptor = undefinedIfMissing(() => openSync(path, "r"));
  if (descriptor === undefined) return false;
  try {
    const start = Buffer.alloc(head.length);
    // Another process may just have put its folder there.
    return fstatSync(descriptor).isFile() && readSync(descriptor, start) > 0 && start.toString() === head;
  } finally {
    closeSync(descriptor);
  }
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
 *
 * @param given the path that the user gave, which may be a link to this one
 */
export async function takeOver(
  path: string,
  given: string,
  encryption: Encryption,
  isOver: (entry: { expiresAt?: number }) => boolean,
): Promise<void> {
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
    // A folder that somebody made, if it is empty.
    quietly(() => rmdirSync(path));
    if (isFile || lstatIfThere(path) === undefined) {
      const made = `${path}.new-${randomText()}`;
      const old = await readAll(
        isFile ? [...moved, path] : moved,
        path === given ? undefined : given,
        encryption,
      );
      await writeAll(
        old.entries.filter((entry) => !isOver(entry)),
        made,
        encryption,
      );
      if (isFile) {
        if (!isOldForm(path)) return;
        renameSync(path, next);
        // This process was suspended for long, and another one has put its folder there.
        if (!isOldForm(next)) return renameSync(next, path);
        // A process with an earlier version wrote until now. Its last file is copied by the next attempt.
        if (!readFileSync(next).equals(old.bytes)) return;
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

/** Of entries with the same name the last one counts. Returns also the contents of the last file. */
async function readAll(
  paths: readonly string[],
  link: string | undefined,
  encryption: Encryption,
): Promise<{ entries: OldEntry[]; bytes: Uint8Array }> {
  const entries = new Map<string, OldEntry>();
  let bytes: Uint8Array = new Uint8Array();
  for (const path of paths) {
    try {
      bytes = readPrivately(path) ?? new Uint8Array();
      for (const entry of await readEntries(bytes, path, encryption)) entries.set(entry.name, entry);
    } catch (error) {
      if (!(error instanceof Damaged)) throw error;
      throw link === undefined ? setAside(path, error.message) : damagedTarget(link, path, error.message);
    }
  }
  return { entries: [...entries.values()], bytes };
}

async function writeAll(entries: OldEntry[], made: string, encryption: Encryption): Promise<void> {
  await makeFolder(made, encryption);
  const writeOne = async ({ name, value, expiresAt }: OldEntry) => {
    const place = { root: made, name, encryption };
    await replace(place, await look(place), value, expiresAt);
  };
  // The disk makes those durable together that are written at the same time.
  while (entries.length > 0) await Promise.all(entries.splice(0, writtenAtOnce).map(writeOne));
  await writeSafely(join(made, noteName), "");
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
