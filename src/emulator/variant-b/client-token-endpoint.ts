// Variant B's token endpoint: a JSON body in, an access token out.
import type { Deployment } from "../deployment.js";
import type { RequestNote } from "../journal.js";
import type { Refusal } from "../refusal.js";
import type { ServiceAccount } from "../registrations/service-accounts.js";
import { type ClientRequest, readClientRequest } from "./read-client-request.js";
import { clientRefusalAnswer, clientTokenAnswer } from "./token-answers.js";

/** Description, section 4.2. */
export const TOKEN_PATH_B = "/v1/auth/token";

/** Answers one POST: 200, or an error of RFC 6749 section 5.2. */
export async function answerClientRequest(
  deployment: Deployment,
  request: Request,
  note: RequestNote,
): Promise<Response> {
  const read = await readClientRequest(request);
  const outcome = "rule" in read ? read : authenticate(deployment, read);
  if (!("rule" in outcome)) {
    note.tenantId = outcome.tenantId;
    return mint(deployment, outcome);
  }
  const clientId = "rule" in read ? undefined : read.clientId;
  // The path names no tenant; the log belongs to the tenant that the client is registered in.
  const account = clientId === undefined ? undefined : deployment.serviceAccounts.find(clientId);
  if (account !== undefined) note.tenantId = account.tenantId;
  const caller = { tenantId: account?.tenantId, clientId: account?.clientId };
  deployment.customerLog.record(deployment.clock(), caller, outcome);
  return clientRefusalAnswer(outcome);
}

function authenticate({ serviceAccounts }: Deployment, request: ClientRequest): ServiceAccount | Refusal {
  if (request.grant === "authorization_code") {
    const expected = "a code from the authorization endpoint";
    return { rule: "client-code.known", expected, actual: "a code that was not handed out" };
  }
  const account = serviceAccounts.authenticate(request.clientId, request.clientSecret);
  if (account !== undefined) return account;
  const isKnown = serviceAccounts.find(request.clientId) !== undefined;
  return {
    rule: "client.authentication",
    expected: "a registered client_id and its client_secret",
    // Not quoted: whoever swaps the two fields sends the secret as client_id.
    actual: isKnown ? "another client_secret" : "a client_id that is not registered",
  };
}

function mint({ clock, accessTokens, tokenLifetimeSeconds }: Deployment, account: ServiceAccount): Response {
  const now = clock();
  const { tenantId, clientId, scopes } = account;
  const expiresAt = now + tokenLifetimeSeconds * 1000;
  return clientTokenAnswer(accessTokens.mint({ variant: "B", tenantId, clientId, scopes, expiresAt }, now));
}
