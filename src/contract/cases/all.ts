/** All cases, in the order in which they are tried. */
import type { CaseDefinition } from "../case.js";
import { assertionCases } from "./assertions.js";
import { callCases } from "./calls.js";
import { clientCodeCases, waitingClientCodeCases } from "./client-codes.js";
import { clientRequestCases, waitingClientRequestCases } from "./client-requests.js";
import { codeCases } from "./codes.js";
import { loginCases } from "./logins.js";
import { rateLimitCases } from "./rate-limit.js";
import { refreshCases, waitingRefreshCases } from "./refresh.js";
import { lastCases, servedCases } from "./served.js";
import { tokenRequestCases } from "./token-requests.js";

const inOrder: readonly CaseDefinition[] = [
  ...servedCases,
  ...tokenRequestCases,
  ...assertionCases,
  ...codeCases,
  ...clientRequestCases,
  ...loginCases,
  ...clientCodeCases,
  ...refreshCases,
  ...callCases,
  ...lastCases,
  ...rateLimitCases,
  ...waitingClientCodeCases,
  ...waitingClientRequestCases,
  ...waitingRefreshCases,
];

/**
 * Few servers fail these, or only a standard asks for them. Without them a safe run sends at most
 * 60 requests.
 */
const extras: ReadonlySet<string> = new Set([
  "token-request.body-size",
  "token-request.grant-type.made-up",
  "token-request.one-authentication.secret",
  "assertion.algorithm.rs384",
  "assertion.algorithm.ps256",
  "assertion.critical-header.unknown",
  "assertion.critical-header.b64",
  "assertion.audience.array",
  "assertion.audience.trailing-slash",
  "assertion.audience.placeholder",
  "assertion.issued-at.missing",
  "assertion.expiry.missing",
  "assertion.not-before",
  "assertion.id.number",
  "client-request.body-size",
  "client-request.json",
  "client-request.one-authentication",
  "authorization.length",
  "authorization.duplicate-parameter",
  "authorization.response-type",
  "authorization.challenge-method.absent",
  "authorization.scope",
  "path.known",
]);

export const allCases: readonly CaseDefinition[] = inOrder.map((one) => ({
  ...one,
  extra: extras.has(one.id),
}));
