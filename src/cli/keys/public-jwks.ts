/** The public halves of signing keys, as the customer registers them. */
import { createPrivateKey } from "node:crypto";
import { calculateJwkThumbprint, type JWK } from "jose";
import { importSigningKey } from "../../auth/keys/signing-key.js";
import { ConfigurationError, wireText } from "../../errors.js";

/** RFC 7517 section 5. */
export interface PublicJwks {
  readonly keys: readonly JWK[];
}

/**
 * A JWKS of several keys: of one, and while keys are exchanged of both.
 *
 * @throws ConfigurationError `option_invalid` when two go by one kid: a service that looks a key up by its kid would
 * take the wrong one
 */
export async function jwksOf(keys: readonly JWK[]): Promise<PublicJwks> {
  const byKid = new Map<unknown, JWK>();
  for (const key of keys) {
    const known = byKid.get(key.kid);
    if (known !== undefined)
      throw new ConfigurationError(
        "option_invalid",
        (await thumbprintOf(known)) === (await thumbprintOf(key))
          ? `The key ${wireText(key.kid)} is given twice. Leave one out.`
          : `Two different keys go by the kid ${wireText(key.kid)}. Leave out --a-key-id and BIVARIANT_A_KEY_ID for the new one: then its kid is its thumbprint.`,
        { option: "keyId" },
      );
    byKid.set(key.kid, key);
  }
  return { keys };
}

/**
 * The public half of a key that will really sign, under the kid that its assertions carry.
 *
 * @throws ConfigurationError for a key that cannot sign
 */
export async function publicJwk(privateKey: string, keyId?: string): Promise<JWK> {
  const { keyId: kid } = await importSigningKey(privateKey, keyId);
  const text = privateKey.trim();
  const { n, e } = text.startsWith("{")
    ? (JSON.parse(text) as JWK)
    : (createPrivateKey(text).export({ format: "jwk" }) as JWK);
  return registrable({ kid, n, e });
}

/** The fields that a service needs, and no others. */
export function registrable({ kid, n, e }: { kid?: unknown; n?: unknown; e?: unknown }): JWK {
  return { kty: "RSA", kid, use: "sig", alg: "RS256", n, e } as JWK;
}

function thumbprintOf({ n, e }: JWK): Promise<string> {
  return calculateJwkThumbprint({ kty: "RSA", n, e } as JWK);
}
