/** Whether a JWKS holds the public half of the signing key, under the kid that the assertions carry. */
import { calculateJwkThumbprint, type JWK } from "jose";
import type { SigningKey } from "../../auth/signing-key.js";
import { type Finding, fail, pass, unknown } from "./finding.js";

const remedy =
  "Regenerate the JWKS from the actual signing key (bivariant keys jwks) and register it under Settings, Tenant Settings, External Plugins.";

export async function compareJwks(key: SigningKey, jwks: unknown): Promise<Finding> {
  if (jwks === undefined)
    return unknown(
      "jwks",
      "What is registered cannot be seen from here.",
      "Give the registered JWKS with --jwks FILE to compare it with the key.",
    );
  const keys = (jwks as { keys?: unknown } | null)?.keys;
  if (!Array.isArray(keys))
    return fail("jwks", 'The file is no JWKS: it has no array "keys" (RFC 7517 section 5).', remedy);
  const known = await Promise.all(keys.map(thumbprintOf));
  if (keys.some((one) => typeof one === "object" && one !== null && "d" in one))
    return fail(
      "jwks",
      "The JWKS holds a private key.",
      `Make a new key, since this one was shown. ${remedy}`,
    );
  const at = known.indexOf(key.thumbprint);
  if (at < 0)
    return fail(
      "jwks",
      `No key of the JWKS (it has ${keys.length}) is the public half of the signing key ${key.keyId}.`,
      remedy,
    );
  const { kid } = keys[at] as JWK;
  if (kid === key.keyId) return pass("jwks", `The JWKS holds the signing key, under the kid ${kid}.`);
  return keys.length === 1
    ? unknown(
        "jwks",
        `The JWKS holds the signing key, but under the kid ${kid ?? "(none)"}, not ${key.keyId}. It works until a second key is registered.`,
        remedy,
      )
    : fail(
        "jwks",
        `The JWKS holds the signing key, but under the kid ${kid ?? "(none)"}, not ${key.keyId}.`,
        remedy,
      );
}

async function thumbprintOf(jwk: unknown): Promise<string | undefined> {
  try {
    const { kty, n, e } = jwk as JWK;
    return await calculateJwkThumbprint({ kty, n, e } as JWK);
  } catch {
    return undefined;
  }
}
