/** Whether a JWKS holds the public half of the signing key, under the kid that the assertions carry. */
import { calculateJwkThumbprint, type JWK } from "jose";
import type { SigningKey } from "../../auth/keys/signing-key.js";
import { wireText } from "../../errors.js";
import { type Finding, fail, pass, unknown } from "./finding.js";
import type { RegisteredJwks } from "./patient.js";

const remedy =
  "Regenerate the JWKS from the actual signing key (bivariant keys jwks) and register it under Settings, Tenant Settings, External Plugins.";

/** RFC 7518 section 6: what a public key has none of. */
const privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

export async function compareJwks(key: SigningKey, registered: RegisteredJwks | undefined): Promise<Finding> {
  if (registered === undefined)
    return unknown(
      "jwks",
      "What is registered cannot be seen from here.",
      "Ask the customer for the registered JWKS, and give it with --jwks to compare it with the key.",
    );
  if ("isNoJson" in registered) return fail("jwks", "The registered JWKS is no JSON.", remedy);
  const keys = keysOf(registered.value);
  if (keys === undefined)
    return fail(
      "jwks",
      isObject(registered.value) && "kty" in registered.value
        ? 'The file is a single key, and no JWKS: { "keys": [ ... ] } around it is missing (RFC 7517 section 5).'
        : 'The file is no JWKS: it has no array "keys" (RFC 7517 section 5).',
      remedy,
    );
  if (keys.some((one) => isObject(one) && privateMembers.some((member) => member in one)))
    return fail(
      "jwks",
      "The registered JWKS holds a private or a symmetric key, which whoever saw it can sign with.",
      "Make a new key with bivariant keys new, and register its JWKS instead under Settings, Tenant Settings, External Plugins.",
    );
  return compareKeys(key, keys);
}

async function compareKeys(key: SigningKey, keys: readonly unknown[]): Promise<Finding> {
  const prints = await Promise.all(keys.map(thumbprintOf));
  const own = keys.filter((_, index) => prints[index] === key.thumbprint) as JWK[];
  const kid = key.keyId;
  const named = keys.filter((one) => isObject(one) && one.kid === kid);
  if (own.length === 0)
    return fail(
      "jwks",
      `${countOf(keys)} the public half of the signing key${named.length === 0 ? "" : `, though the kid ${kid} is there`}.`,
      remedy,
    );
  const match = own.find((one) => one.kid === kid);
  const found = match ?? own[0];
  if ((found?.use ?? "sig") !== "sig" || (found?.alg ?? "RS256") !== "RS256")
    return fail(
      "jwks",
      "The signing key is registered, but for another use or algorithm than RS256.",
      remedy,
    );
  if (match !== undefined && named.length > 1)
    return fail(
      "jwks",
      `${named.length} registered keys share the kid ${kid}; one is the signing key.`,
      remedy,
    );
  if (match !== undefined) return pass("jwks", `The signing key is registered, under its kid ${kid}.`);
  const other = typeof found?.kid === "string" ? `the kid ${wireText(found.kid)}` : "no kid";
  const evidence = `The signing key is registered, but under ${other}, and assertions name ${kid}.`;
  const naming =
    typeof found?.kid === "string"
      ? " Or give the registered kid with --a-key-id or BIVARIANT_A_KEY_ID."
      : "";
  return keys.length === 1
    ? unknown(
        "jwks",
        `${evidence} That works as long as it is the only key, and fails once a second is registered.`,
        remedy + naming,
      )
    : fail("jwks", `${evidence} Among ${keys.length} keys that fails.`, remedy + naming);
}

function countOf({ length }: readonly unknown[]): string {
  if (length === 0) return "The registered JWKS is empty: no key is";
  return length === 1 ? "The only registered key is not" : `None of the ${length} registered keys is`;
}

function keysOf(jwks: unknown): readonly unknown[] | undefined {
  return isObject(jwks) && Array.isArray(jwks.keys) ? jwks.keys : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

async function thumbprintOf(jwk: unknown): Promise<string | undefined> {
  try {
    const { kty, n, e } = jwk as JWK;
    return kty === "RSA" ? await calculateJwkThumbprint({ kty, n, e } as JWK) : undefined;
  } catch {
    return undefined;
  }
}
