/** Reads a configured key per assertion, and imports the same key only once. */
import { ConfigurationError } from "../errors.js";
import { RecentlyUsed } from "./recently-used.js";
import { importSigningKey, type SigningKey } from "./signing-key.js";

/** Keys given as text that stay imported: one is enough but where each tenant has a key of its own. */
const mostTexts = 1_000;

/** Gives a key by what was configured. `shareInFlight` false: another caller's import is not awaited. */
export type KeyReader = (
  privateKey: unknown,
  keyId: string | undefined,
  shareInFlight?: boolean,
) => Promise<SigningKey>;

/**
 * Gives a function that reads a key or a function of one. While the same key is given, as the same object or an equal
 * text, nothing is parsed again.
 */
export function keyReader(): KeyReader {
  const texts = new RecentlyUsed<ImportedKeys>(mostTexts);
  const objects = new WeakMap<object, ImportedKeys>();
  const importedOf = (source: unknown): ImportedKeys => {
    if (typeof source === "string") return texts.get(source, () => new Map());
    if (typeof source !== "object" || source === null) return new Map();
    const found = objects.get(source) ?? new Map();
    objects.set(source, found);
    return found;
  };
  return async (privateKey, keyId, shareInFlight = true) => {
    const given =
      typeof privateKey === "function"
        ? await askForKey(privateKey as () => unknown, keyId)
        : { privateKey, keyId };
    const imported = importedOf(given.privateKey);
    const found = imported.get(given.keyId);
    if (found?.key !== undefined) return found.key;
    if (found !== undefined && shareInFlight) return found.importing;
    const importing = importSigningKey(given.privateKey, given.keyId);
    const entry: ImportedKey = { importing };
    if (found === undefined) imported.set(given.keyId, entry);
    const forget = () => {
      if (imported.get(given.keyId) === entry) imported.delete(given.keyId);
    };
    importing.then((key) => imported.set(given.keyId, { importing, key }), forget);
    return importing;
  };
}

/** By the `keyId` that was given with the key. */
type ImportedKeys = Map<string | undefined, ImportedKey>;

interface ImportedKey {
  readonly importing: Promise<SigningKey>;
  readonly key?: SigningKey;
}

/** What a function gives, alone or with its `kid`. @throws ConfigurationError `key_invalid` when it fails */
async function askForKey(
  ask: () => unknown,
  keyId: string | undefined,
): Promise<{ privateKey: unknown; keyId: string | undefined }> {
  let given: unknown;
  try {
    given = await ask();
  } catch (cause) {
    throw new ConfigurationError("key_invalid", "The function that gives privateKey failed; see the cause.", {
      option: "privateKey",
      variant: "A",
      cause,
    });
  }
  if (typeof given !== "object" || given === null || !("privateKey" in given))
    return { privateKey: given, keyId };
  const withId = given as { privateKey: unknown; keyId?: string };
  return { privateKey: withId.privateKey, keyId: withId.keyId ?? keyId };
}
