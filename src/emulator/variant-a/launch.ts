// A launch of a user-interface plugin: the host application opens it, and authorises it once for a
// code challenge.
import { z } from "zod";
import { type EmulatorError, parseInput } from "../errors.js";
import { isCodeChallenge } from "../oauth.js";
import { TO_BROWSER, TO_FRONT } from "../records/flow.js";
import { identitySchema } from "../registrations/fields.js";
import { operatorNames } from "../registrations/operators.js";
import { pluginNames } from "../registrations/plugins.js";
import { type Refusal, refusalError, unless } from "../rules/checks.js";
import { shown } from "../rules/shown.js";
import type { Deployment } from "../state/deployment.js";
import { sha256 } from "../state/expiring-map.js";
import type { LaunchIdentity } from "./launch-codes.js";

/** Milliseconds. The description shows no limit. */
const LAUNCH_LIFETIME_MS = 600_000;
/** The page of a plugin that is registered without one. */
const NO_PAGE = "about:blank";

/** The content of the message `host:auth-code`. */
export interface LaunchAnswer {
  readonly code: string;
  readonly state: string;
  readonly tenantId: string;
  /**
   * With the fault `duplicate-auth-code`, how often the host posts the message. Not part of the
   * message.
   */
  readonly posts?: number;
}

/**
 * Returns the URL for the iframe: the registered page with the launch parameters added to its
 * query.
 */
export function openLaunch(
  deployment: Deployment,
  identity: LaunchIdentity,
): { url: string; opaqueCode: string } | Refusal {
  const { clock, flows, settings, operators, plugins } = deployment;
  const { tenantId, clientId, userId } = identity;
  const plugin = plugins.find(tenantId, clientId);
  const operator = operators.find(tenantId, userId);
  const flow = flows.begin("launch", {
    tenantId: (plugin ?? operator)?.tenantId,
    clientId: plugin?.clientId,
    userId: operator?.userId,
  });
  flow.add(TO_FRONT, "Plugin chosen", { fields: { clientId } });
  const signedIn = unless(operator !== undefined, "an operator of the tenant", shown(userId));
  const refusal =
    checkPlugin(deployment, identity) ??
    (signedIn && { rule: "launch.signed-in" as const, ...signedIn });
  if (refusal !== undefined) {
    flow.add(TO_BROWSER, "Launch refused", { refused: refusal.rule });
    return deployment.customerLog.record(identity, refusal);
  }
  const expiresAt = clock() + LAUNCH_LIFETIME_MS;
  const record = { tenantId, clientId, userId, used: false, expiresAt };
  const opaqueCode = deployment.launches.mint(record);
  const state = settings.launchState === "launch-parameter" ? stateOf(opaqueCode) : undefined;
  flow.add(TO_BROWSER, "Plugin launched", {
    fields: { opaque_code: opaqueCode, state },
    link: opaqueCode,
  });
  const url = new URL(plugin?.pageUrl ?? NO_PAGE);
  url.searchParams.set("opaque_code", opaqueCode);
  if (state !== undefined) url.searchParams.set("state", state);
  return { url: url.href, opaqueCode };
}

/** The message `plugin:pkce-init`, and the identity of the launch that its sender belongs to. */
interface AuthorizationAttempt extends LaunchIdentity {
  readonly opaqueCode: unknown;
  readonly codeChallenge: unknown;
}

/**
 * "The host authorises the launch" (description, section 5.3) by issuing a code for this challenge.
 */
export function authorizeLaunch(
  deployment: Deployment,
  attempt: AuthorizationAttempt,
): LaunchAnswer | Refusal {
  const { opaqueCode, codeChallenge } = attempt;
  const flow = deployment.flows.find(opaqueCode);
  const fields = { challenge: codeChallenge, opaque_code: opaqueCode };
  flow?.add(TO_FRONT, "plugin:pkce-init", { fields });
  const answer = issueCode(deployment, attempt);
  if ("rule" in answer) {
    flow?.add(TO_BROWSER, "Code refused", { refused: answer.rule });
    return deployment.customerLog.record(attempt, answer);
  }
  const { posts, ...message } = answer;
  const name = posts === undefined ? "host:auth-code" : `host:auth-code, posted ${posts} times`;
  flow?.add(TO_BROWSER, name, { fields: message, link: message.code });
  return answer;
}

function issueCode(deployment: Deployment, attempt: AuthorizationAttempt): LaunchAnswer | Refusal {
  const { clock, settings, launchCodes, launches, switches } = deployment;
  const { tenantId, clientId, userId, codeChallenge } = attempt;
  const now = clock();
  const opaqueCode = typeof attempt.opaqueCode === "string" ? attempt.opaqueCode : "";
  const launch = launches.find(opaqueCode);
  if (launch?.tenantId !== tenantId || launch.userId !== userId || launch.clientId !== clientId) {
    const actual =
      launch === undefined ? "an unknown one" : "one of another tenant, operator or plugin";
    return { rule: "launch.known", expected: "the opaque_code of a launch", actual };
  }
  const unused = { expected: "a launch not yet authorised", actual: "one that was" };
  const late = `it ended ${(now - launch.expiresAt) / 1000} s ago`;
  const current = { expected: "a launch at most ten minutes old", actual: late };
  const ended =
    (launch.used && switches.refusal("launch.unused", unused)) ||
    (now > launch.expiresAt && switches.refusal("launch.lifetime", current));
  if (ended) return ended;
  if (!isCodeChallenge(codeChallenge)) {
    const actual = typeof codeChallenge === "string" ? "another string" : shown(codeChallenge);
    return { rule: "launch.challenge", expected: "43 characters of base64url", actual };
  }
  const refusal = checkPlugin(deployment, attempt);
  if (refusal !== undefined) return refusal;
  launches.change(opaqueCode, { used: true });
  const expiresAt = now + settings.codeLifetimeSeconds * 1000;
  const bound = { tenantId, clientId, userId, codeChallenge };
  const code = launchCodes.mint({ ...bound, spent: false, expiresAt });
  const struck = { variant: "A", operation: "authorizeLaunch", tenantId, clientId } as const;
  const isPostedTwice = deployment.faults.strike("launch", struck) !== undefined;
  const state = settings.launchState === "launch-parameter" ? stateOf(opaqueCode) : opaqueCode;
  return { code, state, tenantId, ...(isPostedTwice && { posts: 2 }) };
}

/** Derived from the opaque_code, so that it need not be stored. */
function stateOf(opaqueCode: string): string {
  return sha256(`state ${opaqueCode}`);
}

function checkPlugin(
  { plugins, switches }: Deployment,
  { tenantId, clientId }: LaunchIdentity,
): Refusal | undefined {
  const plugin = plugins.find(tenantId, clientId);
  if (plugin?.enabled && plugin.type === "user_interface") return undefined;
  const registered = plugin?.enabled ? "a service plugin" : "a disabled one";
  const actual = plugin === undefined ? "one that is not registered" : registered;
  return switches.refusal("launch.plugin", {
    expected: "an enabled user-interface plugin",
    actual,
  });
}

/** A launch that is not authorised yet. */
export interface Launch {
  /** The URL that the host loads in the iframe: the plugin's page with its launch parameters. */
  readonly url: string;
  readonly opaqueCode: string;
  /**
   * Answers `plugin:pkce-init` as the host does, once per launch. `opaqueCode` defaults to the
   * launch's own. After a reset the launch is unknown.
   *
   * @throws {@link EmulatorError} `launch_refused`; `option_invalid` if the argument is not an
   * object of this shape.
   */
  authorize(init: { codeChallenge: string; opaqueCode?: string | undefined }): LaunchAnswer;
}

const identity = { tenantId: z.string(), clientId: z.string(), userId: z.string() };
const launchSchema = identitySchema(identity, [...pluginNames, ...operatorNames]);
/** The challenge is not checked here, because a rule of the launch checks it. */
const initSchema = z.strictObject({
  codeChallenge: z.unknown().optional(),
  opaqueCode: z.string().optional(),
  // It is ignored, so that a pair of verifier and challenge may be passed whole.
  codeVerifier: z.unknown().optional(),
});

/**
 * Launches without a browser. `current` is called at each use, because a launch may outlive a
 * reset.
 */
export function launchInProcess(current: () => Deployment, input: unknown): Launch {
  const identity = parseInput(launchSchema, input, "launch");
  const opened = openLaunch(current(), identity);
  if ("rule" in opened) throw refusedLaunch(opened);
  return {
    ...opened,
    authorize(init) {
      const read = parseInput(initSchema, init, "authorize");
      const { codeChallenge, opaqueCode = opened.opaqueCode } = read;
      const answer = authorizeLaunch(current(), { ...identity, opaqueCode, codeChallenge });
      if ("rule" in answer) throw refusedLaunch(answer);
      return answer;
    },
  };
}

function refusedLaunch(refusal: Refusal): EmulatorError {
  return refusalError("launch_refused", "the host refuses the launch", refusal);
}
