/** The signing key, whether the registered JWKS holds it, and the assertion it makes: shown, not sent. */
import { decodeJwt, decodeProtectedHeader } from "jose";
import { signClientAssertion } from "../../auth/client-assertion.js";
import { importSigningKey, type SigningKey } from "../../auth/signing-key.js";
import { isBivariantError } from "../../errors.js";
import { parseBaseUrl } from "../../variants/base-url.js";
import { parseTenantId } from "../../variants/tenant-id.js";
import { tokenEndpointOfA } from "../../variants/variant-a.js";
import type { PluginSettings } from "../settings/read-plugin.js";
import { compareJwks } from "./compare-jwks.js";
import type { Patient } from "./examine.js";
import { type Finding, fail, pass, unknown } from "./finding.js";

export async function examineKey(
  patient: Patient,
  { clientId, privateKey, keyId }: PluginSettings,
): Promise<Finding[]> {
  let key: SigningKey;
  try {
    key = await importSigningKey(privateKey, keyId);
  } catch (error) {
    if (!isBivariantError(error)) throw error;
    return [
      fail(
        "key",
        `${error.code}: ${error.message}`,
        "Give another private key, or make one: bivariant keys new",
      ),
    ];
  }
  const findings = [
    pass(
      "key",
      `An RSA private key that signs RS256; its kid is ${key.keyId}${key.thumbprint === key.keyId ? " (RFC 7638 thumbprint)" : ""}.`,
    ),
    await compareJwks(key, patient.registeredJwks),
  ];
  let audience: string;
  try {
    audience = new URL(
      tokenEndpointOfA({
        baseUrl: parseBaseUrl(patient.baseUrl, patient.allowInsecureHttp),
        tenantId: parseTenantId(patient.tenantId),
      }),
    ).href;
  } catch (error) {
    if (!isBivariantError(error)) throw error;
    return [
      ...findings,
      fail(
        "audience",
        `${error.code}: ${error.message}`,
        "Substitute the tenant in the exact URL: correct the base URL or the tenant id.",
      ),
    ];
  }
  const assertion = await signClientAssertion(
    { clientId, audience, issuedAt: Math.floor(Date.now() / 1000) },
    key,
  );
  const { iss, sub, iat = 0, exp = 0 } = decodeJwt(assertion);
  const { alg, kid } = decodeProtectedHeader(assertion);
  return [
    ...findings,
    pass("audience", `aud is the exact token URL: ${audience}`),
    clientId === iss && iss === sub
      ? pass(
          "assertion",
          `Decoded without being sent: alg ${alg}, kid ${kid}, iss and sub ${iss}, iat now, exp ${exp - iat} s later, a fresh jti.`,
        )
      : unknown("assertion", "iss and sub differ from the client id."),
  ];
}
