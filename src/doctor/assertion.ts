/**
 * Checks the credential of Variant A: key, registered JWKS, `aud`, and an assertion that is not
 * sent.
 */
import { calculateJwkThumbprint, decodeJwt, decodeProtectedHeader, type JWK } from "jose";
import { signClientAssertion } from "../auth/credentials/client-assertion.js";
import { importSigningKey, type SigningKey } from "../auth/credentials/signing-key.js";
import { isConfigurationError, wireText } from "../errors.js";
import { parseBaseUrl, parseTenantId, tokenEndpointOfA } from "../variants/target.js";
import { type DoctorInput, type Finding, fail, pass, unknown } from "./finding.js";

const registrationPage = "Settings, Tenant Settings, External Plugins";

export async function examineAssertion(
  input: DoctorInput,
  correctionMs: number,
): Promise<{ canSign: boolean; jwks?: Finding; findings: Finding[] }> {
  const { plugin, variant } = input;
  if (plugin === undefined) {
    const why =
      "Only for Variant A, and " +
      `${variant === "B" ? "Variant B is named" : "no plugin is configured"}.`;
    const checks = ["key", "jwks", "audience", "assertion"] as const;
    return { canSign: false, findings: checks.map((check) => unknown(check, why)) };
  }
  const { audience, finding: audienceFinding } = examineAudience(input);
  let key: SigningKey;
  let keyFinding: Finding;
  try {
    if (isConfigurationError(plugin)) throw plugin;
    key = await importSigningKey(plugin.privateKey, plugin.keyId);
    const bits = 8 * (await key.sign(new Uint8Array(1))).length;
    const kid = key.keyId === key.thumbprint ? `${key.keyId}, its RFC 7638 thumbprint` : key.keyId;
    keyFinding = pass(
      "key",
      `A private RSA key of ${bits} bits, which can sign RS256. Its kid is ${kid}.`,
    );
  } catch (error) {
    if (!isConfigurationError(error)) throw error;
    const remedy =
      "Use a private RSA key, or make one with bivariant keys new and register its " +
      `JWKS under ${registrationPage}.`;
    const noKey = "because there is no key that can sign.";
    const assertion = unknown("assertion", `Not made, ${noKey}`);
    const jwks = unknown("jwks", `Not compared, ${noKey}`);
    const findings = [
      fail("key", error.message, remedy, error.code),
      jwks,
      audienceFinding,
      assertion,
    ];
    return { canSign: false, findings };
  }
  const assertion =
    audience === undefined
      ? unknown("assertion", "Not made, because there is no aud.")
      : await showAssertion(plugin.clientId, key, audience, correctionMs);
  const jwks = await compareJwks(key, input);
  return { canSign: true, jwks, findings: [keyFinding, jwks, audienceFinding, assertion] };
}

function examineAudience(input: DoctorInput) {
  try {
    const baseUrl = parseBaseUrl(input.baseUrl, input.allowInsecureHttp);
    const url = new URL(tokenEndpointOfA({ baseUrl, tenantId: parseTenantId(input.tenantId) }))
      .href;
    const audience = isConfigurationError(input.plugin) ? url : (input.plugin?.audience ?? url);
    const { wording } = input;
    const exact = `aud is the exact token URL, with the tenant substituted: ${url}`;
    if (audience === url) return { audience, finding: pass("audience", exact) };
    const finding = unknown(
      "audience",
      `aud is ${audience}, by ${wording.namesOf("audience")}, but the token URL is ${url}`,
      `Remove ${wording.namesOf("audience")}, unless a proxy rewrites the URL and the service ` +
        "itself sees that aud.",
    );
    return { audience, finding };
  } catch (error) {
    if (!isConfigurationError(error)) throw error;
    const remedy =
      input.wording.whereToSet(error) ??
      "Correct the base URL or the tenant id: aud is the exact token URL.";
    return { finding: fail("audience", error.message, remedy, error.code) };
  }
}

/**
 * Shows header and claims, which are not secret. The assertion itself is not shown and not sent.
 */
async function showAssertion(
  clientId: string,
  key: SigningKey,
  audience: string,
  correctionMs: number,
) {
  const issuedAt = Math.floor((Date.now() + correctionMs) / 1000);
  const assertion = await signClientAssertion({ clientId, audience, issuedAt }, key);
  const { iss, sub, iat = 0, exp = 0 } = decodeJwt(assertion);
  const { alg, kid } = decodeProtectedHeader(assertion);
  const instant = new Date(iat * 1000).toISOString().replace(".000Z", "Z");
  const clock = correctionMs === 0 ? "by this machine's clock" : "by the server's Date";
  return pass(
    "assertion",
    `Decoded, not sent: alg ${alg}, kid ${kid}, iss ${iss}, sub ${sub}, aud as above, iat ` +
      `${instant} (${clock}), exp ${exp - iat} s later, a fresh jti.`,
  );
}

/** The members that RFC 7518 section 6 defines for private and symmetric keys. */
const privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/**
 * Checks that the JWKS holds the public half of the signing key, under the kid of its assertions.
 */
async function compareJwks(
  { keyId: kid, thumbprint }: SigningKey,
  { registeredJwks: registered, wording }: DoctorInput,
) {
  const remedy =
    "Make the JWKS from the actual signing key (bivariant keys jwks) and register " +
    `it under ${registrationPage}.`;
  const failed = (evidence: string, more = "") => fail("jwks", evidence, remedy + more);
  if (registered === undefined)
    return unknown(
      "jwks",
      "The registered JWKS cannot be read from here.",
      "Ask the customer for it, and compare it with the key: bivariant doctor --jwks.",
    );
  const set: { readonly keys?: unknown } = Object(registered.value);
  // A file that is no JWKS says nothing about the registration.
  if (!Array.isArray(set.keys))
    return unknown(
      "jwks",
      `The file of --jwks is not a JWKS: it ${"kty" in set ? "holds a single key and" : "has"} ` +
        `no array "keys" (RFC 7517 section 5).`,
      `Pass the JWKS that the customer registered under ${registrationPage}.`,
    );
  const keys: readonly JWK[] = set.keys.map(Object);
  if (keys.some((key) => privateMembers.some((member) => member in key)))
    return fail(
      "jwks",
      "The registered JWKS holds a private or a symmetric key, which must be kept secret.",
      "Make a new key with bivariant keys new, and register its JWKS instead under " +
        `${registrationPage}.`,
    );
  const thumbprints = await Promise.all(
    keys.map((key) =>
      key.kty === "RSA" ? calculateJwkThumbprint(key).catch(() => undefined) : undefined,
    ),
  );
  const own = keys.filter((_, index) => thumbprints[index] === thumbprint);
  const withKid = keys.filter((key) => key.kid === kid);
  const found = own.find((key) => key.kid === kid) ?? own[0];
  if (keys.length === 0) return failed("The registered JWKS is empty.");
  if (found === undefined) {
    const although = withKid.length === 0 ? "" : `, although there is a key with its kid ${kid}`;
    return failed(`None of the registered keys (${keys.length}) is the signing key${although}.`);
  }
  if ((found.use ?? "sig") !== "sig" || (found.alg ?? "RS256") !== "RS256")
    return failed("The signing key is registered for another use or algorithm than RS256.");
  if (found.kid === kid)
    return withKid.length > 1
      ? failed(`${withKid.length} registered keys share the kid ${kid}; one is the signing key.`)
      : pass("jwks", `The signing key is registered, with its kid ${kid}.`);
  const otherKid = wireText(found.kid);
  const evidence =
    "The signing key is registered " +
    `${otherKid === undefined ? "without a kid" : `with the kid ${otherKid}`}, but its ` +
    `assertions name ${kid}.`;
  const more =
    otherKid === undefined ? "" : ` Or set the registered kid with ${wording.namesOf("aKeyId")}.`;
  return keys.length === 1
    ? unknown(
        "jwks",
        `${evidence} That works only until a second key is registered.`,
        remedy + more,
      )
    : failed(
        `${evidence} With ${keys.length} registered keys the service cannot find the right one.`,
        more,
      );
}
