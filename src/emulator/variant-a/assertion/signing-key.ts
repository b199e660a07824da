// Finds which of a plugin's registered keys signed an assertion.
import { verify } from "node:crypto";
import type { VerifyOptions } from "jose";
// Not the whole package, which takes three times as long to load.
import { compactVerify } from "jose/jws/compact/verify";
import type { Refusal, RuleSwitches } from "../../checks.js";
import type { RegisteredKey } from "../../registrations/keys.js";
import { shownKeyId } from "../../shown.js";

type Header = Readonly<Record<string, unknown>>;

/** "RS256, the only accepted algorithm" (description, section 2.2). */
const ACCEPTED_ALGORITHMS = ["RS256"];
/** Every algorithm that an RSA key verifies (RFC 7518 sections 3.3 and 3.5), for when that rule is off. */
const RSA_ALGORITHMS = [...ACCEPTED_ALGORITHMS, "RS384", "RS512", "PS256", "PS384", "PS512"];

/**
 * "All keys of the registered JWKS are tried, so a wrong kid fails only once the JWKS holds more than one key"
 * (description, section 2.2). The header was checked before.
 */
export async function checkSigningKey(
  assertion: string,
  header: Header,
  keys: readonly RegisteredKey[],
  switches: RuleSwitches,
): Promise<Refusal | undefined> {
  const { kid } = header;
  const options = verifyOptions(header, switches);
  // The key that kid names is tried first, so that a right kid costs one verification.
  const named = keys.filter((key) => key.kid === kid);
  const others = keys.filter((key) => key.kid !== kid);
  const refuseKeyId = (expected: string) =>
    switches.refusal("assertion.key-id", { expected, actual: shownKeyId(kid) });
  for (const key of [...named, ...others]) {
    const isSigner = isPlain(header) ? verifiesRs256(assertion, key) : verifies(assertion, key, options);
    if (!(await isSigner)) continue;
    if (key.kid === kid || keys.length === 1) return undefined;
    return refuseKeyId(`kid ${shownKeyId(key.kid)}, the id of the key that signed`);
  }
  const known = keys.map((key) => `kid ${shownKeyId(key.kid)}`).join(", ") || "none is registered";
  const refusal = switches.refusal("assertion.signature", {
    expected: `the signature of a registered key (${known})`,
    actual: `no registered key verifies it; its kid is ${shownKeyId(kid)}`,
  });
  if (refusal !== undefined || keys.length <= 1 || named.length > 0) return refusal;
  return refuseKeyId(`the kid of a registered key (${known})`);
}

function verifyOptions({ crit }: Header, switches: RuleSwitches): VerifyOptions {
  const algorithms = switches.isEnforced("assertion.algorithm") ? ACCEPTED_ALGORITHMS : RSA_ALGORITHMS;
  if (!Array.isArray(crit)) return { algorithms };
  // Reached only while the rule about crit is off: jose is told that everything it names is understood.
  const names = crit.filter((name) => typeof name === "string");
  return { algorithms, crit: Object.fromEntries(names.map((name) => [name, true])) };
}

/** Nothing but the one accepted algorithm: no rule is off that would let more through to here. */
function isPlain({ alg, crit, b64 }: Header): boolean {
  return alg === "RS256" && crit === undefined && b64 === undefined;
}

/** RFC 7518 section 3.3, at once: WebCrypto, which jose uses, hands each signature to another thread and back. */
function verifiesRs256(assertion: string, { publicKey }: RegisteredKey): boolean {
  const end = assertion.lastIndexOf(".");
  const signature = Buffer.from(assertion.slice(end + 1), "base64url");
  return verify("sha256", Buffer.from(assertion.slice(0, end)), publicKey, signature);
}

async function verifies(
  assertion: string,
  { publicKey }: RegisteredKey,
  options: VerifyOptions,
): Promise<boolean> {
  try {
    await compactVerify(assertion, publicKey, options);
    return true;
  } catch {
    return false;
  }
}
