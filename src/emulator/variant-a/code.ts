// Variant A's authorization code: spent at its first exchange attempt, then compared with what it is bound to.
import { type Check, firstRefusal, type Refusal } from "../checks.js";
import { verifierFault } from "../oauth.js";
import type { Plugin } from "../registrations/plugins.js";
import { shown } from "../shown.js";
import type { Deployment, LaunchCode } from "../state.js";

/** A code as the attempt found it, and the instant of the attempt (epoch milliseconds). */
export interface PresentedCode {
  readonly code: LaunchCode;
  readonly at: number;
}

/**
 * "The code is spent on the first exchange attempt, whether that attempt succeeds or fails" (description, section 3).
 * Synchronous: of concurrent attempts exactly one finds the code unspent.
 */
export function presentCode(
  { clock, launchCodes }: Deployment,
  value: string | undefined,
): PresentedCode | undefined {
  const code = value === undefined ? undefined : launchCodes.find(value);
  if (value === undefined || code === undefined) return undefined;
  const at = clock();
  launchCodes.replace(value, { ...code, spent: true }, at);
  return { code, at };
}

interface Attempt extends PresentedCode {
  readonly plugin: Plugin;
  readonly codeVerifier: string | undefined;
}

const checks: readonly Check<Attempt>[] = [
  {
    rule: "code.tenant",
    find: ({ code, plugin }) =>
      code.tenantId === plugin.tenantId
        ? undefined
        : { expected: `a code of ${shown(plugin.tenantId)}`, actual: "a code of another tenant" },
  },
  {
    rule: "code.plugin",
    find: ({ code, plugin }) =>
      code.clientId === plugin.clientId
        ? undefined
        : { expected: `a code of ${shown(plugin.clientId)}`, actual: "a code of another plugin" },
  },
  {
    rule: "code.unspent",
    find: ({ code }) =>
      code.spent
        ? { expected: "a code at its first attempt", actual: "a code that was presented before" }
        : undefined,
  },
  {
    rule: "code.lifetime",
    find: ({ code, at }) =>
      at > code.expiresAt
        ? { expected: "a code within its lifetime", actual: `it ended ${(at - code.expiresAt) / 1000} s ago` }
        : undefined,
  },
  {
    rule: "code.verifier",
    find({ code, codeVerifier }) {
      const actual = verifierFault(codeVerifier, code.codeChallenge);
      return actual === undefined
        ? undefined
        : { expected: "the verifier of the challenge sent at launch", actual };
    },
  },
];

/** The code, if this plugin may have a token for it. */
export function checkCode(
  { switches }: Deployment,
  presented: PresentedCode | undefined,
  plugin: Plugin,
  { code, codeVerifier }: { readonly code: string | undefined; readonly codeVerifier: string | undefined },
): LaunchCode | Refusal {
  if (presented === undefined) {
    const actual = code === undefined ? "absent" : "a code that was not handed out";
    return { rule: "code.known", expected: "a code from the host", actual };
  }
  return firstRefusal(switches, checks, { ...presented, plugin, codeVerifier }) ?? presented.code;
}
