// Variant A's token endpoint: it checks the rules in order, then issues a token. Every refusal is
// opaque.

import { NOT_STORED, parseObject, readBody } from "../http/messages.js";
import type { Arrival } from "../http/operation.js";
import { TOKEN_PATH_A } from "../http/paths.js";
import {
  asGrant,
  readTokenRequest,
  repeatedParameter,
  secondAuthentication,
  shownGrantType,
} from "../oauth.js";
import { recordTokenRequest } from "../records/flow.js";
import type { Operator } from "../registrations/operators.js";
import type { Plugin } from "../registrations/plugins.js";
import { answerTo, type Checks, firstRefusal, type Refusal, unless } from "../rules/checks.js";
import { isMadeUpId, shown, shownClientId, shownUri } from "../rules/shown.js";
import type { RuleId } from "../rules.js";
import type { Deployment } from "../state/deployment.js";
import { checkAssertion } from "./assertion.js";
import { codeChecks, type LaunchCode } from "./launch-codes.js";

const CLIENT_ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/** What the client sends to find out whether Variant A is served. */
const PROBE_GRANT = "bivariant-detect";
/** "error_description is always the same fixed text" (description, section 7.1). */
const FIXED_DESCRIPTION = "The token request was rejected";
/** "Wrong grant for the plugin type" (section 7.1). */
const GRANT_OF_TYPE = {
  service: "client_credentials",
  user_interface: "authorization_code",
} as const;

/** Answers one POST with a token, 429, or 400 and the opaque body. */
export async function answerTokenRequest({
  deployment,
  request,
  note,
  parameters: { tenantId = "" },
}: Arrival): Promise<Response> {
  const { customerLog, plugins, settings } = deployment;
  const limited = checkRate(deployment, tenantId);
  if (limited !== undefined) {
    if (settings.rateLimitedAttemptSpendsCode) spendAll(deployment, await readFields(request));
    return limited;
  }
  const read = await readForm(deployment, request);
  const answered = recordTokenRequest(deployment, read);
  if (!("rule" in read)) {
    note.clientId = plugins.find(tenantId, read.client_id ?? "")?.clientId;
    note.grant = asGrant(read.grant_type);
    if (read.grant_type === PROBE_GRANT) note.detectionProbe = true;
  }
  const granted = "rule" in read ? read : grantToken(deployment, tenantId, read);
  if (!("rule" in granted)) return answered(granted);
  const answer = { status: 400, error: settings.malformedError };
  const refusal = isMalformed(read, granted.rule) ? { ...granted, answer } : granted;
  // An unregistered client_id is logged too, so that the refusals of a plugin are found before its
  // registration.
  const unregisteredId =
    "rule" in read || !isMadeUpId(read.client_id ?? "") ? undefined : read.client_id;
  customerLog.record({ tenantId, clientId: note.clientId ?? unregisteredId }, refusal);
  const { status, error } = answerTo(refusal);
  const error_description = FIXED_DESCRIPTION + (settings.fixedTextFullStop ? "." : "");
  return answered(
    Response.json({ error, error_description }, { status, headers: NOT_STORED }),
    refusal.rule,
  );
}

/** The field whose absence breaks the rule. */
const MISSING: Partial<Record<RuleId, keyof TokenRequest>> = {
  "token-request.client-id": "client_id",
  "assertion.present": "client_assertion",
  "code.known": "code",
  "code.verifier": "code_verifier",
};

/** Whether the request cannot be read or lacks a field, for which section 7.1 names no error. */
function isMalformed(read: TokenRequest | Refusal, rule: RuleId): boolean {
  const missing = MISSING[rule];
  return "rule" in read || (missing !== undefined && read[missing] === undefined);
}

/**
 * "Per tenant, on the token endpoint; sliding window" (section 8): takes a slot, or answers 429
 * with an empty body.
 */
function checkRate(deployment: Deployment, tenantId: string): Response | undefined {
  const { clock, customerLog, switches } = deployment;
  const { rateLimit } = deployment.settings;
  if (rateLimit === false || !switches.isEnforced("token-request.rate-limit")) return undefined;
  const now = clock();
  const freesAt = deployment.rateWindows.takeSlot(tenantId, rateLimit, now);
  if (freesAt === undefined) return undefined;
  const actual = `one frees in ${freesAt - now} ms`;
  const finding = { expected: "a free slot in the tenant's window", actual };
  customerLog.record({ tenantId }, { rule: "token-request.rate-limit", ...finding });
  // Rounded up to whole seconds, so that a client that waits that long is admitted.
  const date = new Date(Math.ceil(freesAt / 1000) * 1000).toUTCString();
  const value = rateLimit.retryAfter === "date" ? date : String(Math.ceil((freesAt - now) / 1000));
  const retryAfter = rateLimit.retryAfter !== false && { "retry-after": value };
  return new Response(null, {
    status: 429,
    headers: { ...NOT_STORED, "content-length": "0", ...retryAfter },
  });
}

const formChecks: Checks<{ readonly form: URLSearchParams; readonly request: Request }> = {
  "token-request.duplicate-parameter": ({ form }) => repeatedParameter(form),
  "token-request.one-authentication": ({ form, request }) =>
    secondAuthentication(
      request,
      "the assertion alone",
      "client_secret",
      form.get("client_secret") ?? "",
    ),
};

/** The fields of section 4.1. */
const FIELDS = [
  "grant_type",
  "client_id",
  "code",
  "code_verifier",
  "client_assertion_type",
  "client_assertion",
] as const;
type TokenRequest = Readonly<Record<(typeof FIELDS)[number], string | undefined>>;

async function readForm(deployment: Deployment, request: Request): Promise<TokenRequest | Refusal> {
  const { settings, switches } = deployment;
  const body = await readTokenRequest(switches, request, "token-request");
  const form = "rule" in body ? await readFields(request) : new URLSearchParams(body.text);
  const refusal = "rule" in body ? body : firstRefusal(switches, formChecks, { form, request });
  if (refusal === undefined) {
    // RFC 6749 section 3.2: "Parameters sent without a value MUST be treated as if they were
    // omitted".
    return Object.fromEntries(
      FIELDS.map((name) => [name, form.get(name) || undefined]),
    ) as TokenRequest;
  }
  // A malformed attempt spends its code, because it authenticates no plugin, like one with a
  // refused assertion. All values of a repeated parameter count, because a server with other rules
  // could exchange any of them.
  const isExchange = form.getAll("grant_type").includes("authorization_code");
  if (isExchange && settings.unauthenticatedAttemptSpendsCode) spendAll(deployment, form);
  return refusal;
}

/**
 * Reads the fields of a body that was not read, because its type or the rate limit refused it. It
 * may be JSON, as in Variant B, because some clients try one encoding after the other.
 */
async function readFields(request: Request): Promise<URLSearchParams> {
  const body = await readBody(request);
  const text = "text" in body ? body.text : "";
  const isText = (field: [string, unknown]): field is [string, string] =>
    typeof field[1] === "string";
  const json = parseObject(text);
  return new URLSearchParams(json === undefined ? text : Object.entries(json).filter(isText));
}

function spendAll({ launchCodes }: Deployment, form: URLSearchParams): void {
  for (const code of form.getAll("code")) launchCodes.change(code, { spent: true });
}

const requestChecks: Checks<TokenRequest> = {
  "token-request.grant-type": ({ grant_type }) =>
    unless(
      grant_type === "client_credentials" || grant_type === "authorization_code",
      "client_credentials or authorization_code",
      shownGrantType(grant_type),
    ),
  "token-request.assertion-type": ({ client_assertion_type: type }) =>
    type === CLIENT_ASSERTION_TYPE
      ? undefined
      : { expected: CLIENT_ASSERTION_TYPE, actual: shownUri(type) },
  "token-request.client-id": ({ client_id }) =>
    unless(client_id !== undefined, "a client_id", "absent"),
};

function grantToken(
  deployment: Deployment,
  tenantId: string,
  request: TokenRequest,
): Response | Refusal {
  const { launchCodes, publicUrl, settings, switches } = deployment;
  const code = request.grant_type === "authorization_code" ? request.code : undefined;
  // "The code is spent on the first exchange attempt, whether that attempt succeeds or fails"
  // (section 3). This is synchronous, so that exactly one of concurrent attempts finds the code
  // unspent.
  const spend = () => launchCodes.change(code, { spent: true });
  // This comes before every rule, because an attempt that fails for any reason spends the code too.
  const early = settings.unauthenticatedAttemptSpendsCode ? spend() : undefined;
  const malformed = firstRefusal(switches, requestChecks, request);
  if (malformed !== undefined) return malformed;
  const plugin = findPlugin(deployment, tenantId, request.client_id);
  if ("rule" in plugin) return plugin;
  // The URL never comes from the Host header, because a client chooses that.
  const tokenUrl = publicUrl() + TOKEN_PATH_A.replace("{tenantId}", tenantId);
  const refusal = checkAssertion(deployment, plugin, tokenUrl, request.client_assertion);
  if (refusal !== undefined) return refusal;
  const presented = early ?? spend();
  const { type } = plugin;
  if (request.grant_type !== GRANT_OF_TYPE[type]) {
    const finding = {
      expected: `${GRANT_OF_TYPE[type]} (type ${type})`,
      actual: shown(request.grant_type),
    };
    const wrongGrant = switches.refusal("plugin.grant", finding);
    if (wrongGrant !== undefined) return wrongGrant;
  }
  if (request.grant_type === "client_credentials") return issueToken(deployment, plugin, undefined);
  const operator = redeemCode(deployment, plugin, request, presented);
  return "rule" in operator ? operator : issueToken(deployment, plugin, operator);
}

function findPlugin(
  { plugins, settings, switches }: Deployment,
  tenantId: string,
  clientId: string | undefined,
): Plugin | Refusal {
  const plugin = plugins.find(tenantId, clientId ?? "");
  const answer = { status: 400, error: settings.refusedPluginError };
  if (plugin === undefined) {
    const actual = shownClientId(clientId);
    return { rule: "plugin.registered", expected: "a registered plugin", actual, answer };
  }
  if (plugin.enabled || !switches.isEnforced("plugin.enabled")) return plugin;
  return { rule: "plugin.enabled", expected: "enabled", actual: "disabled", answer };
}

/** Returns the operator who launched the plugin, if the plugin may have a token for the code. */
function redeemCode(
  { clock, operators, switches }: Deployment,
  plugin: Plugin,
  request: TokenRequest,
  code: LaunchCode | undefined,
): Operator | Refusal {
  const unknown = { rule: "code.known", expected: "a code from the host" } as const;
  if (code === undefined) {
    return {
      ...unknown,
      actual: request.code === undefined ? "absent" : "a code that was not handed out",
    };
  }
  const attempt = { code, at: clock(), plugin, verifier: request.code_verifier };
  const { tenantId, userId } = code;
  const refusal = firstRefusal(switches, codeChecks, attempt);
  return (
    refusal ??
    operators.find(tenantId, userId) ?? { ...unknown, actual: "a code of a former operator" }
  );
}

/** Has the same digits as a number. */
const WHOLE_NUMBER = /^(0|[1-9]\d{0,14})$/;

/**
 * The answer has the shape of section 2.3: `user` is "absent for a service plugin", and the roles
 * are the caller's.
 */
function issueToken(
  { accessTokens, clock, settings }: Deployment,
  plugin: Plugin,
  operator: Operator | undefined,
): Response {
  const { tenantId, clientId, grant } = plugin;
  const { userId, firstname, lastname, roles = plugin.roles } = operator ?? {};
  const issued = { tenantId, clientId, userId, scopes: grant.scopes };
  const expiresAt = clock() + settings.tokenLifetimeSeconds * 1000;
  const isNumber = settings.userIdType === "number" && WHOLE_NUMBER.test(userId ?? "");
  const user = operator && { userId: isNumber ? Number(userId) : userId, firstname, lastname };
  const body = {
    access_token: accessTokens.mint({ variant: "A", ...issued, expiresAt }),
    token_type: "Bearer",
    expires_in: settings.tokenLifetimeSeconds,
    ...(settings.revoShape === "nested"
      ? { revo: { tenant: tenantId, user, roles } }
      : { "revo.tenant": tenantId, "revo.user": user, "revo.roles": roles }),
  };
  return Response.json(body, { status: settings.successStatus, headers: NOT_STORED });
}
