/** The checks of Variant A's credential: the key, the registered JWKS, `aud`, and an assertion that is not sent. */
import { createPrivateKey, type JsonWebKey } from "node:crypto";
import { calculateJwkThumbprint, decodeJwt, decodeProtectedHeader, type JWK } from "jose";
import { signClientAssertion } from "../../auth/keys/client-assertion.js";
import { importSigningKey, type SigningKey } from "../../auth/keys/signing-key.js";
import { isConfigurationError, wireText } from "../../errors.js";
import { parseBaseUrl, parseTenantId, tokenEndpointOfA } from "../../variants/target.js";
import { namesOf, whereToSet } from "../settings.js";
import type { Reach } from "./deployment.js";
import { type DoctorInput, type Finding, fail, pass, type RegisteredJwks, unknown } from "./finding.js";

const registrationPage = "Settings, Tenant Settings, External Plugins";

export async function examineAssertion(
  input: DoctorInput,
  { correctionMs }: Reach,
): Promise<{ canSign: boolean; findings: Finding[] }> {
  const { plugin, variant, registeredJwks } = input;
  if (plugin === undefined) {
    const why = `Only for Variant A, and ${variant === "B" ? "Variant B is named" : "no plugin is configured"}.`;
    const findings = (["key", "jwks", "audience", "assertion"] as const).map((check) => unknown(check, why));
    return { canSign: false, findings };
  }
  const { key, finding } = await examineKey(plugin);
  const { audience, finding: audienceFinding } = examineAudience(input);
  const noKey = "because there is no key that can sign";
  const jwks =
    key === undefined
      ? unknown("jwks", `Not compared, ${noKey}.`)
      : await compareJwks(key.signingKey, registeredJwks);
  const assertion =
    key === undefined || audience === undefined
      ? unknown("assertion", `Not made, ${key === undefined ? noKey : "because there is no aud"}.`)
      : await showAssertion(key, audience, correctionMs);
  return { canSign: key !== undefined, findings: [finding, jwks, audienceFinding, assertion] };
}

interface ExaminedKey {
  readonly clientId: string;
  readonly signingKey: SigningKey;
}

async function examineKey(
  plugin: NonNullable<DoctorInput["plugin"]>,
): Promise<{ key?: ExaminedKey; finding: Finding }> {
  const remedy = `Use a private RSA key, or make one with bivariant keys new and register its JWKS under ${registrationPage}.`;
  if (isConfigurationError(plugin)) return { finding: fail("key", plugin.message, remedy) };
  const { clientId, privateKey, keyId } = plugin;
  try {
    const signingKey = await importSigningKey(privateKey, keyId);
    const { keyId: kid, thumbprint } = signingKey;
    const origin = kid === thumbprint ? ", its RFC 7638 thumbprint" : "";
    const evidence = `A private RSA key of ${bitsOf(privateKey)} bits, which can sign RS256. Its kid is ${kid}${origin}.`;
    return { key: { clientId, signingKey }, finding: pass("key", evidence) };
  } catch (error) {
    if (!isConfigurationError(error)) throw error;
    return { finding: fail("key", `${error.code}: ${error.message}`, remedy) };
  }
}

function bitsOf(privateKey: string): number | undefined {
  const text = privateKey.trim();
  const key = text.startsWith("{")
    ? createPrivateKey({ key: JSON.parse(text) as JsonWebKey, format: "jwk" })
    : createPrivateKey(text);
  return key.asymmetricKeyDetails?.modulusLength;
}

function examineAudience(input: DoctorInput): { audience?: string; finding: Finding } {
  try {
    const baseUrl = parseBaseUrl(input.baseUrl, input.allowInsecureHttp);
    const audience = new URL(tokenEndpointOfA({ baseUrl, tenantId: parseTenantId(input.tenantId) })).href;
    const evidence = `aud is the exact token URL, with the tenant substituted: ${audience}`;
    return { audience, finding: pass("audience", evidence) };
  } catch (error) {
    if (!isConfigurationError(error)) throw error;
    const remedy = whereToSet(error) ?? "Correct the base URL or the tenant id: aud is the exact token URL.";
    return { finding: fail("audience", error.message, remedy) };
  }
}

/** Shows header and claims, which are not secret. The assertion itself is not shown and not sent. */
async function showAssertion(
  { clientId, signingKey }: ExaminedKey,
  audience: string,
  correctionMs: number,
): Promise<Finding> {
  const issuedAt = Math.floor((Date.now() + correctionMs) / 1000);
  const assertion = await signClientAssertion({ clientId, audience, issuedAt }, signingKey);
  const { iss, sub, iat = 0, exp = 0 } = decodeJwt(assertion);
  const { alg, kid } = decodeProtectedHeader(assertion);
  const instant = new Date(iat * 1000).toISOString().replace(".000Z", "Z");
  const clock = correctionMs === 0 ? "by this machine's clock" : "by the server's Date";
  return pass(
    "assertion",
    `Decoded, not sent: alg ${alg}, kid ${kid}, iss ${iss}, sub ${sub}, aud as above, iat ${instant} (${clock}), exp ${exp - iat} s later, a fresh jti.`,
  );
}

/** RFC 7518 section 6: members of private and symmetric keys. */
const privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/** Whether the registered JWKS holds the public half of the signing key, with the kid of its assertions. */
async function compareJwks(key: SigningKey, registered: RegisteredJwks | undefined): Promise<Finding> {
  const remedy = `Make the JWKS from the actual signing key (bivariant keys jwks) and register it under ${registrationPage}.`;
  const failed = (evidence: string, more = "") => fail("jwks", evidence, remedy + more);
  if (registered === undefined)
    return unknown(
      "jwks",
      "The registered JWKS cannot be read from here.",
      "Ask the customer for it, and pass it with --jwks to compare it with the key.",
    );
  if (registered === "not JSON") return failed("The registered JWKS is not JSON.");
  const { value } = registered;
  if (!isObject(value) || !Array.isArray(value.keys)) {
    const evidence =
      isObject(value) && "kty" in value
        ? 'The file holds a single key, not a JWKS: { "keys": [ ... ] } around it is missing (RFC 7517 section 5).'
        : 'The file is not a JWKS: it has no array "keys" (RFC 7517 section 5).';
    return failed(evidence);
  }
  const keys: readonly unknown[] = value.keys;
  if (keys.some((one) => isObject(one) && privateMembers.some((member) => member in one)))
    return fail(
      "jwks",
      "The registered JWKS holds a private or a symmetric key, which must be kept secret.",
      `Make a new key with bivariant keys new, and register its JWKS instead under ${registrationPage}.`,
    );
  const thumbprints = await Promise.all(keys.map(thumbprintOf));
  const own = keys.filter((_, index) => thumbprints[index] === key.thumbprint) as JWK[];
  const kid = key.keyId;
  const withKid = keys.filter((one) => isObject(one) && one.kid === kid);
  if (own.length === 0)
    return failed(
      `${countOf(keys)} the public half of the signing key${withKid.length === 0 ? "" : `, although there is a key with its kid ${kid}`}.`,
    );
  const match = own.find((one) => one.kid === kid);
  const found = match ?? own[0];
  if ((found?.use ?? "sig") !== "sig" || (found?.alg ?? "RS256") !== "RS256")
    return failed("The signing key is registered for another use or algorithm than RS256.");
  if (match !== undefined)
    return withKid.length > 1
      ? failed(`${withKid.length} registered keys share the kid ${kid}; one is the signing key.`)
      : pass("jwks", `The signing key is registered, with its kid ${kid}.`);
  const hasKid = typeof found?.kid === "string";
  const otherKid = hasKid ? `with the kid ${wireText(found?.kid)}` : "without a kid";
  const evidence = `The signing key is registered ${otherKid}, but its assertions name ${kid}.`;
  const more = hasKid ? ` Or set the registered kid with ${namesOf("aKeyId")}.` : "";
  return keys.length === 1
    ? unknown("jwks", `${evidence} That works only until a second key is registered.`, remedy + more)
    : failed(`${evidence} That fails among ${keys.length} keys.`, more);
}

function countOf({ length }: readonly unknown[]): string {
  if (length === 0) return "The registered JWKS is empty. No key is";
  return length === 1 ? "The only registered key is not" : `None of the ${length} registered keys is`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

async function thumbprintOf(jwk: unknown): Promise<string | undefined> {
  try {
    return isObject(jwk) && jwk.kty === "RSA" ? await calculateJwkThumbprint(jwk as JWK) : undefined;
  } catch {
    return undefined;
  }
}
