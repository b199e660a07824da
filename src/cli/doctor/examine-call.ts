/** One token request and one API call. */
import type { AccessToken, Auth } from "../../auth/auth.js";
import { createAuth } from "../../auth/create-auth.js";
import { servicePlugin } from "../../auth/credentials/plugins.js";
import { serviceAccount } from "../../auth/credentials/service-account.js";
import {
  type BivariantError,
  isBivariantError,
  isConfigurationError,
  isLoginRequiredError,
  type Variant,
  wireText,
} from "../../errors.js";
import { createService } from "../../service.js";
import { namesOf, whereToSet } from "../settings/setting-table.js";
import { waysToConfigure } from "./examine-detection.js";
import type { Reach } from "./examine-reach.js";
import { explainRefusal } from "./explain-refusal.js";
import { type Finding, fail, pass, unknown } from "./finding.js";
import type { Patient } from "./patient.js";

/** What was found before. */
export interface Before extends Reach {
  readonly canSign: boolean;
  readonly variant: Variant | undefined;
}

export async function examineCall(patient: Patient, before: Before): Promise<Finding[]> {
  const obstacle = obstacleOf(patient, before);
  const untried = unknown("api_call", "Not tried, for want of a token.");
  if (obstacle !== undefined) return [obstacle, untried];
  const now = () => Date.now() + before.correctionMs;
  let auth: Auth | undefined;
  let token: AccessToken;
  try {
    auth = authOf(patient, before, now);
    token = await auth.getAccessToken({ signal: patient.signal });
  } catch (error) {
    if (!isBivariantError(error)) throw error;
    return [
      explainRefusal("token", error, { ...before, isLogin: auth !== undefined && auth === patient.login }),
      untried,
    ];
  }
  return [tokenFinding(auth, token, patient), await callFinding(auth, patient, before, now)];
}

/** Why no token is asked for. A credential that is begun and wrong stops the client too, whichever is served. */
function obstacleOf(
  { plugin, account, login, variant: named }: Patient,
  { isReached, variant, canSign }: Before,
): Finding | undefined {
  if (plugin === undefined && account === undefined && login === undefined) {
    const wanted = named ?? variant;
    const ways =
      wanted === undefined
        ? `for Variant A ${waysToConfigure.A}; for Variant B ${waysToConfigure.B}`
        : waysToConfigure[wanted];
    return fail("token", "No credential is configured.", `Set ${ways}.`);
  }
  if (isConfigurationError(account))
    return fail("token", account.message, whereToSet(account) ?? `Set ${waysToConfigure.B}.`);
  if (plugin !== undefined && !canSign)
    return unknown("token", "Not asked for, for want of a key that can sign.");
  if (!isReached) return unknown("token", "Not asked for: the deployment was not reached.");
  if (variant === undefined)
    return unknown("token", "Not asked for: no variant was found that there is a credential for.");
  if (variant === "B" && isBivariantError(login)) return fail("token", login.message, remedyOfLogin(login));
  return undefined;
}

function remedyOfLogin(error: BivariantError): string {
  if (isLoginRequiredError(error)) return "Run bivariant login.";
  const where = isConfigurationError(error) ? whereToSet(error) : undefined;
  return where ?? `Look at the file that logins rest in: ${namesOf("storeFile")}.`;
}

/** One request: a doctor who waits out a rate limit or tries again would hide what he is asked to find. */
function authOf(
  { plugin, account, login, ...patient }: Patient,
  { variant }: Before,
  now: () => number,
): Auth {
  if (variant === "B" && login !== undefined && !isBivariantError(login)) return login;
  const { baseUrl, tenantId, allowInsecureHttp, fetch, timeoutMs } = patient;
  const options = { baseUrl, tenantId, allowInsecureHttp, fetch, timeoutMs, now, rateLimitDeadlineMs: 0 };
  return createAuth({
    ...options,
    // Judged by `obstacleOf` to be there and whole.
    credential: variant === "A" ? servicePlugin(plugin as never) : serviceAccount(account as never),
  });
}

function tokenFinding(auth: Auth, token: AccessToken, { tenantId, login }: Patient): Finding {
  const { variant } = auth;
  if (auth === login) {
    const seconds = Math.round((token.expiresAt - Date.now()) / 1000);
    const then = auth.needsPerson
      ? "then somebody must log in again"
      : "then it is renewed without prompting";
    return pass("token", `The stored login has a token, which lives ${seconds} s more; ${then}.`);
  }
  const lifetimeSeconds = Math.round((token.expiresAt - (token.issuedAt ?? Date.now())) / 1000);
  if (variant === "A" && token.tenant !== undefined && token.tenant !== tenantId)
    return fail(
      "token",
      `A token came, but for the tenant ${wireText(token.tenant, [token.value])}, not ${tenantId}.`,
      "Correct the tenant id: --tenant or BIVARIANT_TENANT.",
    );
  const whose =
    variant === "B" ? " Its answer names no tenant: the account alone decides whose data it reaches." : "";
  return pass("token", `A token came, which lives ${lifetimeSeconds} s.${whose}`);
}

async function callFinding(
  auth: Auth,
  patient: Patient,
  before: Before,
  now: () => number,
): Promise<Finding> {
  const { fetch, timeoutMs, signal } = patient;
  const isLogin = auth === patient.login;
  try {
    // A login's token was had by this machine's clock, whatever the server's is.
    const service = createService(auth, { fetch, timeoutMs, ...(!isLogin && { now }) });
    const outcome = await service.call("listDevices", { signal });
    return outcome.ok
      ? pass("api_call", `listDevices was answered ${outcome.status}.`)
      : explainRefusal("api_call", outcome.error, { ...before, isLogin });
  } catch (error) {
    if (!isBivariantError(error)) throw error;
    return explainRefusal("api_call", error, { ...before, isLogin });
  }
}
