/** Whether the private key can sign for Variant A: its kind and its size. */
import { createPrivateKey, type JsonWebKey } from "node:crypto";
import { importSigningKey, type SigningKey } from "../../auth/keys/signing-key.js";
import { type ConfigurationError, isConfigurationError } from "../../errors.js";
import type { PluginSettings } from "../settings/read-plugin.js";
import { type Finding, fail, pass } from "./finding.js";

const remedy =
  "Give a private RSA key, or make one with bivariant keys new and register its JWKS under Settings, Tenant Settings, External Plugins.";

/** A key that can sign, and for whom. */
export interface ExaminedKey {
  readonly clientId: string;
  readonly signingKey: SigningKey;
}

export async function examineKey(
  plugin: PluginSettings | ConfigurationError,
): Promise<{ key?: ExaminedKey; finding: Finding }> {
  if (isConfigurationError(plugin)) return { finding: fail("key", plugin.message, remedy) };
  const { clientId, privateKey, keyId } = plugin;
  let signingKey: SigningKey;
  try {
    signingKey = await importSigningKey(privateKey, keyId);
  } catch (error) {
    if (!isConfigurationError(error)) throw error;
    return { finding: fail("key", `${error.code}: ${error.message}`, remedy) };
  }
  const { keyId: kid, thumbprint } = signingKey;
  const origin = kid === thumbprint ? ", its RFC 7638 thumbprint" : "";
  const evidence = `A private RSA key of ${bitsOf(privateKey)} bits, which signs RS256. Its kid is ${kid}${origin}.`;
  return { key: { clientId, signingKey }, finding: pass("key", evidence) };
}

/** Of a key that was imported already. */
function bitsOf(privateKey: string): number | undefined {
  const text = privateKey.trim();
  const key = text.startsWith("{")
    ? createPrivateKey({ key: JSON.parse(text) as JsonWebKey, format: "jwk" })
    : createPrivateKey(text);
  return key.asymmetricKeyDetails?.modulusLength;
}
