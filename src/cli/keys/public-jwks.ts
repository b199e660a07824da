/** The public halves of signing keys, as the customer registers them. */
import { createPrivateKey } from "node:crypto";
import type { JWK } from "jose";
import { importSigningKey } from "../../auth/signing-key.js";

/**
 * The JWKS (RFC 7517 section 5) of keys that will really sign, each under the kid that its assertions carry.
 *
 * @throws ConfigurationError for a key that cannot sign
 */
export async function publicJwks(
  keys: readonly { readonly privateKey: string; readonly keyId: string | undefined }[],
): Promise<{ keys: JWK[] }> {
  return { keys: await Promise.all(keys.map(publicJwk)) };
}

async function publicJwk({
  privateKey,
  keyId,
}: {
  privateKey: string;
  keyId: string | undefined;
}): Promise<JWK> {
  const { keyId: kid } = await importSigningKey(privateKey, keyId);
  const text = privateKey.trim();
  const { n, e } = text.startsWith("{")
    ? (JSON.parse(text) as JWK)
    : (createPrivateKey(text).export({ format: "jwk" }) as JWK);
  return { kty: "RSA", kid, use: "sig", alg: "RS256", n, e } as JWK;
}
