/** What is in the file of a file store: JSON that says whose it is, how it is encrypted and with which key. */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { StoreError } from "../errors.js";
import type { Encryption } from "./encryption.js";
import { systemCode } from "./file-fault.js";
import { isOwn, isPrivate } from "./file-owner.js";

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
