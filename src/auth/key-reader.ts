/** Reads a configured key per assertion, and imports the same key only once. */
import { ConfigurationError } from "../errors.js";
import { importSigningKey, type SigningKey } from "./signing-key.js";

interface ImportedKey {
  readonly source: unknown;
  readonly keyId: string | undefined;
  readonly imported: Promise<SigningKey>;
}

/**
 * Gives a function that reads a key or a function of one. The last key stays imported: while the same key in the
 * same form is given, nothing is parsed again.
 */
export function keyReader(): (privateKey: unknown, keyId: string | undefined) => Promise<SigningKey> {
  let last: ImportedKey | undefined;
  return async (privateKey, keyId) => {
    let source = privateKey;
    let id = keyId;
    if (typeof privateKey === "function") {
      try {
        source = await privateKey();
      } catch (cause) {
        throw new ConfigurationError(
          "key_invalid",
          "The function that gives privateKey failed; see the cause.",
          {
            option: "privateKey",
            variant: "A",
            cause,
          },
        );
      }
      if (typeof source === "object" && source !== null && "privateKey" in source) {
        const withId = source as { privateKey: unknown; keyId?: string };
        source = withId.privateKey;
        id = withId.keyId ?? keyId;
      }
    }
    if (last !== undefined && last.source === source && last.keyId === id) return last.imported;
    const imported = importSigningKey(source, id);
    last = { source, keyId: id, imported };
    imported.catch(() => {
      if (last?.imported === imported) last = undefined;
    });
    return imported;
  };
}
