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
import { servedCases } from "./served.js";
import { tokenRequestCases } from "./token-requests.js";

export const allCases: readonly CaseDefinition[] = [
  ...servedCases,
  ...tokenRequestCases,
  ...assertionCases,
  ...codeCases,
  ...clientRequestCases,
  ...loginCases,
  ...clientCodeCases,
  ...refreshCases,
  ...callCases,
  ...rateLimitCases,
  ...waitingClientCodeCases,
  ...waitingClientRequestCases,
  ...waitingRefreshCases,
];
