// Variant B's token endpoint: a JSON body in, an access token out, with a refresh token if a person logged in.
import type { Refusal } from "../checks.js";
import { recordTokenRequest } from "../flow/flow.js";
import { type JsonAnswer, jsonAnswer, NOT_STORED } from "../http/messages.js";
import type { RequestNote } from "../journal.js";
import type { ApiClient } from "../registrations/clients.js";
import { rules } from "../rules.js";
import type { Deployment } from "../state.js";
import { exchangeCode, type IssuedTokens, refresh } from "./person-grants.js";
import { type ClientRequest, type GrantPlace, readClientRequest } from "./token-request.js";

/** Answers one POST: 200, or an error of RFC 6749 section 5.2. */
export async function answerClientRequest(
  deployment: Deployment,
  request: Request,
  note: RequestNote,
  place: GrantPlace,
): Promise<JsonAnswer> {
  const read = await readClientRequest(deployment.switches, request, place);
  const answered = recordTokenRequest(deployment, read);
  const outcome = "rule" in read ? read : grantTokens(deployment, read);
  const caller = "rule" in read ? {} : callerOf(deployment, read);
  if (!("rule" in read)) Object.assign(note, { grant: read.grant, clientId: caller.clientId });
  if (!("rule" in outcome)) {
    note.tenantId = outcome.tenantId;
    return answered(tokenAnswer(deployment, outcome));
  }
  if (caller.tenantId !== undefined) note.tenantId = caller.tenantId;
  deployment.customerLog.record(deployment.clock(), caller, outcome);
  return answered(refusalAnswer(outcome), outcome.rule);
}

function grantTokens(deployment: Deployment, request: ClientRequest): IssuedTokens | Refusal {
  if (request.grant === "client_credentials") return grantToAccount(deployment, request);
  const client = authenticateClient(deployment, request);
  if ("rule" in client) return client;
  return request.grant === "refresh_token"
    ? refresh(deployment, client, request)
    : exchangeCode(deployment, client, request);
}

function grantToAccount(
  { clock, accessTokens, serviceAccounts, switches, settings }: Deployment,
  request: ClientRequest & { readonly grant: "client_credentials" },
): IssuedTokens | Refusal {
  const known = serviceAccounts.find(request.clientId);
  const isTheirs = serviceAccounts.authenticate(request.clientId, request.clientSecret) !== undefined;
  if (known === undefined || (!isTheirs && switches.isEnforced("client.authentication"))) {
    return {
      rule: "client.authentication",
      expected: "a registered client_id and its client_secret",
      // Not quoted: a caller that swaps the two fields sends the secret as client_id.
      actual: known === undefined ? "a client_id that is not registered" : "another client_secret",
    };
  }
  const now = clock();
  const { tenantId, clientId, scopes } = known;
  const expiresAt = now + settings.tokenLifetimeSeconds * 1000;
  const token = { variant: "B", tenantId, clientId, scopes, expiresAt } as const;
  return { tenantId, accessToken: accessTokens.mint(token, expiresAt, now) };
}

function authenticateClient(
  { apiClients, switches }: Deployment,
  { clientId, clientSecret }: ClientRequest,
): ApiClient | Refusal {
  const client = apiClients.find(clientId);
  const isTheirs = apiClients.authenticate(clientId, clientSecret) !== undefined;
  if (client !== undefined && (isTheirs || !switches.isEnforced("api-client.authentication"))) return client;
  const secret = clientSecret === undefined ? "no client_secret" : "another client_secret";
  const sent = client?.secretDigest === undefined ? "a client_secret, of a public client" : secret;
  return {
    rule: "api-client.authentication",
    expected: client?.secretDigest === undefined ? "a registered client_id" : "the client's client_secret",
    actual: client === undefined ? "a client_id that is not registered" : sent,
  };
}

/** The path has no tenant, so the log shows the tenant of the code, of the refresh token, or of the client. */
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

/**
 * "a JSON object with access_token (string). For the code exchange it also carries refresh_token (string). Other
 * response fields: not shown" (description, section 4.2): the option `tokenResponseExtras` adds others.
 */
function tokenAnswer({ settings }: Deployment, { accessToken, refreshToken }: IssuedTokens): JsonAnswer {
  const body = { access_token: accessToken, refresh_token: refreshToken, ...settings.tokenResponseExtras };
  return jsonAnswer(body, { headers: NOT_STORED });
}

/** Error bodies are not shown: this has the shape of RFC 6749 section 5.2, and the rule as its text. */
function refusalAnswer(refusal: Refusal): JsonAnswer {
  const { answer, says } = rules[refusal.rule];
  const body = { error: answer.error, error_description: `Refused by the rule: ${says}` };
  return jsonAnswer(body, { status: answer.status, headers: NOT_STORED });
}
