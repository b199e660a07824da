/**
 * The likely causes of an opaque refusal by Variant A: those in section 7.1 that local evidence
 * supports.
 */
import type { Cause } from "../../errors.js";
import type { Refusal } from "./credential.js";
import type { SigningKey } from "./signing-key.js";

const settingsPage = "Settings, Tenant Settings, External Plugins";

export interface RefusedRequest {
  readonly clientId: string;
  readonly tenantId: string;
  readonly tokenEndpoint: string;
  /** The option as it is configured. */
  readonly audience: string | undefined;
  readonly key: SigningKey;
}

/**
 * Ranks the causes of a refusal, most likely first. The list is empty if no row of the table fits
 * the error.
 */
export function explainRefusalOfA(refusal: Refusal, request: RefusedRequest): readonly Cause[] {
  if (refusal.error === "invalid_client") return assertionCauses(refusal, request);
  if (refusal.error === "invalid_grant") return grantCauses(refusal, request);
  return [];
}

/** "The assertion was refused: signature, iss or sub, aud, freshness, or a replayed jti." */
function assertionCauses(refusal: Refusal, request: RefusedRequest): Cause[] {
  const { audience, tokenEndpoint } = request;
  const hasOwnAudience = audience !== undefined && audience !== new URL(tokenEndpoint).href;
  const aboutAudience = hasOwnAudience ? audienceSet(request) : audienceRewritten(request);
  const isClockKnown = refusal.clockOffsetMs !== undefined;
  // An audience that was accepted before is right, unless a proxy was changed since.
  const isAudienceSuspect = hasOwnAudience && !refusal.workedBefore;
  return [
    ...(isAudienceSuspect ? [aboutAudience] : []),
    ...(isClockKnown && !refusal.wasInBounds ? [clockDrift(refusal)] : []),
    // Keys are changed more often than a fetch sends a request twice, also where the key was
    // accepted before.
    jwksMismatch(refusal, request),
    ...(refusal.hasOwnFetch ? [replayed(refusal)] : []),
    ...(isAudienceSuspect ? [] : [aboutAudience]),
    ...(isClockKnown ? [] : [clockUnknown]),
  ];
}

function jwksMismatch({ workedBefore }: Refusal, { key }: RefusedRequest): Cause {
  const thumbprint =
    key.thumbprint === undefined || key.thumbprint === key.keyId
      ? ""
      : ` (thumbprint ${key.thumbprint})`;
  // Of a signer only the id is known: the KMS may use another algorithm, or another key after a
  // rotation.
  const isSigner = key.thumbprint === undefined;
  const [same, changed] = isSigner
    ? ["key id", "registration or the key"]
    : ["key", "registration"];
  const before = workedBefore
    ? ` The same ${same} was accepted before, so the ${changed} would have changed since.`
    : "";
  const signer = isSigner
    ? ` A KMS must sign with RSASSA-PKCS1-v1_5 and SHA-256, and the key registered as ${key.keyId}.`
    : "";
  return {
    id: "jwks_mismatch",
    summary: "The registered JWKS does not match the signing key",
    evidence:
      `The assertion was signed with the key ${key.keyId}${thumbprint}; ` +
      `the registered keys are not visible from here.${before}`,
    remedy:
      "Regenerate the JWKS from the actual signing key and register it under " +
      `${settingsPage}; its kid must be ${key.keyId}.${signer}`,
  };
}

function audienceSet({ audience = "", tokenEndpoint }: RefusedRequest): Cause {
  const isLiteral = /\{|%7b/i.test(audience);
  return {
    id: "audience_mismatch",
    summary: isLiteral
      ? "aud still holds a literal {tenantId}"
      : "aud is not the exact token URL of the tenant",
    evidence: `The option audience is set, and differs from the URL of the request: ${tokenEndpoint}`,
    remedy: isLiteral
      ? "Substitute the tenant in the exact URL, or leave audience out."
      : "Leave audience out. Behind a proxy, set it to the URL that the service itself sees.",
  };
}

function audienceRewritten({ tokenEndpoint }: RefusedRequest): Cause {
  return {
    id: "audience_mismatch",
    summary: "The service sees a token URL that differs from the one of the request",
    evidence:
      `aud is the URL of the request, ${tokenEndpoint}. ` +
      "To the client a URL that a proxy rewrites looks the same.",
    remedy: "Behind a proxy, set audience to the URL that the service itself sees.",
  };
}

function clockDrift({ clockOffsetMs = 0 }: Refusal): Cause {
  return {
    id: "clock_drift",
    summary: "The clocks differ by more than 30 seconds",
    evidence:
      "According to the Date of its answers the server is " +
      `${Math.abs(Math.round(clockOffsetMs / 1000))} s ` +
      `${clockOffsetMs > 0 ? "ahead of" : "behind"} this machine. ` +
      "More than a day is not corrected.",
    remedy: "Correct the clock of the signing machine.",
  };
}

const clockUnknown: Cause = Object.freeze({
  id: "clock_drift",
  summary: "The clocks may differ by more than 30 seconds",
  evidence:
    "The answers carry no Date, so the clocks cannot be compared. The refusal looks the same.",
  remedy: "Compare the clock of the signing machine with another, and correct it.",
});

function replayed({ workedBefore }: Refusal): Cause {
  const before = workedBefore ? "The same key was accepted before, and r" : "R";
  const same = workedBefore ? "" : " The refusal looks the same as for a wrong JWKS.";
  return {
    id: "jti_replayed",
    summary: "The same assertion arrived twice",
    evidence:
      `${before}equests go through your own fetch. ` +
      `Every jti is fresh, but a fetch or proxy that retries sends one twice.${same}`,
    remedy:
      "Switch off retries in your fetch and in proxies: " +
      "the client retries itself, with a fresh jti.",
  };
}

/**
 * "Plugin not registered, plugin disabled, plugin type wrong for the grant, auth code spent or
 * expired."
 */
function grantCauses(
  { grant, workedBefore }: Refusal,
  { clientId, tenantId }: RefusedRequest,
): Cause[] {
  const undecided =
    "The answer is the same for each cause; only the customer's log shows which one it was.";
  const before = workedBefore ? " It was accepted before, so the registration was changed." : "";
  const [ownType, otherType] =
    grant === "client_credentials" ? ["service", "user-interface"] : ["user interface", "service"];
  const registration: Cause[] = [
    {
      id: "plugin_not_registered_or_disabled",
      summary: "The plugin is not registered in this tenant, or is disabled",
      evidence:
        `The service answered invalid_grant for ${clientId} in the tenant ` +
        `${tenantId}.${before} ${undecided}`,
      remedy:
        `Check tenantId, which is ${tenantId}: a wrong one looks the same. ` +
        `If it is right, ask the customer to confirm the client id under ${settingsPage}, and ` +
        "that it is enabled.",
    },
    {
      id: "wrong_grant_for_plugin_type",
      summary: `The plugin is registered as a ${otherType} plugin, which cannot use ${grant}`,
      evidence: undecided,
      remedy:
        `Ask the customer to check the type of the plugin under ${settingsPage}: ` +
        `it must be ${ownType}.`,
    },
  ];
  if (grant === "client_credentials") return registration;
  return [
    {
      id: "code_spent_or_expired",
      summary: "The authorization code was used, or is older than two minutes",
      evidence:
        "A code is spent on the first exchange attempt, whether that succeeds or " +
        `fails. ${undecided}`,
      remedy: "Relaunch the plugin.",
    },
    ...registration,
  ];
}
