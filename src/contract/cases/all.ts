/** All cases, in the order in which they are tried. */
import type { CaseDefinition } from "../case.js";
import { assertionCases } from "./assertions.js";
import { callCases } from "./calls.js";
import { clientRequestCases } from "./client-requests.js";
import { codeCases } from "./codes.js";
import { loginCases } from "./logins.js";
import { rateLimitCases } from "./rate-limit.js";
import { servedCases } from "./served.js";
import { tokenRequestCases } from "./token-requests.js";

export const allCases: readonly CaseDefinition[] = [
  ...servedCases,
  ...tokenRequestCases,
  ...assertionCases,
  ...codeCases,
  ...clientRequestCases,
  ...loginCases,
  ...callCases,
  ...rateLimitCases,
];
