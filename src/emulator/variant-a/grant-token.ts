// Every rule of a well-formed token request in its order of precedence, then a token.
import { type Check, firstRefusal, type Refusal } from "../checks.js";
import { shownGrantType } from "../grant.js";
import type { JsonAnswer } from "../http/json-answer.js";
import type { Operator } from "../registrations/operators.js";
import type { Plugin } from "../registrations/plugins.js";
import { shown, shownUri } from "../shown.js";
import type { Deployment } from "../state.js";
import { checkAssertion } from "./assertion/check-assertion.js";
import { checkCode, type PresentedCode, presentCode } from "./check-code.js";
import { countedAs, isGrantType } from "./counted-as.js";
import { findPlugin, GRANT_OF_TYPE } from "./find-plugin.js";
import type { TokenRequest } from "./read-token-request.js";
import { tokenAnswer } from "./token-answers.js";

const CLIENT_ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

const checks: readonly Check<TokenRequest>[] = [
  {
    rule: "token-request.grant-type",
    find: ({ grantType }) =>
      isGrantType(grantType)
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

/** `tokenUrl` is the exact one that was posted to. */
export async function grantToken(
  deployment: Deployment,
  tenantId: string,
  request: TokenRequest,
  tokenUrl: string,
): Promise<JsonAnswer | Refusal> {
  const { switches, settings } = deployment;
  const asked = countedAs(deployment, tenantId, request);
  const isEveryAttemptOne = settings.unauthenticatedAttemptSpendsCode;
  // Before any rule: an attempt that fails for whatever reason spends the code too.
  const atOnce = isEveryAttemptOne ? presentCode(deployment, asked) : undefined;
  const early = firstRefusal(switches, checks, request);
  if (early !== undefined) return early;
  const plugin = findPlugin(deployment, tenantId, asked);
  if ("rule" in plugin) return plugin;
  const refusal = await checkAssertion(asked.clientAssertion, { plugin, tokenUrl, deployment });
  if (refusal !== undefined) return refusal;
  const gone = checkStillRegistered(deployment, plugin);
  if (gone !== undefined) return gone;
  const presented = isEveryAttemptOne ? atOnce : presentCode(deployment, asked);
  return checkGrant(deployment, asked, plugin) ?? answerGrant(deployment, plugin, asked, presented);
}

/** A token for what was unregistered while its signature was checked would outlive that. */
function checkStillRegistered({ plugins, switches }: Deployment, plugin: Plugin): Refusal | undefined {
  if (plugins.isStill(plugin)) return undefined;
  const finding = { expected: "a registered plugin", actual: "one that was unregistered meanwhile" };
  return switches.refusal("plugin.registered", finding);
}

function checkGrant(
  { switches }: Deployment,
  { grantType }: TokenRequest,
  { type }: Plugin,
): Refusal | undefined {
  if (grantType === GRANT_OF_TYPE[type]) return undefined;
  const expected = `${GRANT_OF_TYPE[type]} (type ${type})`;
  return switches.refusal("plugin.grant", { expected, actual: shown(grantType) });
}

function answerGrant(
  deployment: Deployment,
  plugin: Plugin,
  asked: TokenRequest,
  presented: PresentedCode | undefined,
): JsonAnswer | Refusal {
  if (asked.grantType !== "authorization_code") return mint(deployment, plugin, undefined);
  const code = checkCode(deployment, presented, plugin, asked);
  if (code !== undefined && "rule" in code) return code;
  const operator = code && deployment.operators.find(code.tenantId, code.userId);
  const finding = { expected: "a code of an operator", actual: "an operator who is gone" };
  const refusal = operator === undefined ? deployment.switches.refusal("code.known", finding) : undefined;
  return refusal ?? mint(deployment, plugin, operator);
}

function mint(deployment: Deployment, plugin: Plugin, operator: Operator | undefined): JsonAnswer {
  const now = deployment.clock();
  const { settings, accessTokens } = deployment;
  const { tenantId, clientId, grant } = plugin;
  const issued = { tenantId, clientId, userId: operator?.userId, scopes: grant.scopes };
  const expiresAt = now + settings.tokenLifetimeSeconds * 1000;
  const token = accessTokens.mint({ variant: "A", ...issued, expiresAt }, now);
  return tokenAnswer(deployment, plugin, operator, token);
}
