// Finds which of a plugin's registered keys signed an assertion.
import { compactVerify } from "jose";
import type { Refusal } from "../../refusal.js";
import type { RegisteredKey } from "../../registrations/registered-keys.js";
import { shown } from "../../shown.js";

/**
 * "All keys of the registered JWKS are tried, so a wrong kid fails only once the JWKS holds more than one key"
 * (description, section 2.2). The header was checked before: alg is RS256 and kid a string.
 */
export async function checkSigningKey(
  assertion: string,
  kid: unknown,
  keys: readonly RegisteredKey[],
): Promise<Refusal | undefined> {
  // The key that kid names is tried first, so that a right kid costs one verification.
  const named = keys.filter((key) => key.kid === kid);
  const others = keys.filter((key) => key.kid !== kid);
  for (const key of [...named, ...others]) {
    if (!(await verifies(assertion, key))) continue;
    if (key.kid === kid || keys.length === 1) return undefined;
    return {
      rule: "assertion.key-id",
      expected: `kid ${shown(key.kid)}, the id of the key that signed`,
      actual: shown(kid),
    };
  }
  const known = keys.map((key) => shown(key.kid)).join(", ");
  return {
    rule: "assertion.signature",
    expected: `the signature of a registered key (kid ${known})`,
    actual: `no registered key verifies it; its kid is ${shown(kid)}`,
  };
}

async function verifies(assertion: string, { publicKey }: RegisteredKey): Promise<boolean> {
  try {
    await compactVerify(assertion, publicKey, { algorithms: ["RS256"] });
    return true;
  } catch {
    return false;
  }
}
