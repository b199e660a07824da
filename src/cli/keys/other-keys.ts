/** Keys that stay registered while keys are exchanged: a private key, or the JWKS that is registered now. */
import type { JWK } from "jose";
import { ConfigurationError, isConfigurationError } from "../../errors.js";
import { readPrivateKey } from "../settings/read-plugin.js";
import { publicJwk, registrable } from "./public-jwks.js";

/** @throws ConfigurationError for a file that holds neither; it names the file, never its content */
export async function otherKeys(file: string): Promise<JWK[]> {
  const text = await readPrivateKey({ aPrivateKeyFile: file });
  const registered = registeredKeys(text);
  try {
    return registered === undefined ? [await publicJwk(text)] : registered.map(checked);
  } catch (error) {
    if (!isConfigurationError(error)) throw error;
    throw new ConfigurationError(error.code, `--also ${file}: ${error.message}`, { option: "also" });
  }
}

function registeredKeys(text: string): unknown[] | undefined {
  try {
    const { keys } = JSON.parse(text) as { keys?: unknown };
    return Array.isArray(keys) ? keys : undefined;
  } catch {
    return undefined;
  }
}

/** Under the kid that it has: programs that sign with it name that. */
function checked(key: unknown): JWK {
  const { kty, kid, n, e, d } = (typeof key === "object" && key !== null ? key : {}) as JWK;
  if (d !== undefined)
    throw new ConfigurationError(
      "key_invalid",
      "the JWKS holds a private key, which whoever saw it can sign with. Make another.",
    );
  if (kty !== "RSA" || typeof n !== "string" || typeof e !== "string")
    throw new ConfigurationError("key_unsupported", "the JWKS holds a key that is no RSA key.");
  if (typeof kid !== "string" || kid === "")
    throw new ConfigurationError(
      "key_id_required",
      "the JWKS holds a key without kid: among several it needs one.",
    );
  return registrable({ kid, n, e });
}
