/** The folder of a file store: who may use it, and what its marker says. */
import { lstatSync, mkdirSync, readdirSync, readlinkSync, renameSync, type Stats } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { StoreError } from "../errors.js";
import type { Encryption } from "./encryption.js";
import { makeSpare, underLock, withFile } from "./file-lock.js";
import {
  makeFolders,
  parseObject,
  quietly,
  readOpened,
  syncFolder,
  systemCode,
  unavailable,
  undefinedIfMissing,
  writeSafely,
} from "./file-system.js";

const kind = "bivariant token store";
/** Earlier commits wrote the formats 1 and 2. */
const format = 3;
const markerName = "store.json";

function makeInner(folder: string): void {
  makeFolders(join(folder, "entries"));
  makeSpare(join(folder, "locks"));
}

/** Makes the folder with its marker, unless another process does. */
export async function makeFolder(folder: string, encryption: Encryption): Promise<void> {
  for (const missing of [dirname(folder), folder])
    try {
      mkdirSync(missing, { mode: 0o700 });
    } catch (error) {
      if (systemCode(error) !== "EEXIST") throw error;
    }
  makeInner(folder);
  const { cipher } = encryption;
  const keyId = await encryption.keyId();
  const write = withFile((path) => writeSafely(path, { kind, format, cipher, keyId }));
  await underLock(join(folder, "locks", markerName), write, (held) => {
    const marker = join(folder, markerName);
    if (lstatIfThere(marker) === undefined) renameSync(held, marker);
  });
  for (const changed of [folder, dirname(folder)]) await syncFolder(changed);
}

/**
 * Returns false for an empty folder. @throws StoreError if this is not the folder of a store with
 * this key
 */
export async function checkFolder(folder: string, encryption: Encryption): Promise<boolean> {
  const marker = join(folder, markerName);
  // A file that only this user may use.
  const bytes = readOpened(marker, (stats) => {
    if (!stats.isFile()) throw unavailable(`${marker} is not a file. Remove it.`);
    requirePrivate(marker, stats, "600");
    return true;
  });
  if (bytes) {
    const problem = await problemOf(parseObject(bytes), folder, encryption);
    if (problem !== undefined)
      throw new StoreError(
        "store_corrupt",
        `${folder} cannot be read as a store: ${problem} (${markerName}). ` +
          "It was left as it is. Move the folder away.",
      );
    // Programs that copy or tidy up folders leave out empty ones.
    quietly(() => makeInner(folder));
    return true;
  }
  // A process that makes the folder may just have begun, or may have been killed.
  if (!readdirSync(folder).every((name) => ["entries", "locks", markerName].includes(name)))
    throw unavailable(`${folder} is a folder with other files. Use the path of a new folder.`);
  const entries = undefinedIfMissing(() => readdirSync(join(folder, "entries"))) ?? [];
  // Another process may have made the marker and entries since. The marker is made first.
  if (entries.length === 0 || lstatIfThere(marker) !== undefined) return false;
  const problem = `${folder} has entries, but its file ${markerName} is missing.`;
  throw new StoreError("store_corrupt", `${problem} Restore that file, or move the folder away.`);
}

/**
 * Returns what is damaged in a marker. @throws StoreError if it is intact and does not fit, after
 * which the store must stay
 */
async function problemOf(
  marker: Readonly<Record<string, unknown>> | undefined,
  path: string,
  encryption: Encryption,
): Promise<string | undefined> {
  if (marker?.kind !== kind || typeof marker.format !== "number")
    return "it is not the file of a store";
  if (marker.format > format)
    throw unavailable(
      `${path} was written by a newer version of this package. Update the package.`,
    );
  if (marker.format !== format) return "its format is unknown";
  if (marker.cipher !== encryption.cipher) {
    if (marker.cipher === "none")
      throw unavailable(
        `${path} is not encrypted. Open it with plaintext: true, or remove it to start anew.`,
      );
    if (marker.cipher !== "dir+A256GCM") return "its cipher is unknown";
    throw unavailable(`${path} is encrypted. Open it with the key that it was written with.`);
  }
  if (marker.keyId !== (await encryption.keyId()))
    throw unavailable(`${path} was written with another key. Use that key, or another path.`);
  return undefined;
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

function lstatIfThere(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

export function requireOwnFolder(path: string, stats: Stats): void {
  if (!stats.isDirectory())
    throw unavailable(`${path} is not a folder. Use a path for a folder of the store.`);
  requirePrivate(path, stats, "700");
}

function requirePrivate(path: string, stats: Stats, right: string): void {
  if (!isOwn(stats))
    throw unavailable(`${path} belongs to another user. Use another path, or change the owner.`);
  if (process.platform === "win32" || (stats.mode & 0o077) === 0) return;
  const mode = (stats.mode & 0o777).toString(8).padStart(4, "0");
  throw unavailable(
    `Other users may use ${path} (mode ${mode}). Run: ` +
      `chmod ${right} '${path.replace(/'/g, "'\\''")}'`,
  );
}

/**
 * Root can use the files of all users, but a store belongs to its user. Windows has no owners of
 * this kind.
 */
export function isOwn({ uid }: Stats): boolean {
  return process.geteuid === undefined || uid === process.geteuid();
}
