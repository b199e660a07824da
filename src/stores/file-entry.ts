/**
 * The entries of a file store, one file each. A change holds the lock of its entry, and changes the
 * entry only by a rename from or to what is named after the holder. That is gone once another
 * process has taken the lock over, so a process that was suspended in the middle of a change begins
 * it anew, however late it wakes up.
 */
import { renameSync } from "node:fs";
import { join } from "node:path";
import type { StoredValue } from "../auth/shared/token-store.js";
import { StoreError } from "../errors.js";
import type { Encryption } from "./encryption.js";
import { checkFolder, isOwn } from "./file-folder.js";
import { underLock, withFile, withFolder } from "./file-lock.js";
import {
  makeFolders,
  parseObject,
  quietly,
  randomText,
  readOpened,
  syncFolder,
  systemCode,
  writeSafely,
} from "./file-system.js";

export interface Entry extends StoredValue {
  /** Epoch milliseconds. */
  readonly expiresAt: number | undefined;
}

export interface Place {
  /** The folder of the store. */
  readonly root: string;
  /** The hash of the key. */
  readonly name: string;
  readonly encryption: Encryption;
}

const entries = ({ root }: Place) => join(root, "entries");
const fileOf = (place: Place) => join(entries(place), place.name);
/** The lock that `lock` takes under the same key is another one. */
const lockOf = ({ root, name }: Place) => join(root, "locks", `${name}.entry`);

/** In bytes. No JavaScript text is longer. */
const largestFile = 2 ** 29;
/** A link, which is EMLINK on BSD; a socket; a file that even its owner may not read. */
const unreadable = ["ELOOP", "EMLINK", "ENXIO", "EOPNOTSUPP"].concat(
  process.platform === "win32" ? [] : "EACCES",
);

type Fields = Readonly<Record<string, unknown>>;

/** Returns what is in an entry's file, which may be of any type. */
function readFields(place: Place): Fields | "damaged" | undefined {
  try {
    const bytes = readOpened(
      fileOf(place),
      (stats) => stats.isFile() && isOwn(stats) && stats.size <= largestFile,
    );
    return bytes === undefined ? undefined : ((bytes && parseObject(bytes)) ?? "damaged");
  } catch (error) {
    if (!unreadable.includes(systemCode(error) ?? "")) throw error;
    return "damaged";
  }
}

async function readEntry(place: Place): Promise<Entry | "damaged" | undefined> {
  const fields = readFields(place);
  if (fields === undefined || fields === "damaged") return fields;
  const { name, version, expiresAt, value: sealed } = fields;
  if (name !== place.name || typeof version !== "string" || typeof sealed !== "string")
    return "damaged";
  if (expiresAt !== undefined && typeof expiresAt !== "number") return "damaged";
  const value = await place.encryption.open(sealed, { name, version, expiresAt });
  return value === undefined ? "damaged" : { value, version, expiresAt };
}

/**
 * Reads an entry, also one that has expired. A damaged file is set aside.
 *
 * @throws StoreError `store_corrupt`, in the one process that sets it aside
 */
export async function readIntact(place: Place): Promise<Entry | undefined> {
  for (;;) {
    const found = await readEntry(place);
    if (found !== "damaged") return found;
    // The key must still be that of the store.
    await checkFolder(place.root, place.encryption);
    await underLock(lockOf(place), withFolder, async (held) => {
      if ((await readEntry(place)) === "damaged") throw setAside(held, place);
    });
  }
}

/** Moves a damaged file to the folder `corrupt`, and returns the error that reports it. */
function setAside(held: string, place: Place): StoreError {
  const [from, over, corrupt] = [fileOf(place), join(held, "old"), join(place.root, "corrupt")];
  const to = join(corrupt, `${place.name}.${randomText()}`);
  try {
    renameSync(from, over);
    makeFolders(corrupt);
    renameSync(over, to);
  } catch (error) {
    quietly(() => renameSync(over, from));
    const code = systemCode(error);
    if (code === "ENOENT") throw error;
    const problem = `${from} cannot be read. It could not be set aside (${code}).`;
    return new StoreError("store_corrupt", `${problem} Move it away.`, { cause: error });
  }
  const problem = "An entry cannot be read, because it is torn or was changed.";
  return new StoreError(
    "store_corrupt",
    `${problem} It was set aside as ${to}; it is missing now.`,
  );
}

/**
 * Writes an entry, unless `check` throws for the one that is there, which may have expired.
 *
 * @throws StoreError `store_corrupt`, as `readIntact`
 */
export async function replace(
  place: Place,
  value: string,
  expiresAt: number | undefined,
  check: (current: Entry | undefined) => void,
): Promise<StoredValue> {
  const { name, encryption } = place;
  const version = randomText();
  const sealed = await encryption.seal(value, { name, version, expiresAt });
  const write = withFile((path) => writeSafely(path, { name, version, expiresAt, value: sealed }));
  const isWritten = () =>
    underLock(lockOf(place), write, async (held) => {
      const current = await readEntry(place);
      if (current === "damaged") return false;
      check(current);
      renameSync(held, fileOf(place));
      return true;
    });
  while (!(await isWritten())) await readIntact(place);
  await syncFolder(entries(place));
  return { value, version };
}

/** Removes an entry if it is `unwanted`. */
export async function remove(
  place: Place,
  unwanted: (entry: Fields) => boolean,
  timeoutMs?: number,
): Promise<void> {
  const isUnwanted = () => {
    const found = readFields(place);
    return typeof found === "object" && unwanted(found);
  };
  if (!isUnwanted()) return;
  const move = (held: string) => {
    if (isUnwanted()) renameSync(fileOf(place), join(held, "old"));
  };
  await underLock(lockOf(place), withFolder, move, timeoutMs);
  await syncFolder(entries(place));
}
