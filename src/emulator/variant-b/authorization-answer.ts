// What the authorization endpoint sends back to the client, through the browser.

import type { Operator } from "../registrations/operators.js";
import { type RuleId, rules } from "../rules.js";
import type { AuthorizationRequest, Deployment } from "../state.js";
import type { Callback } from "./authorization-request.js";

/** A code is remembered for this long after its end, so that the log can tell late from unknown. */
const CODE_MEMORY_MS = 3_600_000;

/** The person allowed it: the callback with a code (RFC 6749 section 4.1.2). */
export function allowedCallback(
  deployment: Deployment,
  request: AuthorizationRequest,
  { tenantId, userId }: Operator,
): string {
  const { clock, settings, authorizationCodes } = deployment;
  const now = clock();
  const { client, redirectUri, codeChallenge, scopes } = request;
  const expiresAt = now + settings.codeLifetimeSeconds * 1000;
  const keepUntil = expiresAt + CODE_MEMORY_MS;
  const bound = { tenantId, userId, clientId: client.clientId, redirectUri, codeChallenge, scopes };
  const code = authorizationCodes.mint({ ...bound, authorizationId: undefined, expiresAt }, keepUntil, now);
  return callbackUrl(deployment, request, { code });
}

/** A request that breaks a rule of which the client is told, or a person who said no (section 4.1.2.1). */
export function refusedCallback(deployment: Deployment, callback: Callback, rule: RuleId): string {
  const { answer, says } = rules[rule];
  return callbackUrl(deployment, callback, { error: answer.error ?? "", error_description: says });
}

function callbackUrl(
  { settings, publicUrl }: Deployment,
  { redirectUri, state }: Callback,
  answer: Readonly<Record<string, string>>,
): string {
  const parameters = new URLSearchParams(answer);
  if (state !== undefined) parameters.set("state", state);
  // RFC 9207 section 2.
  if (settings.issuerInCallback) parameters.set("iss", publicUrl());
  // Added to the text, not by URL: RFC 6749 section 3.1.2 has the query retained, and a client may compare it.
  const joint = redirectUri.includes("?") ? (/[?&]$/.test(redirectUri) ? "" : "&") : "?";
  return headerText(redirectUri) + joint + parameters;
}

/** RFC 9110 section 5.5: a header holds ASCII. Whatever else the URI has is written as a URL writes it. */
function headerText(uri: string): string {
  return /^[\x21-\x7e]*$/.test(uri) ? uri : new URL(uri).href;
}
