/** Why Variant A refused opaquely: the rows of section 7.1 that local evidence supports, most likely first. */
import type { Cause } from "../errors.js";
import { assertionLimits } from "../variants/variant-a.js";
import type { Refusal } from "./credential.js";
import type { SigningKey } from "./signing-key.js";

const settingsPage = "Settings, Tenant Settings, External Plugins";

export interface RefusedRequest {
  readonly clientId: string;
  readonly tenantId: string;
  readonly tokenEndpoint: string;
  readonly audience: string;
  readonly key: SigningKey;
}

/** Ranks the causes of a refused client_credentials request. Empty where no row of the table fits the error. */
export function explainRefusalOfA(refusal: Refusal, request: RefusedRequest): readonly Cause[] {
  if (refusal.error === "invalid_client") return assertionCauses(refusal, request);
  if (refusal.error === "invalid_grant") return registrationCauses(request);
  return [];
}

/** "The assertion was refused: signature, iss or sub, aud, freshness, or a replayed jti." */
function assertionCauses(
  { clockOffsetMs }: Refusal,
  { tokenEndpoint, audience, key, tenantId }: RefusedRequest,
): Cause[] {
  const causes: Cause[] = [];
  if (audience !== new URL(tokenEndpoint).href)
    causes.push({
      id: "audience_mismatch",
      summary: "aud does not name the exact token URL",
      evidence: `The option audience is set, and differs from the URL posted to: ${tokenEndpoint}`,
      remedy:
        "Leave audience out, unless a proxy rewrites the URL; then give the URL that the service itself sees.",
    });
  if (clockOffsetMs !== undefined && Math.abs(clockOffsetMs) > assertionLimits.clockToleranceSeconds * 1000)
    causes.push({
      id: "clock_drift",
      summary: "The clocks differ by more than 30 seconds",
      evidence: `By the Date of its answers the server is ${Math.abs(Math.round(clockOffsetMs / 1000))} s ${clockOffsetMs > 0 ? "ahead of" : "behind"} this machine.`,
      remedy: "Correct the clock of the signing machine.",
    });
  causes.push({
    id: "jwks_mismatch",
    summary: "The registered JWKS does not match the signing key",
    evidence: `Signed with the key ${key.keyId}${key.thumbprint === undefined || key.thumbprint === key.keyId ? "" : ` (thumbprint ${key.thumbprint})`}; what is registered cannot be seen from here.`,
    remedy: `Regenerate the JWKS from the actual signing key and register it under ${settingsPage}; its kid must be ${key.keyId}.`,
  });
  if (audience === new URL(tokenEndpoint).href)
    causes.push({
      id: "audience_mismatch",
      summary: "The service sees another token URL than the one posted to",
      evidence: `aud is the URL posted to, for the tenant ${tenantId}; a proxy that rewrites URLs would make them differ.`,
      remedy: "If a proxy stands before the service, give the URL that the service itself sees as audience.",
    });
  return causes;
}

/** "Plugin not registered, plugin disabled, plugin type wrong for the grant." */
function registrationCauses({ clientId, tenantId }: RefusedRequest): Cause[] {
  const undecided = "The answer is the same for both; only the customer's log tells them apart.";
  return [
    {
      id: "plugin_not_registered_or_disabled",
      summary: "The plugin is not registered in this tenant, or is disabled",
      evidence: `The service answered invalid_grant for ${clientId} in the tenant ${tenantId}. ${undecided}`,
      remedy: `Let the customer confirm the client id under ${settingsPage}, and that it is enabled.`,
    },
    {
      id: "wrong_grant_for_plugin_type",
      summary: "The plugin is registered as a user-interface plugin, which cannot use client_credentials",
      evidence: undecided,
      remedy: `Let the customer look at the type of the plugin under ${settingsPage}: it must be service.`,
    },
  ];
}
