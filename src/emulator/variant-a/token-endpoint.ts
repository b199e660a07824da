// Variant A's token endpoint: every rule in its order of precedence, then a token.
import type { Deployment } from "../deployment.js";
import { asGrant } from "../grant.js";
import type { RequestNote } from "../journal.js";
import type { Refusal } from "../refusal.js";
import type { Operator } from "../registrations/operators.js";
import type { Plugin } from "../registrations/plugin.js";
import { shown } from "../shown.js";
import { checkAssertion } from "./assertion/check-assertion.js";
import { checkCode, type PresentedCode, presentCode } from "./check-code.js";
import { readTokenRequest, type TokenRequest } from "./read-token-request.js";
import { rateLimitAnswer, refusalAnswer, tokenAnswer } from "./token-answers.js";

/** Description, section 4.1. */
export const TOKEN_PATH_A = "/api/v1/{tenantId}/external-plugin/oauth/token";

const CLIENT_ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/** "Wrong grant for the plugin type" (description, section 7.1). */
const GRANT_OF_TYPE = { service: "client_credentials", user_interface: "authorization_code" };

/** Answers one POST: 200, 429, or 400 with the opaque body, never anything else. */
export async function answerTokenRequest(
  deployment: Deployment,
  tenantId: string,
  request: Request,
  note: RequestNote,
): Promise<Response> {
  const { clock, customerLog, rateLimit } = deployment;
  const freesAt = rateLimit?.window.take(tenantId, clock());
  if (rateLimit !== undefined && freesAt !== undefined) {
    const now = clock();
    const waited = {
      expected: "a free slot in the tenant's window",
      actual: `one frees in ${freesAt - now} ms`,
    };
    customerLog.record(now, { tenantId }, { rule: "token-request.rate-limit", ...waited });
    return rateLimitAnswer(freesAt, now, rateLimit.retryAfter);
  }
  const read = await readTokenRequest(request);
  if (!("rule" in read)) noteCaller(deployment, tenantId, read, note);
  const outcome = "rule" in read ? read : await grant(deployment, tenantId, read);
  if (outcome instanceof Response) return outcome;
  const clientId = "rule" in read ? undefined : read.clientId;
  customerLog.record(clock(), { tenantId, clientId }, outcome);
  return refusalAnswer(outcome);
}

function noteCaller(
  { plugins }: Deployment,
  tenantId: string,
  { clientId, grantType }: TokenRequest,
  note: RequestNote,
): void {
  note.clientId = plugins.find(tenantId, clientId ?? "")?.clientId;
  note.grant = asGrant(grantType);
}

/** The rules that follow the form's: whoever asks, the assertion, and what it is asked for. */
async function grant(
  deployment: Deployment,
  tenantId: string,
  request: TokenRequest,
): Promise<Response | Refusal> {
  // Before any rule: an attempt that fails for whatever reason spends the code too.
  const presented = presentCode(deployment, request);
  const early = checkBeforeAssertion(request);
  if (early !== undefined) return early;
  const plugin = deployment.plugins.find(tenantId, request.clientId ?? "");
  if (plugin === undefined) {
    return { rule: "plugin.registered", expected: "a registered plugin", actual: shown(request.clientId) };
  }
  if (!plugin.enabled) return { rule: "plugin.enabled", expected: "enabled", actual: "disabled" };
  const refusal = await checkAssertion(request.clientAssertion, {
    plugin,
    // From the configuration and the route, never from the Host header: a client could choose that.
    tokenUrl: deployment.publicUrl() + TOKEN_PATH_A.replace("{tenantId}", tenantId),
    deployment,
  });
  return refusal ?? checkGrant(request, plugin) ?? answerGrant(deployment, plugin, request, presented);
}

function checkBeforeAssertion({
  grantType,
  clientAssertionType,
  clientId,
}: TokenRequest): Refusal | undefined {
  if (grantType !== "client_credentials" && grantType !== "authorization_code") {
    const expected = "client_credentials or authorization_code";
    return { rule: "token-request.grant-type", expected, actual: shown(grantType) };
  }
  if (clientAssertionType !== CLIENT_ASSERTION_TYPE) {
    const actual = shown(clientAssertionType);
    return { rule: "token-request.assertion-type", expected: CLIENT_ASSERTION_TYPE, actual };
  }
  if (clientId === undefined) {
    return { rule: "token-request.client-id", expected: "a client_id", actual: "absent" };
  }
  return undefined;
}

function checkGrant({ grantType }: TokenRequest, { type }: Plugin): Refusal | undefined {
  if (grantType === GRANT_OF_TYPE[type]) return undefined;
  return {
    rule: "plugin.grant",
    expected: `${GRANT_OF_TYPE[type]} (type ${type})`,
    actual: shown(grantType),
  };
}

function answerGrant(
  deployment: Deployment,
  plugin: Plugin,
  request: TokenRequest,
  presented: PresentedCode | undefined,
): Response | Refusal {
  if (plugin.type === "service") return mint(deployment, plugin, undefined);
  const code = checkCode(deployment, presented, plugin, request);
  if ("rule" in code) return code;
  const operator = deployment.operators.find(code.tenantId, code.userId);
  if (operator !== undefined) return mint(deployment, plugin, operator);
  return { rule: "code.known", expected: "a code of an operator", actual: "an operator who is gone" };
}

function mint(deployment: Deployment, plugin: Plugin, operator: Operator | undefined): Response {
  const now = deployment.clock();
  const { tokenLifetimeSeconds, accessTokens } = deployment;
  const { tenantId, clientId, grant } = plugin;
  const issued = { tenantId, clientId, userId: operator?.userId, scopes: grant.scopes };
  const expiresAt = now + tokenLifetimeSeconds * 1000;
  const token = accessTokens.mint({ variant: "A", ...issued, expiresAt }, now);
  return tokenAnswer(plugin, operator, token, tokenLifetimeSeconds);
}
