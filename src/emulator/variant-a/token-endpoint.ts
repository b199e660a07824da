// Variant A's token endpoint: what is not well-formed is refused, the rest asks for a grant; every refusal is opaque.

import type { Refusal } from "../checks.js";
import { recordTokenRequest } from "../flow/flow-steps.js";
import { asGrant } from "../grant.js";
import type { JsonAnswer } from "../http/json-answer.js";
import type { ReceivedRequest } from "../http/received-request.js";
import type { RequestNote } from "../journal.js";
import { TOKEN_PATH_A } from "../paths.js";
import { isMadeUpId } from "../shown.js";
import type { Deployment } from "../state.js";
import { presentCode } from "./check-code.js";
import { grantToken } from "./grant-token.js";
import { checkRate } from "./rate-limit.js";
import { type MalformedRequest, readTokenRequest, type TokenRequest } from "./read-token-request.js";
import { asTold, refusalAnswer } from "./token-answers.js";

/**
 * Answers one POST: 200, 429, or 400 with the opaque body, never anything else. `path` is the one that was posted to,
 * where that is not `TOKEN_PATH_A`.
 */
export async function answerTokenRequest(
  deployment: Deployment,
  tenantId: string,
  request: ReceivedRequest,
  note: RequestNote,
  path: string = TOKEN_PATH_A,
): Promise<JsonAnswer> {
  const limited = checkRate(deployment, tenantId);
  if (limited !== undefined) return limited;
  const read = await readTokenRequest(deployment.switches, request);
  const answered = recordTokenRequest(deployment, read);
  if (!("refusal" in read)) {
    note.clientId = deployment.plugins.find(tenantId, read.clientId ?? "")?.clientId;
    note.grant = asGrant(read.grantType);
  }
  // From the configuration and the route, never from the Host header: a client could choose that.
  const tokenUrl = deployment.publicUrl() + path.replace("{tenantId}", tenantId);
  const outcome =
    "refusal" in read
      ? refuseMalformed(deployment, read)
      : await grantToken(deployment, tenantId, read, tokenUrl);
  if (!("rule" in outcome)) return answered(outcome);
  const told = asTold(deployment, outcome);
  const clientId = note.clientId ?? madeUpId(read);
  deployment.customerLog.record(deployment.clock(), { tenantId, clientId }, told);
  return answered(refusalAnswer(deployment, told), told.rule);
}

/** A malformed attempt spends its code as one with a refused assertion does: neither authenticates anybody. */
function refuseMalformed(deployment: Deployment, { refusal, codes }: MalformedRequest): Refusal {
  if (deployment.settings.unauthenticatedAttemptSpendsCode) {
    for (const code of codes) presentCode(deployment, { grantType: "authorization_code", code });
  }
  return refusal;
}

/** Of a plugin that nobody registered: without it the log could not be asked for one that is to be registered yet. */
function madeUpId(read: TokenRequest | MalformedRequest): string | undefined {
  if ("refusal" in read || read.clientId === undefined) return undefined;
  return isMadeUpId(read.clientId) ? read.clientId : undefined;
}
