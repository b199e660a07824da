/** Checks the credential with one token request and one API call, and explains each refusal. */
import { setTimeout } from "node:timers/promises";
import { callSupport } from "../auth/auth.js";
import { personRequired } from "../client/call-error.js";
import {
  type BivariantError,
  type Cause,
  isApiError,
  isBivariantError,
  isConfigurationError,
  isLoginRequiredError,
  isRateLimitedError,
  isTokenRequestError,
  isTransportError,
  isUnexpectedResponseError,
  type Variant,
  wireText,
} from "../errors.js";
import {
  type AccessToken,
  type ApiError,
  type Auth,
  type PersonAuth,
  serviceAccount,
  servicePlugin,
} from "../index.js";
import { namesClient } from "./credentials.js";
import { type DoctorInput, type Finding, fail, pass, unknown } from "./finding.js";

export interface Earlier {
  readonly isReached: boolean;
  readonly correctionMs: number;
  readonly canSign: boolean;
  /** The comparison of the registered JWKS with the key; undefined if there is no key. */
  readonly jwks?: Finding | undefined;
  readonly variant: Variant | undefined;
}

export async function examineCall(input: DoctorInput, earlier: Earlier): Promise<Finding[]> {
  const notCalled = unknown("api_call", "Not tried, because there is no token.");
  const obstacle = obstacleOf(input, earlier);
  if (obstacle !== undefined) return [obstacle, notCalled];
  const { plugin, account, login, tenantId, signal, wording } = input;
  const { variant, correctionMs } = earlier;
  const isLogin = variant === "B" && login !== undefined;
  const adminArea = isLogin ? "API clients" : "Service accounts";
  const client = variant === "A" ? plugin : account;
  const asked = client && !(client instanceof Error) ? ` for ${namesClient(client, tenantId)}` : "";
  const refused: Refused = { ...earlier, asked, adminArea, wording };
  // This machine's clock decides whether a stored login is valid, even if it differs from the
  // server's.
  const clock =
    isLogin || correctionMs === 0 ? undefined : { now: () => Date.now() + correctionMs };
  let token: Finding | undefined;
  try {
    // `obstacleOf` has checked that the credential of the variant is there and complete.
    const identity = isLogin
      ? (login as PersonAuth<"B">)
      : variant === "A"
        ? servicePlugin(plugin as never)
        : serviceAccount(account as never);
    const service = input.openService(identity, clock);
    const { auth } = service;
    const issued = await auth
      .getAccessToken({ signal })
      .catch((error) => waitAndRetry(auth, error, input, clock?.now() ?? Date.now()));
    token = tokenFinding(auth, issued, input);
    const outcome = await service.call("listDevices", { signal });
    if (outcome.ok) return [token, pass("api_call", `listDevices was answered ${outcome.status}.`)];
    return [token, explainRefusal("api_call", outcome.error, refused)];
  } catch (error) {
    if (!isBivariantError(error)) throw error;
    if (token !== undefined) return [token, explainRefusal("api_call", error, refused)];
    return [explainRefusal("token", error, refused), notCalled];
  }
}

/**
 * Waits once for a rate limit within the deadline: the question about the variant may have reached
 * it. `now` is by the clock of `auth`, which `retryAt` is by too.
 */
async function waitAndRetry(auth: Auth, error: unknown, input: DoctorInput, now: number) {
  const { signal, retryDeadlineMs, note } = input;
  if (!isRateLimitedError(error) || error.retryAt > now + retryDeadlineMs) throw error;
  const waitMs = Math.max(error.retryAt - now, 0);
  note(
    "The rate limit of the tenant is reached. " +
      `Waiting until ${new Date(Date.now() + waitMs).toISOString()}.`,
  );
  // A timer may end a millisecond early, and `retryAt` is in whole ones: the gate would still be
  // closed.
  await setTimeout(waitMs + 2, undefined, { signal });
  return auth.getAccessToken({ signal });
}

/**
 * Says why no token is requested. Like the client, it rejects an incomplete credential of either
 * variant.
 */
function obstacleOf(
  { plugin, account, login, noCredential, variant: named, wording }: DoctorInput,
  { isReached, variant, canSign }: Earlier,
): Finding | undefined {
  if (plugin === undefined && account === undefined && login === undefined)
    return fail("token", noCredential, wording.waysToSet(named ?? variant));
  if (isConfigurationError(account))
    return fail(
      "token",
      account.message,
      wording.whereToSet(account) ?? wording.waysToSet("B"),
      account.code,
    );
  const notRequested = (why: string) => unknown("token", `Not requested, because ${why}.`);
  if (plugin !== undefined && !canSign) return notRequested("there is no key that can sign");
  if (!isReached) return notRequested("the deployment was not reached");
  if (variant === undefined)
    return notRequested("no variant with a configured credential was detected");
  if (variant === "A" || !isBivariantError(login)) return undefined;
  const where = isConfigurationError(login) ? wording.whereToSet(login) : undefined;
  const remedy = isLoginRequiredError(login)
    ? "Run bivariant login."
    : (where ?? `Check the folder of the stored logins: ${wording.namesOf("storeFile")}.`);
  return fail("token", login.message, remedy, login.code);
}

function tokenFinding(auth: Auth, token: AccessToken, input: DoctorInput): Finding {
  const { tenantId, login, wording } = input;
  if (auth === login) {
    const seconds = Math.round((token.expiresAt - Date.now()) / 1000);
    const then = auth[callSupport]?.needsPerson
      ? "then a person must log in again"
      : "then it is renewed without a prompt";
    return pass(
      "token",
      `The stored login has a token, which is valid for ${seconds} s more; ${then}.`,
    );
  }
  if (auth.variant === "A" && token.tenant !== undefined && token.tenant !== tenantId)
    return fail(
      "token",
      `The token is for the tenant ${wireText(token.tenant, [token.value])}, not for ${tenantId}.`,
      `Correct the tenant id with ${wording.namesOf("tenant")}.`,
      "tenant_differs",
    );
  const seconds = Math.round((token.expiresAt - (token.issuedAt ?? Date.now())) / 1000);
  const issued = `The deployment issued a token, which is valid for ${seconds} s.`;
  const scope = " The response names no tenant: the account alone decides whose data it reaches.";
  return pass("token", auth.variant === "B" ? issued + scope : issued);
}

export interface Refused
  extends Pick<Earlier, "variant" | "correctionMs" | "jwks">,
    Pick<DoctorInput, "wording"> {
  /** Names the client and the tenant of the token request; empty for a stored login. */
  readonly asked: string;
  /** The part of the admin area that holds the client. */
  readonly adminArea: "API clients" | "Service accounts";
}

/** Explains an error as a failed check. */
export function explainRefusal(
  check: "detection" | "token" | "api_call",
  error: BivariantError,
  refused: Refused,
): Finding {
  const causes = withJwks(error, refused);
  // The evidence of this cause names the client and the tenant itself.
  const isNamed = causes[0]?.id === "plugin_not_registered_or_disabled";
  const asked = check === "token" && !isNamed ? refused.asked : "";
  const evidence = `${error.code}${asked}: ${evidenceOf(error, causes, refused)}`;
  const finding = fail(check, evidence, remedyOf(error, causes, refused), error.code);
  return causes.length === 0 ? finding : { ...finding, causes };
}

/**
 * Ranks the causes by the comparison of the keys: a key that is registered is not the cause, and
 * another one is.
 */
function withJwks(error: BivariantError, { jwks }: Refused): readonly Cause[] {
  const { causes = [] } = error as { causes?: readonly Cause[] };
  const isCause = ({ id }: Cause) => id === "jwks_mismatch";
  if (jwks === undefined || jwks.verdict === "unknown" || !causes.some(isCause)) return causes;
  const others = causes.filter((one) => !isCause(one));
  if (jwks.verdict === "pass") return others;
  const { evidence, remedy = "" } = jwks;
  return [...causes.filter(isCause).map((one) => ({ ...one, evidence, remedy })), ...others];
}

function evidenceOf(
  error: BivariantError,
  causes: readonly Cause[],
  { correctionMs, jwks }: Refused,
): string {
  if (isRateLimitedError(error))
    return (
      "The rate limit of the tenant at the token endpoint is reached until " +
      `${new Date(error.retryAt).toISOString()}.`
    );
  const [first, ...more] = causes;
  if (first === undefined) {
    const issues = isUnexpectedResponseError(error) ? error.issues : [];
    return [error.message, ...issues.map((issue) => `${issue}.`)].join(" ");
  }
  const others =
    more.length === 0 ? "" : ` Also possible: ${more.map(({ summary }) => summary).join("; ")}.`;
  const corrected =
    correctionMs === 0
      ? ""
      : " The assertion used the server's Date; it also fails if that is wrong.";
  const isExcluded =
    jwks?.verdict === "pass" && isTokenRequestError(error) && error.error === "invalid_client";
  const key = isExcluded ? " The key is not the cause, because the registered JWKS holds it." : "";
  return `${first.summary}. ${first.evidence}${others}${key}${corrected}`;
}

function remedyOf(error: BivariantError, causes: readonly Cause[], refused: Refused): string {
  if (isLoginRequiredError(personRequired(error))) return "Run bivariant login.";
  if (isApiError(error)) return remedyOfCall(error, refused);
  const [first] = causes;
  if (first !== undefined) return first.remedy;
  if (isTokenRequestError(error))
    return refused.variant === "B"
      ? "Ask an administrator to compare the client id and the client secret with those in the " +
          `admin area under ${refused.adminArea}.`
      : "Look for a proxy that changes requests: " +
          "the client sends exactly what the description asks for.";
  if (isRateLimitedError(error))
    return (
      "Wait until then, or pass a longer retryDeadlineMs. " +
      "The limit counts the token requests of the whole tenant, and the question about the " +
      "variant: find out who else sends them."
    );
  if (isTransportError(error))
    return "Try again. If it stays so, check the network and the proxies on the way.";
  if (isConfigurationError(error))
    return (
      refused.wording.whereToSet(error) ?? "Correct the settings; see bivariant doctor --help."
    );
  return (
    "Something else answers there: a proxy's page, a login page or another server. " +
    "Check the base URL and the tenant id."
  );
}

function remedyOfCall({ status, retryAt }: ApiError, { variant, adminArea }: Refused): string {
  if (status === 401 || status === 403) {
    if (variant === "B")
      return (
        "Ask an administrator to check what the client may do in the admin area under " +
        `${adminArea}.`
      );
    const what =
      status === 401
        ? "it must be enabled."
        : "its granted scopes (listDevices needs devices:read) and its device restriction. " +
          "A scope granted now reaches the next token.";
    return (
      "Ask the customer to check the plugin under Settings, Tenant Settings, External " +
      `Plugins: ${what}`
    );
  }
  if (status === 429)
    return `Try again ${retryAt === undefined ? "later" : `after ${new Date(retryAt).toISOString()}`}.`;
  if (status === 404 || status === 405)
    return "Check the base URL: its path prefix may be missing or wrong.";
  if (status >= 500)
    return "The server failed. Try again later, or tell the operator of the deployment.";
  return "The description does not contain this answer. Ask the operator of the deployment.";
}
