// A launch of a user-interface plugin: opened by the host application, authorised once for a code challenge.
import type { Deployment } from "../deployment.js";
import { isCodeChallenge } from "../pkce.js";
import type { Refusal } from "../refusal.js";
import type { Plugin } from "../registrations/plugin.js";
import { shown } from "../shown.js";

/** Milliseconds. The page asks when it loads; the description shows no limit. */
const LAUNCH_LIFETIME_MS = 600_000;
/** A code is remembered for this long after its end, so that the log can tell late from unknown. */
const CODE_MEMORY_MS = 3_600_000;
/** What the iframe shows of a plugin without a registered page. */
const NO_PAGE = "about:blank";

/** Who launches what. */
export interface LaunchIdentity {
  readonly tenantId: string;
  readonly clientId: string;
  readonly userId: string;
}

/** What an opaque_code stands for. */
export interface LaunchRecord extends LaunchIdentity {
  /** What `host:auth-code` answers as state; undefined: the opaque_code. */
  readonly state: string | undefined;
  readonly used: boolean;
  /** Epoch milliseconds, the last at which it can be authorised. */
  readonly expiresAt: number;
}

/** What a code of the host stands for: "bound" by what an exchange of it is held against. */
export interface LaunchCode extends LaunchIdentity {
  readonly codeChallenge: string;
  readonly spent: boolean;
  /** Epoch milliseconds, the last at which it can be exchanged. */
  readonly expiresAt: number;
}

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
  const plugin = launchable(deployment, identity);
  if ("rule" in plugin) return plugin;
  if (deployment.operators.find(identity.tenantId, identity.userId) === undefined) {
    return {
      rule: "launch.signed-in",
      expected: "an operator of the tenant",
      actual: shown(identity.userId),
    };
  }
  const now = deployment.clock();
  const expiresAt = now + LAUNCH_LIFETIME_MS;
  const state = deployment.launchState === "launch-parameter" ? deployment.random.secret() : undefined;
  const { tenantId, clientId, userId } = identity;
  const record = { tenantId, clientId, userId, state, used: false, expiresAt };
  const opaqueCode = deployment.launches.mint(record, expiresAt + CODE_MEMORY_MS, now);
  const url = new URL(plugin.pageUrl ?? NO_PAGE);
  url.searchParams.set("opaque_code", opaqueCode);
  if (state !== undefined) url.searchParams.set("state", state);
  return { url: url.href, opaqueCode };
}

/** "The host authorises the launch" (description, section 5.3): a code for this challenge, and this launch is used. */
export function authorizeLaunch(
  deployment: Deployment,
  asked: {
    tenantId: string;
    userId: string;
    /** The plugin in whose iframe it was asked, or undefined where there is none. */
    clientId?: unknown;
    opaqueCode: unknown;
    codeChallenge: unknown;
  },
): LaunchAnswer | Refusal {
  const { clock, launches } = deployment;
  const now = clock();
  const opaqueCode = typeof asked.opaqueCode === "string" ? asked.opaqueCode : "";
  const launch = launches.find(opaqueCode);
  const isTheirs = launch?.tenantId === asked.tenantId && launch.userId === asked.userId;
  if (!isTheirs || launch.clientId !== (asked.clientId ?? launch.clientId)) {
    const actual = launch === undefined ? "an unknown one" : "one of another tenant, operator or plugin";
    return { rule: "launch.known", expected: "the opaque_code of a launch", actual };
  }
  if (launch.used) {
    return { rule: "launch.unused", expected: "a launch not yet authorised", actual: "one that was" };
  }
  if (now > launch.expiresAt) {
    const actual = `it ended ${(now - launch.expiresAt) / 1000} s ago`;
    return { rule: "launch.lifetime", expected: "a launch at most ten minutes old", actual };
  }
  if (!isCodeChallenge(asked.codeChallenge)) {
    const actual = typeof asked.codeChallenge === "string" ? "another string" : shown(asked.codeChallenge);
    return { rule: "launch.challenge", expected: "43 characters of base64url", actual };
  }
  const plugin = launchable(deployment, launch);
  if ("rule" in plugin) return plugin;
  launches.replace(opaqueCode, { ...launch, used: true }, now);
  const { tenantId, clientId, userId } = launch;
  const expiresAt = now + deployment.codeLifetimeSeconds * 1000;
  const record = {
    tenantId,
    clientId,
    userId,
    codeChallenge: asked.codeChallenge,
    spent: false,
    expiresAt,
  };
  const code = deployment.launchCodes.mint(record, expiresAt + CODE_MEMORY_MS, now);
  const struck = { variant: "A", operation: "authorizeLaunch", tenantId, clientId } as const;
  const posts = deployment.faults.strike("launch", struck) === undefined ? 1 : 2;
  return { code, state: launch.state ?? opaqueCode, tenantId, ...(posts > 1 && { posts }) };
}

function launchable({ plugins }: Deployment, { tenantId, clientId }: LaunchIdentity): Plugin | Refusal {
  const plugin = plugins.find(tenantId, clientId);
  if (plugin?.enabled && plugin.type === "user_interface") return plugin;
  const registered = plugin?.enabled ? "a service plugin" : "a disabled one";
  const actual = plugin === undefined ? "one that is not registered" : registered;
  return { rule: "launch.plugin", expected: "an enabled user-interface plugin", actual };
}
