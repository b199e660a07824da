// Variant B's token endpoint: a JSON body in, an access token out; with a refresh token if a person logged in.

import type { Refusal } from "../checks.js";
import { recordTokenRequest } from "../flow/flow-steps.js";
import type { JsonAnswer } from "../http/json-answer.js";
import type { ReceivedRequest } from "../http/received-request.js";
import type { RequestNote } from "../journal.js";
import type { ApiClient } from "../registrations/api-clients.js";
import type { Deployment } from "../state.js";
import { exchangeCode } from "./exchange-code.js";
import type { PersonTokens } from "./person-tokens.js";
import { type ClientRequest, type GrantPlace, readClientRequest } from "./read-client-request.js";
import { refreshTokens } from "./refresh-token.js";
import { clientRefusalAnswer, clientTokenAnswer } from "./token-answers.js";

/** Answers one POST: 200, or an error of RFC 6749 section 5.2. */
export async function answerClientRequest(
  deployment: Deployment,
  request: ReceivedRequest,
  note: RequestNote,
  place: GrantPlace,
): Promise<JsonAnswer> {
  const read = await readClientRequest(deployment.switches, request, place);
  const answered = recordTokenRequest(deployment, read);
  const outcome = "rule" in read ? read : grant(deployment, read);
  const caller = "rule" in read ? {} : callerOf(deployment, read);
  if (!("rule" in read)) Object.assign(note, { grant: read.grant, clientId: caller.clientId });
  if (!("rule" in outcome)) {
    note.tenantId = outcome.tenantId;
    return answered(clientTokenAnswer(deployment, outcome));
  }
  if (caller.tenantId !== undefined) note.tenantId = caller.tenantId;
  deployment.customerLog.record(deployment.clock(), caller, outcome);
  return answered(clientRefusalAnswer(outcome), outcome.rule);
}

function grant(deployment: Deployment, request: ClientRequest): PersonTokens | Refusal {
  if (request.grant === "client_credentials") return grantToAccount(deployment, request);
  const client = authenticateClient(deployment, request);
  if ("rule" in client) return client;
  return request.grant === "refresh_token"
    ? refreshTokens(deployment, client, request)
    : exchangeCode(deployment, client, request);
}

function grantToAccount(
  { clock, accessTokens, serviceAccounts, switches, settings }: Deployment,
  request: ClientRequest & { readonly grant: "client_credentials" },
): PersonTokens | Refusal {
  const known = serviceAccounts.find(request.clientId);
  const isTheirs = serviceAccounts.authenticate(request.clientId, request.clientSecret) !== undefined;
  if (known === undefined || (!isTheirs && switches.isEnforced("client.authentication"))) {
    return {
      rule: "client.authentication",
      expected: "a registered client_id and its client_secret",
      // Not quoted: whoever swaps the two fields sends the secret as client_id.
      actual: known === undefined ? "a client_id that is not registered" : "another client_secret",
    };
  }
  const now = clock();
  const { tenantId, clientId, scopes } = known;
  const expiresAt = now + settings.tokenLifetimeSeconds * 1000;
  const token = { variant: "B", tenantId, clientId, scopes, expiresAt } as const;
  return { tenantId, accessToken: accessTokens.mint(token, now) };
}

function authenticateClient(
  { apiClients, switches }: Deployment,
  { clientId, clientSecret }: ClientRequest,
): ApiClient | Refusal {
  const client = apiClients.find(clientId);
  const isTheirs = apiClients.authenticate(clientId, clientSecret) !== undefined;
  if (client !== undefined && (isTheirs || !switches.isEnforced("api-client.authentication"))) return client;
  const secret = clientSecret === undefined ? "no client_secret" : "another client_secret";
  const known = client?.secretDigest === undefined ? "a client_secret, of a public client" : secret;
  return {
    rule: "api-client.authentication",
    expected: client?.secretDigest === undefined ? "a registered client_id" : "the client's client_secret",
    actual: client === undefined ? "a client_id that is not registered" : known,
  };
}

/** The path names no tenant; the log belongs to the tenant of the code, of the refresh token, or of the client. */
function callerOf(
  deployment: Deployment,
  request: ClientRequest,
): { tenantId?: string | undefined; clientId?: string | undefined } {
  const { serviceAccounts, apiClients, authorizationCodes, authorizations } = deployment;
  if (request.grant === "client_credentials") {
    const account = serviceAccounts.find(request.clientId);
    return { tenantId: account?.tenantId, clientId: account?.clientId };
  }
  const client = apiClients.find(request.clientId);
  const refreshToken =
    request.grant === "refresh_token" ? deployment.refreshTokens.find(request.refreshToken) : undefined;
  const person =
    request.grant === "refresh_token"
      ? refreshToken && authorizations.find(refreshToken.authorizationId)
      : authorizationCodes.find(request.code);
  return { tenantId: person?.tenantId ?? client?.tenantId, clientId: client?.clientId };
}
