/**
 * The entries of a file store, which any number of processes change without a lock. An entry is a
 * folder with numbered files: the highest number is its state, the one before it is kept in case
 * the highest is torn.
 *
 * - A write makes a temporary file named after the number that it wants, lists the folder again,
 *   and links the file to that number, which fails if the number is taken. A delete renames an
 *   empty folder to the number: the entry is closed.
 * - A number may be removed, and thus become free, only after the temporary files that want it. A
 *   process that wants a number made its temporary file before that number was first taken, so the
 *   remover has it in its list. A process that was suspended since therefore finds its temporary
 *   file gone and begins anew, however late it wakes up.
 * - A damaged file above a valid one keeps its number. The next write takes the number after the
 *   highest one, and then removes it like any other.
 * - A closed folder is emptied and removed; no process adds to it. A new entry is built elsewhere
 *   and renamed, which fails over a folder that is not empty. It starts at a random number, so that
 *   late removals hit nothing in it.
 */
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  unlinkSync,
} from "node:fs";
import { join } from "node:path";
import type { StoredValue } from "../auth/shared/token-store.js";
import { StoreError } from "../errors.js";
import type { Encryption } from "./encryption.js";
import {
  Damaged,
  isFull,
  isOwn,
  isRecord,
  isStale,
  lstatIfThere,
  makeOneFolder,
  parseJson,
  quietly,
  randomText,
  readOpened,
  spareName,
  syncFolder,
  systemCode,
  temporaryName,
  undefinedIfMissing,
  won,
  writeSafely,
} from "./file-folder.js";

export interface Entry extends StoredValue {
  /** Epoch milliseconds. */
  readonly expiresAt?: number;
}

export interface Place {
  /** The folder of the store. */
  readonly root: string;
  /** The hash of the key. */
  readonly name: string;
  readonly encryption: Encryption;
}

interface State {
  /** The highest number. It is undefined for a missing entry. */
  readonly top: number | undefined;
  readonly isClosed: boolean;
  /** The number that counts, which is not the highest if that is damaged. */
  readonly number?: number;
  readonly entry?: Entry;
}

function folderOf({ root, name }: Place): string {
  return join(root, "entries", name);
}

/**
 * Counting from the highest start to here takes longer than any store lives. A higher number was
 * planted.
 */
const [highestStart, highestNumber] = [2 ** 48, 2 ** 49];
/** After a number from here on there is too little room for others. */
const lastNumbers = highestNumber - 1_000_000;

/** In bytes. No JavaScript text is longer. */
const largestFile = 2 ** 29;
/** A link, which is EMLINK on BSD; a socket; a file that even its owner may not read. */
const unreadable = ["ELOOP", "EMLINK", "ENXIO", "EOPNOTSUPP"].concat(
  process.platform === "win32" ? [] : "EACCES",
);

interface Listing {
  /** The highest first. */
  readonly numbers: readonly number[];
  readonly temporary: readonly string[];
  readonly strange: readonly string[];
  readonly folders: ReadonlySet<string>;
}

function list(folder: string): Listing {
  const [numbers, temporary, strange]: [number[], string[], string[]] = [[], [], []];
  const folders = new Set<string>();
  for (const one of undefinedIfMissing(() => readdirSync(folder, { withFileTypes: true })) ?? []) {
    if (one.isDirectory()) folders.add(one.name);
    if (/^[1-9]\d{0,14}$/.test(one.name) && Number(one.name) <= highestNumber)
      numbers.push(Number(one.name));
    else (one.name.startsWith("~") ? temporary : strange).push(one.name);
  }
  return { numbers: numbers.sort((a, b) => b - a), temporary, strange, folders };
}

/**
 * Reads an entry. Damaged files are set aside if `confirm` resolves; without it they are skipped.
 *
 * @throws StoreError `store_corrupt` once, if nothing else is left of the entry
 */
export async function look(place: Place, confirm?: () => Promise<unknown>): Promise<State> {
  const folder = folderOf(place);
  next: for (;;) {
    if (confirm !== undefined && lstatIfThere(folder)?.isDirectory() === false) {
      await confirm();
      reportOnce([setAside(place.root, place.name)]);
      continue;
    }
    const { numbers, strange, folders } = list(folder);
    const [top] = numbers;
    if (top === undefined ? strange.length === 0 : folders.has(String(top)))
      return { top, isClosed: top !== undefined };
    const damaged: string[] = strange.filter((name) => /^\d+$/.test(name));
    let found: { number: number; entry: Entry } | undefined;
    for (const number of numbers) {
      const contents = readEntry(join(folder, String(number)));
      // Another process has written since.
      if (contents === undefined) continue next;
      const entry = contents === "damaged" ? undefined : await open(contents, number, place);
      if (entry === undefined) {
        damaged.push(String(number));
        continue;
      }
      found = { number, entry };
      break;
    }
    if (damaged.length === 0 || confirm === undefined) return { top, isClosed: false, ...found };
    await confirm();
    const setOneAside = (name: string) => {
      // A number above a valid one stays taken until the next write goes over it. Another process
      // that frees it late would otherwise move a newer file.
      const isKept = found !== undefined && !strange.includes(name) && Number(name) < lastNumbers;
      return setAside(place.root, `${place.name}/${name}`, isKept);
    };
    if (found !== undefined || top === undefined) {
      for (const name of damaged) quietly(() => setOneAside(name));
      return { top, isClosed: false, ...found };
    }
    reportOnce(damaged.map(setOneAside));
  }
}

/** The paths are undefined for what other processes set aside, which they have reported. */
function reportOnce(setAsideAs: readonly (string | undefined)[]): void {
  const to = setAsideAs.findLast((path) => path !== undefined);
  if (to === undefined) return;
  const problem = "An entry cannot be read, because it is torn or was changed.";
  throw new StoreError("store_corrupt", `${problem} It was set aside as ${to}; it is missing now.`);
}

function readEntry(path: string): Uint8Array | "damaged" | undefined {
  try {
    return readOpened(path, (stats) => {
      if (!stats.isFile() || !isOwn(stats) || stats.size > largestFile) throw new Damaged();
    });
  } catch (error) {
    if (error instanceof Damaged || unreadable.includes(systemCode(error) ?? "")) return "damaged";
    throw error;
  }
}

async function open(
  bytes: Uint8Array,
  number: number,
  { name, encryption }: Place,
): Promise<Entry | undefined> {
  const file = quietly(() => parseJson(bytes));
  if (!isRecord(file) || file.name !== name) return undefined;
  const { version, expiresAt, value: sealed } = file;
  if (
    typeof version !== "string" ||
    typeof sealed !== "string" ||
    !version.startsWith(`${number}.`)
  )
    return undefined;
  if (expiresAt !== undefined && typeof expiresAt !== "number") return undefined;
  const value = await encryption.open(sealed, { name, version, expiresAt });
  if (value === undefined) return undefined;
  return expiresAt === undefined ? { value, version } : { value, version, expiresAt };
}

/**
 * Moves a damaged file, or an entry that is not a folder, to the folder `corrupt`. A file that
 * `isKept` stays, and the folder gets a link to it. Returns the new path, or undefined if another
 * process did it. @throws StoreError if it is still there
 */
function setAside(root: string, path: string, isKept = false): string | undefined {
  const from = join(root, "entries", path);
  const to = join(root, "corrupt", `${path.replace("/", ".")}${isKept ? "" : `.${randomText()}`}`);
  try {
    makeOneFolder(join(root, "corrupt"));
    if (isKept) linkSync(from, to);
    else renameSync(from, to);
  } catch (error) {
    if (lstatIfThere(from) === undefined) return undefined;
    const problem =
      `${from} cannot be read. It could not be set aside ` + `(${systemCode(error) ?? "unknown"}).`;
    throw new StoreError("store_corrupt", `${problem} Move it away.`, { cause: error });
  }
  quietly(() => chmodSync(to, 0o600));
  return to;
}

/** Writes over the state that was read. Returns undefined if that is not the state any more. */
export async function replace(
  place: Place,
  { top, number: previous }: State,
  value: string,
  expiresAt?: number,
): Promise<StoredValue | undefined> {
  const number = top === undefined ? Math.ceil(Math.random() * highestStart) : top + 1;
  const version = `${number}.${randomText()}`;
  const { name, encryption } = place;
  const sealed = await encryption.seal(value, { name, version, expiresAt });
  // There is no newline at the end, so that a file that is cut anywhere is not JSON.
  const contents = JSON.stringify({ name, version, expiresAt, value: sealed });
  const isWritten =
    top === undefined
      ? await create(place, number, contents)
      : await add(folderOf(place), { top, previous, contents });
  return isWritten ? { value, version } : undefined;
}

async function create(place: Place, number: number, contents: string): Promise<boolean> {
  await clear(place);
  const made = join(place.root, "entries", temporaryName());
  mkdirSync(made, { mode: 0o700 });
  let isMade = false;
  try {
    await writeSafely(join(made, String(number)), contents);
    await syncFolder(made);
    isMade = won(() => renameSync(made, folderOf(place)));
  } catch (error) {
    // The sweep of another process removed it while this one was suspended.
    if (systemCode(error) !== "ENOENT") throw error;
  } finally {
    if (!isMade) rmSync(made, { recursive: true, force: true });
  }
  if (isMade) await syncFolder(join(place.root, "entries"));
  return isMade;
}

async function add(
  folder: string,
  { top, previous, contents }: { top: number; previous: number | undefined; contents: string },
): Promise<boolean> {
  const made = join(folder, temporaryName(top + 1));
  let listed: Listing;
  try {
    await writeSafely(made, contents);
    listed = list(folder);
    if (listed.numbers[0] !== top || !won(() => linkSync(made, join(folder, String(top + 1)))))
      return false;
  } catch (error) {
    // The entry was removed meanwhile.
    if (systemCode(error) === "ENOENT") return false;
    throw error;
  } finally {
    quietly(() => unlinkSync(made));
  }
  await syncFolder(folder);
  const over = listed.temporary.filter((name) => wantedBy(name) <= top || isStale(name));
  const replaced = listed.numbers.filter((number) => number !== previous).map(String);
  // The value is written. What cannot be removed now may stay, and then so do the numbers that
  // follow.
  quietly(() => {
    for (const name of [...over, ...replaced]) remove(join(folder, name));
  });
  return true;
}

function wantedBy(temporary: string): number {
  return Number(/^~(\d+)/.exec(temporary)?.[1] ?? 0);
}

/** Removes the entry if this is still its state. Returns false if it is not. */
export async function close(place: Place, { top, isClosed }: State): Promise<boolean> {
  const spare = join(place.root, spareName);
  if (top !== undefined && !isClosed) {
    const folder = folderOf(place);
    const made = join(folder, temporaryName(top + 1));
    const isDone =
      won(() => makeOrMove(made, spare)) &&
      list(folder).numbers[0] === top &&
      won(() => renameSync(made, join(folder, String(top + 1))));
    quietly(() => rmdirSync(made));
    if (!isDone) return false;
  }
  await clear(place);
  quietly(() => makeOneFolder(spare));
  return true;
}

function makeOrMove(made: string, spare: string): void {
  try {
    mkdirSync(made);
  } catch (error) {
    const isMoved = isFull(error) && quietly(() => renameSync(spare, made) === undefined);
    if (!isMoved) throw error;
  }
}

/** Empties and removes the folder of a closed entry, or one without any version. */
async function clear(place: Place): Promise<void> {
  const folder = folderOf(place);
  for (;;) {
    const { numbers, temporary, strange, folders } = list(folder);
    const [top] = numbers;
    if (top !== undefined && !folders.has(String(top))) return;
    const versions = numbers.slice(1).reverse().map(String);
    for (const name of [...temporary, ...versions]) remove(join(folder, name));
    for (const name of strange) setAside(place.root, `${place.name}/${name}`);
    // The list is made again, because a version may have been linked before its temporary file was
    // removed.
    if (temporary.length + versions.length + strange.length > 0) continue;
    if (top !== undefined) {
      await syncFolder(folder);
      remove(join(folder, String(top)));
    }
    quietly(() => rmdirSync(folder));
    return;
  }
}

/** Throws if it is still there afterwards: callers repeat until nothing is left. */
function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    // For a folder the error differs between systems.
    const stats = lstatIfThere(path);
    if (stats?.isDirectory()) rmSync(path, { recursive: true, force: true });
    else if (stats !== undefined) throw error;
  }
}

/** Removes what is left of an expired entry, or of a process that was killed. */
export async function sweepEntry(
  place: Place,
  isOver: (entry: { expiresAt?: unknown }) => boolean,
): Promise<void> {
  const folder = folderOf(place);
  if (place.name.startsWith("~")) {
    // Its writer, if it still lives, must not rename a folder that is half empty.
    const to = join(place.root, "entries", temporaryName());
    if (isStale(place.name) && won(() => renameSync(folder, to)))
      rmSync(to, { recursive: true, force: true });
    return;
  }
  const { numbers, temporary, folders } = list(folder);
  const [top] = numbers;
  for (const name of temporary) if (isStale(name)) remove(join(folder, name));
  if (top === undefined || folders.has(String(top))) return clear(place);
  const bytes = readEntry(join(folder, String(top)));
  const file = bytes instanceof Uint8Array ? quietly(() => parseJson(bytes)) : undefined;
  if (!isRecord(file) || !isOver(file)) return;
  const state = await look(place);
  if (state.number === state.top && state.entry !== undefined && isOver(state.entry))
    await close(place, state);
}
