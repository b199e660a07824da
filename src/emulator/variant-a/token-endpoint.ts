// Variant A's token endpoint: the rules in their order of precedence, then a token; every refusal is opaque.
import { answerTo, type Check, firstRefusal, type Refusal } from "../checks.js";
import { recordTokenRequest } from "../flow/flow.js";
import { type JsonAnswer, jsonAnswer, NOT_STORED } from "../http/messages.js";
import type { RequestNote } from "../journal.js";
import { asGrant, shownGrantType } from "../oauth.js";
import { TOKEN_PATH_A } from "../paths.js";
import type { Operator } from "../registrations/operators.js";
import type { Plugin } from "../registrations/plugins.js";
import { isMadeUpId, shown, shownClientId, shownUri } from "../shown.js";
import type { Deployment, RetryAfter } from "../state.js";
import { checkAssertion } from "./assertion.js";
import { checkCode, type PresentedCode, presentCode } from "./code.js";
import { type MalformedRequest, readTokenRequest, type TokenRequest } from "./token-request.js";

const CLIENT_ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/** "error_description is always the same fixed text" (description, section 7.1). */
const FIXED_DESCRIPTION = "The token request was rejected";
/** "Wrong grant for the plugin type" (section 7.1). */
const GRANT_OF_TYPE = { service: "client_credentials", user_interface: "authorization_code" } as const;

/** Answers one POST: 200, 429, or 400 with the opaque body. */
export async function answerTokenRequest(
  deployment: Deployment,
  tenantId: string,
  request: Request,
  note: RequestNote,
): Promise<JsonAnswer> {
  const limited = checkRate(deployment, tenantId);
  if (limited !== undefined) return limited;
  const read = await readTokenRequest(deployment.switches, request);
  const answered = recordTokenRequest(deployment, read);
  if (!("refusal" in read)) {
    note.clientId = deployment.plugins.find(tenantId, read.clientId ?? "")?.clientId;
    note.grant = asGrant(read.grantType);
  }
  const outcome =
    "refusal" in read ? refuseMalformed(deployment, read) : grantToken(deployment, tenantId, read);
  if (!("rule" in outcome)) return answered(outcome);
  const refusal = withConfiguredError(deployment, outcome);
  const clientId = note.clientId ?? madeUpId(read);
  deployment.customerLog.record(deployment.clock(), { tenantId, clientId }, refusal);
  return answered(refusalAnswer(deployment, refusal), refusal.rule);
}

/** "Per tenant, on the token endpoint; sliding window" (section 8): takes a slot, or answers 429 with an empty body. */
function checkRate(
  { clock, customerLog, rateLimit, switches }: Deployment,
  tenantId: string,
): JsonAnswer | undefined {
  if (rateLimit === undefined || !switches.isEnforced("token-request.rate-limit")) return undefined;
  const now = clock();
  const freesAt = rateLimit.window.take(tenantId, now);
  if (freesAt === undefined) return undefined;
  const finding = {
    expected: "a free slot in the tenant's window",
    actual: `one frees in ${freesAt - now} ms`,
  };
  customerLog.record(now, { tenantId }, { rule: "token-request.rate-limit", ...finding });
  const retryAfter = retryAfterHeader(freesAt, now, rateLimit.retryAfter);
  return {
    status: 429,
    headers: { ...NOT_STORED, ...(retryAfter && { "retry-after": retryAfter }) },
    body: "",
  };
}

/** Rounded up to whole seconds, so that a client that waits as long is admitted. */
function retryAfterHeader(freesAt: number, now: number, format: RetryAfter): string | undefined {
  if (format === "seconds") return String(Math.ceil((freesAt - now) / 1000));
  if (format === "date") return new Date(Math.ceil(freesAt / 1000) * 1000).toUTCString();
  return undefined;
}

/** A malformed attempt spends its code, as one with a refused assertion does: neither authenticates a plugin. */
function refuseMalformed(deployment: Deployment, { refusal, codes }: MalformedRequest): Refusal {
  if (deployment.settings.unauthenticatedAttemptSpendsCode) {
    for (const code of codes) presentCode(deployment, code);
  }
  return refusal;
}

const checks: readonly Check<TokenRequest>[] = [
  {
    rule: "token-request.grant-type",
    find: ({ grantType }) =>
      grantType === "client_credentials" || grantType === "authorization_code"
        ? undefined
        : { expected: "client_credentials or authorization_code", actual: shownGrantType(grantType) },
  },
  {
    rule: "token-request.assertion-type",
    find: ({ clientAssertionType }) =>
      clientAssertionType === CLIENT_ASSERTION_TYPE
        ? undefined
        : { expected: CLIENT_ASSERTION_TYPE, actual: shownUri(clientAssertionType) },
  },
  {
    rule: "token-request.client-id",
    find: ({ clientId }) =>
      clientId === undefined ? { expected: "a client_id", actual: "absent" } : undefined,
  },
];

function grantToken(deployment: Deployment, tenantId: string, request: TokenRequest): JsonAnswer | Refusal {
  const { publicUrl, settings, switches } = deployment;
  const code = request.grantType === "authorization_code" ? request.code : undefined;
  // Before any rule, because an attempt that fails for any reason spends the code too.
  const early = settings.unauthenticatedAttemptSpendsCode ? presentCode(deployment, code) : undefined;
  const malformed = firstRefusal(switches, checks, request);
  if (malformed !== undefined) return malformed;
  const plugin = findPlugin(deployment, tenantId, request.clientId);
  if ("rule" in plugin) return plugin;
  // From the configuration and the route, never from the Host header, which a client chooses.
  const tokenUrl = publicUrl() + TOKEN_PATH_A.replace("{tenantId}", tenantId);
  const refusal = checkAssertion(request.clientAssertion, { plugin, tokenUrl, deployment });
  if (refusal !== undefined) return refusal;
  const presented = settings.unauthenticatedAttemptSpendsCode ? early : presentCode(deployment, code);
  return checkGrantType(deployment, request, plugin) ?? mint(deployment, plugin, request, presented);
}

function findPlugin(
  { plugins, switches }: Deployment,
  tenantId: string,
  clientId: string | undefined,
): Plugin | Refusal {
  const plugin = plugins.find(tenantId, clientId ?? "");
  if (plugin === undefined) {
    const actual = shownClientId(clientId);
    return { rule: "plugin.registered", expected: "a registered plugin", actual };
  }
  if (plugin.enabled) return plugin;
  return switches.refusal("plugin.enabled", { expected: "enabled", actual: "disabled" }) ?? plugin;
}

function checkGrantType(
  { switches }: Deployment,
  { grantType }: TokenRequest,
  { type }: Plugin,
): Refusal | undefined {
  if (grantType === GRANT_OF_TYPE[type]) return undefined;
  const expected = `${GRANT_OF_TYPE[type]} (type ${type})`;
  return switches.refusal("plugin.grant", { expected, actual: shown(grantType) });
}

function mint(
  deployment: Deployment,
  plugin: Plugin,
  request: TokenRequest,
  presented: PresentedCode | undefined,
): JsonAnswer | Refusal {
  const { accessTokens, clock, operators, settings } = deployment;
  let operator: Operator | undefined;
  if (request.grantType === "authorization_code") {
    const code = checkCode(deployment, presented, plugin, request);
    if ("rule" in code) return code;
    operator = operators.find(code.tenantId, code.userId);
    if (operator === undefined) {
      const actual = "a code of an operator who was unregistered";
      return { rule: "code.known", expected: "a code from the host", actual };
    }
  }
  const now = clock();
  const { tenantId, clientId, grant } = plugin;
  const issued = { tenantId, clientId, userId: operator?.userId, scopes: grant.scopes };
  const expiresAt = now + settings.tokenLifetimeSeconds * 1000;
  const token = accessTokens.mint({ variant: "A", ...issued, expiresAt }, expiresAt, now);
  return tokenAnswer(deployment, plugin, operator, token);
}

/** The shape of section 2.3: `user` is "absent for a service plugin", and the roles are the caller's. */
function tokenAnswer(
  { settings }: Deployment,
  plugin: Plugin,
  operator: Operator | undefined,
  accessToken: string,
): JsonAnswer {
  const user = operator && {
    userId: operator.userId,
    firstname: operator.firstname,
    lastname: operator.lastname,
  };
  const roles = operator?.roles ?? plugin.roles;
  const body = {
    access_token: accessToken,
    token_type: "Bearer",
    expires_in: settings.tokenLifetimeSeconds,
    ...(settings.revoShape === "nested"
      ? { revo: { tenant: plugin.tenantId, user, roles } }
      : { "revo.tenant": plugin.tenantId, "revo.user": user, "revo.roles": roles }),
  };
  return jsonAnswer(body, { headers: NOT_STORED });
}

/** Reports nothing but the error code: the reason is for the customer's log. */
function refusalAnswer({ settings }: Deployment, refusal: Refusal): JsonAnswer {
  const { status, error } = answerTo(refusal);
  const error_description = FIXED_DESCRIPTION + (settings.fixedTextFullStop ? "." : "");
  return jsonAnswer({ error, error_description }, { status, headers: NOT_STORED });
}

/** The refusal with the error that the option `refusedPluginError` chooses. */
function withConfiguredError({ settings }: Deployment, refusal: Refusal): Refusal {
  if (refusal.rule !== "plugin.registered" && refusal.rule !== "plugin.enabled") return refusal;
  return { ...refusal, answer: { ...answerTo(refusal), error: settings.refusedPluginError } };
}

/** The client_id of a plugin that is not registered, so that the log can be searched for one that is to be registered. */
function madeUpId(read: TokenRequest | MalformedRequest): string | undefined {
  if ("refusal" in read || read.clientId === undefined) return undefined;
  return isMadeUpId(read.clientId) ? read.clientId : undefined;
}
