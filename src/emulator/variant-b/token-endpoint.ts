// Variant B's token endpoint: it takes JSON and answers an access token, with a refresh token if a
// person logged in.
import { z } from "zod";
import { NOT_STORED, parseObject } from "../http/messages.js";
import type { Exchange } from "../http/operation.js";
import {
  type Grant,
  readTokenRequest,
  secondAuthentication,
  shownGrantType,
  wrongScope,
  wrongVerifier,
} from "../oauth.js";
import { recordTokenRequest } from "../records/flow.js";
import type { ApiClient } from "../registrations/clients.js";
import { isSecretOf, type KnownIdentity } from "../registrations/fields.js";
import {
  type Checks,
  type EmulatorRules,
  firstRefusal,
  type Refusal,
  unless,
} from "../rules/checks.js";
import { shown, shownUri } from "../rules/shown.js";
import { emulatorRules } from "../rules.js";
import type {
  Authorization,
  AuthorizationCode,
  Deployment,
  IssuedToken,
  RefreshToken,
} from "../state/deployment.js";

/**
 * Answers one POST with tokens or an error of RFC 6749 section 5.2. `grants` are those of the path:
 * "Exchange of a refresh_token ... (path and body): not shown".
 */
export async function answerClientRequest(
  { deployment, request, note }: Exchange,
  grants: readonly Grant[],
): Promise<Response> {
  const { customerLog, settings, switches } = deployment;
  const read = await readRequest(switches, request, grants);
  const answered = recordTokenRequest(deployment, read);
  const isRead = !("rule" in read);
  const caller = isRead ? callerOf(deployment, read) : {};
  if (isRead) Object.assign(note, { grant: read.grant, ...caller });
  const outcome = isRead ? grantTokens(deployment, read) : read;
  if ("rule" in outcome) {
    // Errors are not shown. By default they have the shape of RFC 6749 section 5.2 and quote the
    // rule.
    const { answer, says } = emulatorRules[outcome.rule];
    const status = settings.clientErrorStatus ?? answer.status;
    customerLog.record(caller, { ...outcome, answer: { ...answer, status } });
    const standard = { error: answer.error, error_description: `Refused by the rule: ${says}` };
    const body = settings.clientErrorBody ?? standard;
    return answered(Response.json(body, { status, headers: NOT_STORED }), outcome.rule);
  }
  const tokens = { ...outcome, ...settings.tokenResponseExtras };
  return answered(Response.json(tokens, { status: settings.successStatus, headers: NOT_STORED }));
}

const text = z.string().min(1);
const client = { client_id: text, client_secret: text.optional() };
// Whether a code exchange carries a secret is not shown; here a confidential client must send one.
const exchange = { ...client, code: text, code_verifier: text, redirect_uri: text };
// The fields of a refresh are not shown; these are those of RFC 6749 section 6.
const refreshing = { ...client, refresh_token: text, scope: text.optional() };
const schemas = {
  client_credentials: z.object({
    ...client,
    client_secret: text,
    grant: z.literal("client_credentials"),
  }),
  authorization_code: z.object({ ...exchange, grant: z.literal("authorization_code") }),
  refresh_token: z.object({ ...refreshing, grant: z.literal("refresh_token") }),
};

/** The fields of section 4.2 under their names on the wire. */
type CodeExchange = z.output<typeof schemas.authorization_code>;
type RefreshRequest = z.output<typeof schemas.refresh_token>;
type ClientRequest = z.output<typeof schemas.client_credentials> | CodeExchange | RefreshRequest;

async function readRequest(
  switches: EmulatorRules,
  request: Request,
  grants: readonly Grant[],
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
  const grant = grantOf(fields, grants);
  if (typeof grant !== "string") return grant;
  const parsed = schemas[grant].safeParse({ ...fields, grant });
  if (parsed.success) return parsed.data;
  const faulty = [...new Set(parsed.error.issues.map(({ path }) => String(path[0])))].join(", ");
  const expected = Object.keys(schemas[grant].shape).filter((name) => name !== "grant");
  const actual = `absent, empty or not a string: ${faulty}`;
  return { rule: "client-request.fields", expected: expected.join(", "), actual };
}

function grantOf(
  fields: Readonly<Record<string, unknown>>,
  grants: readonly Grant[],
): Grant | Refusal {
  // The code exchange of section 4.2 shows no grant_type; a request that names it is accepted as
  // well.
  const exchange = fields.code === undefined ? undefined : "authorization_code";
  const named = fields.grant_type ?? (grants.length === 1 ? grants[0] : exchange);
  const grant = grants.find((one) => one === named);
  if (grant !== undefined) return grant;
  const actual = shownGrantType(named);
  if (typeof named !== "string")
    return { rule: "client-request.fields", expected: "a grant_type", actual };
  return { rule: "client-request.grant-type", expected: "a grant of this path", actual };
}

/**
 * "a JSON object with access_token (string). For the code exchange it also carries refresh_token
 * (string). Other response fields: not shown" (section 4.2): the option `tokenResponseExtras` adds
 * others.
 */
interface IssuedTokens {
  readonly access_token: string;
  /** If undefined, the old one stays valid, or the grant has none. */
  readonly refresh_token?: string | undefined;
}

function grantTokens(deployment: Deployment, request: ClientRequest): IssuedTokens | Refusal {
  const { apiClients, serviceAccounts, switches } = deployment;
  const { client_id } = request;
  if (request.grant === "client_credentials") {
    const account = serviceAccounts.find(client_id);
    const caller = authenticate(switches, "client.authentication", account, request);
    if ("rule" in caller) return caller;
    const { tenantId, clientId, scopes } = caller;
    return { access_token: mintAccessToken(deployment, { tenantId, clientId, scopes }) };
  }
  const rule = "api-client.authentication";
  const client = authenticate(switches, rule, apiClients.find(client_id), request);
  if ("rule" in client) return client;
  return request.grant === "refresh_token"
    ? refresh(deployment, client, request)
    : exchangeCode(deployment, client, request);
}

/** Returns the registered client if its secret was sent; a public client must send none. */
function authenticate<Client extends { readonly secretDigest: Buffer | undefined }>(
  switches: EmulatorRules,
  rule: "client.authentication" | "api-client.authentication",
  client: Client | undefined,
  { client_secret }: ClientRequest,
): Client | Refusal {
  // It is not quoted, because a caller that swaps the two fields sends the secret as client_id.
  const expected = "a registered client_id";
  if (client === undefined) return { rule, expected, actual: "a client_id that is not registered" };
  const { secretDigest } = client;
  const isTheirs = secretDigest
    ? isSecretOf(secretDigest, client_secret ?? "")
    : client_secret === undefined;
  if (isTheirs || !switches.isEnforced(rule)) return client;
  const sent = client_secret === undefined ? "no client_secret" : "another client_secret";
  return secretDigest === undefined
    ? { rule, expected: "no client_secret, since the client is public", actual: "a client_secret" }
    : { rule, expected: "the client's client_secret", actual: sent };
}

/**
 * The path has no tenant, so it is that of the code, of the refresh token, or of the client, if
 * that is registered.
 */
export function callerOf(
  { serviceAccounts, apiClients, authorizationCodes, authorizations, refreshTokens }: Deployment,
  request: Readonly<Record<string, unknown>>,
): KnownIdentity {
  const text = (name: string) => (typeof request[name] === "string" ? request[name] : "");
  const client = serviceAccounts.find(text("client_id")) ?? apiClients.find(text("client_id"));
  const refreshed = refreshTokens.find(text("refresh_token"));
  const login =
    authorizationCodes.find(text("code")) ?? authorizations.find(refreshed?.authorizationId);
  return { tenantId: login?.tenantId ?? client?.tenantId, clientId: client?.clientId };
}

interface CodeAttempt {
  readonly code: AuthorizationCode;
  readonly request: CodeExchange;
  readonly now: number;
}

const codeChecks: Checks<CodeAttempt> = {
  "client-code.client": ({ code, request }) =>
    unless(
      code.clientId === request.client_id,
      "a code of this client",
      "a code of another client",
    ),
  "client-code.unspent": ({ code }) =>
    unless(
      code.authorizationId === undefined,
      "a code not yet exchanged",
      "a code that was exchanged",
    ),
  "client-code.lifetime": ({ code: { expiresAt }, now }) =>
    unless(
      now <= expiresAt,
      "a code within its lifetime",
      `it ended ${(now - expiresAt) / 1000} s ago`,
    ),
  "client-code.redirect-uri": ({ code: { redirectUri }, request: { redirect_uri } }) =>
    unless(redirectUri === redirect_uri, shown(redirectUri), shownUri(redirect_uri)),
  "client-code.verifier": ({ code, request }) =>
    wrongVerifier(request.code_verifier, code.codeChallenge),
};

/**
 * This is synchronous, so that exactly one of concurrent exchanges of a code is first. A failed
 * attempt does not spend the code, because the description says so only for Variant A.
 */
function exchangeCode(
  deployment: Deployment,
  client: ApiClient,
  request: CodeExchange,
): IssuedTokens | Refusal {
  const { clock, authorizationCodes, authorizations, settings, switches } = deployment;
  const now = clock();
  const code = authorizationCodes.find(request.code);
  if (code === undefined) {
    const actual = "a code that was not handed out";
    return {
      rule: "client-code.known",
      expected: "a code from the authorization endpoint",
      actual,
    };
  }
  const refusal = firstRefusal(switches, codeChecks, { code, request, now });
  if (refusal !== undefined) {
    // RFC 6749 section 4.1.2: "SHOULD revoke (when possible) all tokens previously issued based on
    // that code".
    const isReuse = refusal.rule === "client-code.unspent";
    if (isReuse) authorizations.change(code.authorizationId, { revoked: true });
    return refusal;
  }
  const { tenantId, userId, scopes } = code;
  const expiresAt = now + settings.refreshTokens.lifetimeSeconds * 1000;
  const granted = { tenantId, clientId: client.clientId, userId, scopes };
  const authorizationId = authorizations.mint({ ...granted, revoked: false, expiresAt });
  // The code is spent from here on, which stays known as long as its login.
  authorizationCodes.change(request.code, { authorizationId, keptUntil: expiresAt });
  return {
    access_token: mintAccessToken(deployment, { ...granted, authorizationId }),
    refresh_token: mintRefreshToken(deployment, authorizationId, expiresAt),
  };
}

interface RefreshAttempt {
  readonly token: RefreshToken;
  readonly authorization: Authorization;
  readonly request: RefreshRequest;
  readonly now: number;
}

const refreshChecks: Checks<RefreshAttempt> = {
  "refresh.client": ({ authorization: { clientId }, request }) =>
    unless(
      clientId === request.client_id,
      "a refresh token of this client",
      "one of another client",
    ),
  "refresh.revoked": ({ authorization }) =>
    unless(!authorization.revoked, "what the person allowed", "it was revoked"),
  "refresh.reuse": ({ token }) =>
    unless(!token.rotated, "the newest refresh token", "one that was rotated"),
  "refresh.lifetime": ({ authorization: { expiresAt }, now }) =>
    unless(
      now < expiresAt,
      "a login that is not over",
      `it ended ${(now - expiresAt) / 1000} s ago`,
    ),
  "refresh.idle": ({ token: { idleAt }, now }) =>
    unless(
      now < idleAt,
      "a recently used refresh token",
      `idle for ${(now - idleAt) / 1000} s too long`,
    ),
  "refresh.scope": ({ authorization, request }) => wrongScope(request.scope, authorization.scopes),
};

/**
 * This is synchronous, so that exactly one of concurrent uses of a rotating refresh token is first.
 */
function refresh(
  deployment: Deployment,
  client: ApiClient,
  request: RefreshRequest,
): IssuedTokens | Refusal {
  const { clock, authorizations, refreshTokens, settings, switches } = deployment;
  const { rotation, reuseDetection, idleSeconds } = settings.refreshTokens;
  const now = clock();
  const token = refreshTokens.find(request.refresh_token);
  const authorization = authorizations.find(token?.authorizationId);
  if (token === undefined || authorization === undefined) {
    const expected = `a refresh token of ${shown(client.clientId)}`;
    return { rule: "refresh.known", expected, actual: "a refresh token that was not issued" };
  }
  const { authorizationId } = token;
  const refusal = firstRefusal(switches, refreshChecks, { token, authorization, request, now });
  if (refusal !== undefined) {
    // One of its two users stole it, and the server cannot know which (RFC 9700 section 4.14.2).
    const isTheft = refusal.rule === "refresh.reuse" && reuseDetection;
    if (isTheft) authorizations.change(authorizationId, { revoked: true });
    return refusal;
  }
  const idleAt = now + idleSeconds * 1000;
  refreshTokens.change(request.refresh_token, { rotated: rotation, idleAt });
  const { tenantId, clientId, userId } = authorization;
  // Narrows the grant for this access token alone (RFC 6749 section 6).
  const scopes =
    request.scope === undefined ? authorization.scopes : new Set(request.scope.split(" "));
  const granted = { tenantId, clientId, userId, authorizationId, scopes };
  return {
    access_token: mintAccessToken(deployment, granted),
    refresh_token: rotation
      ? mintRefreshToken(deployment, authorizationId, authorization.expiresAt)
      : undefined,
  };
}

/** Mints a token of Variant B for an account or, with `authorizationId`, for a person. */
function mintAccessToken(
  { accessTokens, clock, settings }: Deployment,
  granted: Omit<IssuedToken, "variant" | "expiresAt">,
): string {
  const expiresAt = clock() + settings.tokenLifetimeSeconds * 1000;
  return accessTokens.mint({ variant: "B", ...granted, expiresAt });
}

function mintRefreshToken(
  { clock, refreshTokens, settings }: Deployment,
  authorizationId: string,
  expiresAt: number,
): string {
  const idleAt = clock() + settings.refreshTokens.idleSeconds * 1000;
  return refreshTokens.mint({ authorizationId, rotated: false, idleAt, expiresAt });
}
