// A launch of a user-interface plugin: opened by the host application, authorised once for a code challenge.
import { createHash } from "node:crypto";
import { z } from "zod";
import { type Check, firstRefusal, type Refusal } from "../checks.js";
import { EmulatorError, parseInput } from "../errors.js";
import { recordAuthCode, recordLaunch } from "../flow/flow-steps.js";
import { isCodeChallenge } from "../oauth.js";
import { rules } from "../rules.js";
import { shown } from "../shown.js";
import type { Deployment, LaunchIdentity, LaunchRecord } from "../state.js";

/** Milliseconds. The page asks when it loads; the description shows no limit. */
const LAUNCH_LIFETIME_MS = 600_000;
/** A code is remembered for this long after its end, so that the log can tell late from unknown. */
const CODE_MEMORY_MS = 3_600_000;
/** What the iframe shows of a plugin without a registered page. */
const NO_PAGE = "about:blank";

/** What `host:auth-code` carries. */
export interface LaunchAnswer {
  readonly code: string;
  readonly state: string;
  readonly tenantId: string;
  /** How often the host posts it, by the fault `duplicate-auth-code`; absent: once. No part of the message. */
  readonly posts?: number;
}

/** The URL for the iframe, with the launch parameters added to whatever query the registered page has. */
export function openLaunch(
  deployment: Deployment,
  identity: LaunchIdentity,
): { url: string; opaqueCode: string } | Refusal {
  const { clock, settings, operators, plugins } = deployment;
  const refusal = checkPlugin(deployment, identity);
  if (refusal !== undefined) return refusal;
  const { tenantId, clientId, userId } = identity;
  if (operators.find(tenantId, userId) === undefined) {
    return { rule: "launch.signed-in", expected: "an operator of the tenant", actual: shown(userId) };
  }
  const now = clock();
  const expiresAt = now + LAUNCH_LIFETIME_MS;
  const record = { tenantId, clientId, userId, answers: settings.launchState, used: false, expiresAt };
  const opaqueCode = deployment.launches.mint(record, expiresAt + CODE_MEMORY_MS, now);
  const url = new URL(plugins.find(tenantId, clientId)?.pageUrl ?? NO_PAGE);
  url.searchParams.set("opaque_code", opaqueCode);
  if (settings.launchState === "launch-parameter") url.searchParams.set("state", stateOf(opaqueCode));
  return { url: url.href, opaqueCode };
}

/** What the plugin's page asks the host for, by whose launch. */
interface Asked extends LaunchIdentity {
  readonly opaqueCode: unknown;
  readonly codeChallenge: unknown;
}

interface Attempt {
  readonly asked: Asked;
  readonly launch: LaunchRecord | undefined;
  readonly isTheirs: boolean;
  readonly now: number;
}

const checks: readonly Check<Attempt>[] = [
  {
    rule: "launch.known",
    find({ launch, isTheirs }) {
      if (isTheirs) return undefined;
      const actual = launch === undefined ? "an unknown one" : "one of another tenant, operator or plugin";
      return { expected: "the opaque_code of a launch", actual };
    },
  },
  {
    rule: "launch.unused",
    find: ({ launch }) =>
      launch?.used ? { expected: "a launch not yet authorised", actual: "one that was" } : undefined,
  },
  {
    rule: "launch.lifetime",
    find({ launch, now }) {
      if (launch === undefined || now <= launch.expiresAt) return undefined;
      const actual = `it ended ${(now - launch.expiresAt) / 1000} s ago`;
      return { expected: "a launch at most ten minutes old", actual };
    },
  },
  {
    rule: "launch.challenge",
    find({ asked: { codeChallenge } }) {
      if (isCodeChallenge(codeChallenge)) return undefined;
      const actual = typeof codeChallenge === "string" ? "another string" : shown(codeChallenge);
      return { expected: "43 characters of base64url", actual };
    },
  },
];

/** "The host authorises the launch" (description, section 5.3): a code for this challenge, and this launch is used. */
export function authorizeLaunch(deployment: Deployment, asked: Asked): LaunchAnswer | Refusal {
  const { clock, settings, launchCodes, launches, switches } = deployment;
  const now = clock();
  const opaqueCode = typeof asked.opaqueCode === "string" ? asked.opaqueCode : "";
  const launch = launches.find(opaqueCode);
  const isTheirs =
    launch?.tenantId === asked.tenantId &&
    launch.userId === asked.userId &&
    launch.clientId === asked.clientId;
  const refusal =
    firstRefusal(switches, checks, { asked, launch, isTheirs, now }) ?? checkPlugin(deployment, asked);
  if (refusal !== undefined) return refusal;
  if (launch !== undefined) launches.replace(opaqueCode, { ...launch, used: true }, now);
  const { tenantId, clientId, userId } = asked;
  const codeChallenge = String(asked.codeChallenge);
  const expiresAt = now + settings.codeLifetimeSeconds * 1000;
  const record = { tenantId, clientId, userId, codeChallenge, spent: false, expiresAt };
  const code = launchCodes.mint(record, expiresAt + CODE_MEMORY_MS, now);
  const struck = { variant: "A", operation: "authorizeLaunch", tenantId, clientId } as const;
  const posts = deployment.faults.strike("launch", struck) === undefined ? 1 : 2;
  const state = launch?.answers === "launch-parameter" ? stateOf(opaqueCode) : opaqueCode;
  return { code, state, tenantId, ...(posts > 1 && { posts }) };
}

/** Follows from the opaque_code and is kept nowhere: what is stored, or in a snapshot, cannot be presented. */
function stateOf(opaqueCode: string): string {
  return createHash("sha256").update(`state ${opaqueCode}`).digest("base64url");
}

function checkPlugin(
  { plugins, switches }: Deployment,
  { tenantId, clientId }: LaunchIdentity,
): Refusal | undefined {
  const plugin = plugins.find(tenantId, clientId);
  if (plugin?.enabled && plugin.type === "user_interface") return undefined;
  const registered = plugin?.enabled ? "a service plugin" : "a disabled one";
  const actual = plugin === undefined ? "one that is not registered" : registered;
  return switches.refusal("launch.plugin", { expected: "an enabled user-interface plugin", actual });
}

/** A launch that nobody has authorised yet. */
export interface Launch {
  /** What the host would load in the iframe: the plugin's page with its launch parameters. */
  readonly url: string;
  readonly opaqueCode: string;
  /**
   * Answers `plugin:pkce-init` as the host does, once per launch. `opaqueCode` is the launch's own unless given. After
   * a reset it asks the new host, which does not know the launch.
   *
   * @throws {@link EmulatorError} `launch_refused`; `option_invalid` for what is no object, or an opaqueCode that is no string.
   */
  authorize(init: { codeChallenge: string; opaqueCode?: string | undefined }): LaunchAnswer;
}

/** A whole registration is an identity too, so other members are ignored. */
const identitySchema = z.object({ tenantId: z.string(), clientId: z.string(), userId: z.string() });
/** The form of the challenge is a rule of the launch. */
const initSchema = z.object({ codeChallenge: z.unknown().optional(), opaqueCode: z.string().optional() });

/** `current` is called at each use: a launch outlives a reset, as it does in a browser. */
export function launchInProcess(current: () => Deployment, input: unknown): Launch {
  const identity = parseInput(identitySchema, input, "option_invalid", "launch");
  const { tenantId, userId, clientId } = identity;
  const opening = current();
  const opened = openLaunch(opening, identity);
  recordLaunch(opening, identity, opened, "process");
  if ("rule" in opened) throw refuse(opening, identity, opened);
  return {
    ...opened,
    authorize(init) {
      const read = parseInput(initSchema, init, "option_invalid", "authorize");
      const { codeChallenge, opaqueCode = opened.opaqueCode } = read;
      const deployment = current();
      const asked = { tenantId, clientId, userId, opaqueCode, codeChallenge };
      const answer = authorizeLaunch(deployment, asked);
      recordAuthCode(deployment, asked, answer);
      if ("rule" in answer) throw refuse(deployment, identity, answer);
      return answer;
    },
  };
}

function refuse(
  { clock, customerLog }: Deployment,
  { tenantId, clientId }: LaunchIdentity,
  refusal: Refusal,
): EmulatorError {
  customerLog.record(clock(), { tenantId, clientId }, refusal);
  const { says } = rules[refusal.rule];
  const { expected, actual } = refusal;
  const problem = `the host refuses the launch: ${says} Expected ${expected}, got ${actual}.`;
  return new EmulatorError("launch_refused", problem, {
    issues: [refusal.rule],
  });
}
