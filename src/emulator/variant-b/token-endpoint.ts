// Variant B's token endpoint: a JSON body in, an access token out, with a refresh token if a person logged in.
import { z } from "zod";
import type { Refusal, RuleSwitches } from "../checks.js";
import { recordTokenRequest } from "../flow/flow-steps.js";
import { type JsonAnswer, jsonAnswer, NOT_STORED, parseObject } from "../http/messages.js";
import type { RequestNote } from "../journal.js";
import { asGrant, type Grant, readTokenRequest, secondAuthentication, shownGrantType } from "../oauth.js";
import type { ApiClient } from "../registrations/api-clients.js";
import { rules } from "../rules.js";
import type { Deployment } from "../state.js";
import {
  type CodeExchange,
  exchangeCode,
  type IssuedTokens,
  type RefreshRequest,
  refresh,
} from "./person-grants.js";

/** The grants of a path: "Exchange of a refresh_token ... (path and body): not shown". */
export type GrantPlace = "every grant" | "every grant but refresh" | "refresh";

/** The fields of section 4.2 by their names on the wire. */
type ClientRequest =
  | { readonly grant: "client_credentials"; readonly client_id: string; readonly client_secret: string }
  | CodeExchange
  | RefreshRequest;

/** Answers one POST: 200, or an error of RFC 6749 section 5.2. */
export async function answerClientRequest(
  deployment: Deployment,
  request: Request,
  note: RequestNote,
  place: GrantPlace,
): Promise<JsonAnswer> {
  const { clock, customerLog, settings, switches } = deployment;
  const read = await readRequest(switches, request, place);
  const answered = recordTokenRequest(deployment, read);
  const outcome = "rule" in read ? read : grantTokens(deployment, read);
  const caller = "rule" in read ? {} : callerOf(deployment, read);
  if (!("rule" in read)) Object.assign(note, { grant: read.grant, clientId: caller.clientId });
  if ("rule" in outcome) {
    if (caller.tenantId !== undefined) note.tenantId = caller.tenantId;
    customerLog.record(clock(), caller, outcome);
    // Error bodies are not shown: this has the shape of RFC 6749 section 5.2, and the rule as its text.
    const { answer, says } = rules[outcome.rule];
    const body = { error: answer.error, error_description: `Refused by the rule: ${says}` };
    return answered(jsonAnswer(body, { status: answer.status, headers: NOT_STORED }), outcome.rule);
  }
  note.tenantId = outcome.tenantId;
  // "a JSON object with access_token (string). For the code exchange it also carries refresh_token (string). Other
  // response fields: not shown" (section 4.2): the option `tokenResponseExtras` adds others.
  const { accessToken, refreshToken } = outcome;
  const body = { access_token: accessToken, refresh_token: refreshToken, ...settings.tokenResponseExtras };
  return answered(jsonAnswer(body, { headers: NOT_STORED }));
}

const text = z.string().min(1);
const client = { client_id: text, client_secret: text.optional() };
const schemas = {
  client_credentials: z.object({
    grant: z.literal("client_credentials"),
    client_id: text,
    client_secret: text,
  }),
  // Whether a code exchange carries a secret is not shown; here a confidential client must send one.
  authorization_code: z.object({
    grant: z.literal("authorization_code"),
    ...client,
    code: text,
    code_verifier: text,
    redirect_uri: text,
  }),
  // Not shown; the fields of RFC 6749 section 6, as JSON.
  refresh_token: z.object({
    grant: z.literal("refresh_token"),
    ...client,
    refresh_token: text,
    scope: text.optional(),
  }),
};

type Fields = Readonly<Record<string, unknown>>;

async function readRequest(
  switches: RuleSwitches,
  request: Request,
  place: GrantPlace,
): Promise<ClientRequest | Refusal> {
  const body = await readTokenRequest(switches, request, "client-request");
  if ("rule" in body) return body;
  const fields = parseObject(body.text);
  if (fields === undefined) {
    return { rule: "client-request.json", expected: "a JSON object", actual: "something else" };
  }
  const alone = "client_id and client_secret alone";
  const second = secondAuthentication(request, alone, "client_assertion", fields.client_assertion);
  const refusal = second && switches.refusal("client-request.one-authentication", second);
  if (refusal !== undefined) return refusal;
  const grant = grantOf(fields, place);
  if (typeof grant !== "string") return grant;
  const { shape } = schemas[grant];
  const parsed = schemas[grant].safeParse({ ...fields, grant });
  if (parsed.success) return parsed.data;
  const faulty = [...new Set(parsed.error.issues.map(({ path }) => String(path[0])))].join(", ");
  return {
    rule: "client-request.fields",
    expected: Object.keys(shape).slice(1).join(", "),
    actual: `absent, empty or not a string: ${faulty}`,
  };
}

function grantOf(fields: Fields, place: GrantPlace): Grant | Refusal {
  // The code exchange of section 4.2 shows no grant_type; a request that names it is accepted as well.
  const implied = place === "refresh" ? "refresh_token" : fields.code !== undefined && "authorization_code";
  const named = fields.grant_type ?? (implied || undefined);
  const grant = asGrant(named);
  const isTaken = grant === "refresh_token" ? place !== "every grant but refresh" : place !== "refresh";
  if (grant !== undefined && isTaken) return grant;
  const actual = shownGrantType(named);
  if (typeof named !== "string") return { rule: "client-request.fields", expected: "a grant_type", actual };
  return { rule: "client-request.grant-type", expected: "a grant of this path", actual };
}

function grantTokens(deployment: Deployment, request: ClientRequest): IssuedTokens | Refusal {
  const { accessTokens, clock, serviceAccounts, switches, settings } = deployment;
  if (request.grant !== "client_credentials") {
    const client = authenticateClient(deployment, request);
    if ("rule" in client) return client;
    return request.grant === "refresh_token"
      ? refresh(deployment, client, request)
      : exchangeCode(deployment, client, request);
  }
  const account = serviceAccounts.find(request.client_id);
  const isTheirs = serviceAccounts.authenticate(request.client_id, request.client_secret) !== undefined;
  if (account === undefined || (!isTheirs && switches.isEnforced("client.authentication"))) {
    return {
      rule: "client.authentication",
      expected: "a registered client_id and its client_secret",
      // Not quoted: a caller that swaps the two fields sends the secret as client_id.
      actual: account === undefined ? "a client_id that is not registered" : "another client_secret",
    };
  }
  const now = clock();
  const { tenantId, clientId, scopes } = account;
  const expiresAt = now + settings.tokenLifetimeSeconds * 1000;
  const token = { variant: "B", tenantId, clientId, scopes, expiresAt } as const;
  return { tenantId, accessToken: accessTokens.mint(token, expiresAt, now) };
}

function authenticateClient(
  { apiClients, switches }: Deployment,
  { client_id, client_secret }: ClientRequest,
): ApiClient | Refusal {
  const client = apiClients.find(client_id);
  const isTheirs = apiClients.authenticate(client_id, client_secret) !== undefined;
  if (client !== undefined && (isTheirs || !switches.isEnforced("api-client.authentication"))) return client;
  const secret = client_secret === undefined ? "no client_secret" : "another client_secret";
  const sent = client?.secretDigest === undefined ? "a client_secret, of a public client" : secret;
  return {
    rule: "api-client.authentication",
    expected: client?.secretDigest === undefined ? "a registered client_id" : "the client's client_secret",
    actual: client === undefined ? "a client_id that is not registered" : sent,
  };
}

/** The path has no tenant, so the log shows the tenant of the code, of the refresh token, or of the client. */
function callerOf(
  { serviceAccounts, apiClients, authorizationCodes, authorizations, refreshTokens }: Deployment,
  request: ClientRequest,
): { tenantId?: string | undefined; clientId?: string | undefined } {
  if (request.grant === "client_credentials") {
    const account = serviceAccounts.find(request.client_id);
    return { tenantId: account?.tenantId, clientId: account?.clientId };
  }
  const client = apiClients.find(request.client_id);
  const person =
    request.grant === "refresh_token"
      ? authorizations.find(refreshTokens.find(request.refresh_token)?.authorizationId ?? "")
      : authorizationCodes.find(request.code);
  return { tenantId: person?.tenantId ?? client?.tenantId, clientId: client?.clientId };
}
