// Writes the contents of a store of the old form: one file with all entries.
import { type Encryption, plaintext } from "../../src/stores/encryption.js";

export interface OldEntry {
  readonly key: string;
  readonly value: string;
  readonly expiresAt?: number;
}

export async function oldFile(entries: readonly OldEntry[], encryption?: Encryption): Promise<string> {
  const written: Record<string, object> = {};
  for (const { key, value, expiresAt } of entries) {
    const name = (await encryption?.nameOf(key)) ?? key;
    const version = crypto.randomUUID();
    const sealed = (await encryption?.seal(value, { name, version, expiresAt })) ?? value;
    written[name] = { version, expiresAt, value: sealed };
  }
  const { cipher } = encryption ?? plaintext;
  const keyId = await encryption?.keyId();
  return JSON.stringify({ kind: "bivariant token store", format: 1, cipher, keyId, entries: written });
}
