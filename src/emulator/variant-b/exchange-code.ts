// The code exchange of Variant B: one code, one set of tokens.
import { type Check, firstRefusal, type Refusal } from "../checks.js";
import { verifierFault } from "../pkce.js";
import type { ApiClient } from "../registrations/api-clients.js";
import { shown, shownUri } from "../shown.js";
import type { AuthorizationCode, Deployment } from "../state.js";
import { openAuthorization, type PersonTokens, tokensOfAnybody } from "./person-tokens.js";
import type { CodeExchange } from "./read-client-request.js";

interface Attempt {
  readonly code: AuthorizationCode;
  readonly request: CodeExchange;
  readonly now: number;
}

const checks: readonly Check<Attempt>[] = [
  {
    rule: "client-code.client",
    find: ({ code, request }) =>
      code.clientId === request.clientId
        ? undefined
        : { expected: "a code of this client", actual: "a code of another client" },
  },
  {
    rule: "client-code.unspent",
    find: ({ code }) =>
      code.authorizationId === undefined
        ? undefined
        : { expected: "a code not yet exchanged", actual: "a code that was exchanged" },
  },
  {
    rule: "client-code.lifetime",
    find: ({ code, now }) =>
      now > code.expiresAt
        ? {
            expected: "a code within its lifetime",
            actual: `it ended ${(now - code.expiresAt) / 1000} s ago`,
          }
        : undefined,
  },
  {
    rule: "client-code.redirect-uri",
    find: ({ code, request }) =>
      code.redirectUri === request.redirectUri
        ? undefined
        : { expected: shown(code.redirectUri), actual: shownUri(request.redirectUri) },
  },
  {
    rule: "client-code.verifier",
    find({ code, request }) {
      const actual = verifierFault(request.codeVerifier, code.codeChallenge);
      return actual === undefined
        ? undefined
        : { expected: "the verifier of the request's challenge", actual };
    },
  },
];

/**
 * Synchronous: of concurrent exchanges of one code exactly one is first. A failed attempt leaves the code as it was:
 * only Variant A's description spends it on failure.
 */
export function exchangeCode(
  deployment: Deployment,
  client: ApiClient,
  request: CodeExchange,
): PersonTokens | Refusal {
  const { clock, authorizationCodes, authorizations, switches } = deployment;
  const now = clock();
  const code = authorizationCodes.find(request.code);
  if (code === undefined) {
    const expected = "a code from the authorization endpoint";
    const finding = { expected, actual: "a code that was not handed out" };
    const isRuled = switches.isEnforced("client-code.known");
    const anybody = isRuled ? undefined : tokensOfAnybody(deployment, client, now);
    return anybody ?? { rule: "client-code.known", ...finding };
  }
  const refusal = firstRefusal(switches, checks, { code, request, now });
  if (refusal !== undefined) {
    // RFC 6749 section 4.1.2: "SHOULD revoke (when possible) all tokens previously issued based on that code".
    const isReuse = refusal.rule === "client-code.unspent" && code.authorizationId !== undefined;
    if (isReuse) authorizations.revoke(code.authorizationId, now);
    return refusal;
  }
  const { authorizationId, keepUntil, tokens } = openAuthorization(deployment, client, code, now);
  authorizationCodes.replace(request.code, { ...code, authorizationId }, now, keepUntil);
  return tokens;
}
