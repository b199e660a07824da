/** The signing key, whether the registered JWKS holds it, and the assertion it makes: shown, not sent. */
import { decodeJwt, decodeProtectedHeader } from "jose";
import { signClientAssertion } from "../../auth/keys/client-assertion.js";
import { type ConfigurationError, isConfigurationError } from "../../errors.js";
import { parseBaseUrl, parseTenantId, tokenEndpointOfA } from "../../variants/target.js";
import { whereToSet } from "../settings/setting-table.js";
import { compareJwks } from "./compare-jwks.js";
import { type ExaminedKey, examineKey } from "./examine-key.js";
import type { Reach } from "./examine-reach.js";
import { type Finding, fail, pass, unknown } from "./finding.js";
import type { Patient } from "./patient.js";

export async function examineAssertion(
  patient: Patient,
  { correctionMs }: Reach,
): Promise<{ canSign: boolean; findings: Finding[] }> {
  const { plugin, variant, registeredJwks } = patient;
  if (plugin === undefined) {
    const why =
      variant === "B"
        ? "Variant A only, and Variant B is named."
        : "Variant A only, and no plugin is configured.";
    const findings = (["key", "jwks", "audience", "assertion"] as const).map((check) => unknown(check, why));
    return { canSign: false, findings };
  }
  const { key, finding } = await examineKey(plugin);
  const audience = audienceOf(patient);
  const isUrl = typeof audience === "string";
  const findings = [
    finding,
    key === undefined
      ? unknown("jwks", "Not compared, for want of a key that can sign.")
      : await compareJwks(key.signingKey, registeredJwks),
    isUrl
      ? pass("audience", `aud is the exact token URL, the tenant substituted: ${audience}`)
      : fail(
          "audience",
          audience.message,
          whereToSet(audience) ?? "Correct the base URL or the tenant id: aud is the exact token URL.",
        ),
    key === undefined || !isUrl
      ? unknown("assertion", `Not made, for want of ${key === undefined ? "a key that can sign" : "an aud"}.`)
      : await decodedAssertion(key, audience, correctionMs),
  ];
  return { canSign: key !== undefined, findings };
}

function audienceOf({ baseUrl, tenantId, allowInsecureHttp }: Patient): string | ConfigurationError {
  try {
    const target = {
      baseUrl: parseBaseUrl(baseUrl, allowInsecureHttp),
      tenantId: parseTenantId(tenantId),
    };
    return new URL(tokenEndpointOfA(target)).href;
  } catch (error) {
    if (!isConfigurationError(error)) throw error;
    return error;
  }
}

/** What is shown of it holds nothing secret: the signature stays here, and nothing is sent. */
async function decodedAssertion(
  { clientId, signingKey }: ExaminedKey,
  audience: string,
  correctionMs: number,
): Promise<Finding> {
  const issuedAt = Math.floor((Date.now() + correctionMs) / 1000);
  const assertion = await signClientAssertion({ clientId, audience, issuedAt }, signingKey);
  const { iss, sub, iat = 0, exp = 0 } = decodeJwt(assertion);
  const { alg, kid } = decodeProtectedHeader(assertion);
  const clock = correctionMs === 0 ? "by this machine's clock" : "by the server's Date";
  return pass(
    "assertion",
    `Decoded, not sent: alg ${alg}, kid ${kid}, iss ${iss}, sub ${sub}, aud as above, iat ${instant(iat)} (${clock}), exp ${exp - iat} s later, a fresh jti.`,
  );
}

function instant(secondsSinceEpoch: number): string {
  return new Date(secondsSinceEpoch * 1000).toISOString().replace(".000Z", "Z");
}
