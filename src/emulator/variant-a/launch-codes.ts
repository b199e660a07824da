// The codes of launches: the host application issues one for each launch that it authorises
// (description, section 5.3), and the token endpoint accepts it once.
import { wrongVerifier } from "../oauth.js";
import type { PluginIdentity } from "../registrations/keys.js";
import type { OperatorIdentity } from "../registrations/operators.js";
import {
  type Checks,
  type EmulatorRules,
  firstRefusal,
  type Refusal,
  unless,
} from "../rules/checks.js";
import { shown } from "../rules/shown.js";
import { SecretMap } from "../state/expiring-map.js";

/**
 * A record is kept for this long after it ends, so that the log can tell a late code from an
 * unknown one.
 */
export const CODE_MEMORY_MS = 3_600_000;

/** The plugin that is launched, and the operator who launches it. */
export type LaunchIdentity = PluginIdentity & OperatorIdentity;

interface LaunchCode extends LaunchIdentity {
  readonly codeChallenge: string;
  readonly spent: boolean;
  /** Epoch milliseconds, the last instant at which it can be exchanged. */
  readonly expiresAt: number;
}

/**
 * A code as it was before an exchange attempt, and the instant of the attempt (epoch milliseconds).
 */
export interface PresentedCode {
  readonly code: LaunchCode;
  readonly at: number;
}

export class LaunchCodes extends SecretMap<LaunchCode> {
  issue(
    { tenantId, clientId, userId }: LaunchIdentity,
    codeChallenge: string,
    expiresAt: number,
    now: number,
  ): string {
    const record = { tenantId, clientId, userId, codeChallenge, spent: false, expiresAt };
    return this.mint(record, expiresAt + CODE_MEMORY_MS, now);
  }

  /**
   * "The code is spent on the first exchange attempt, whether that attempt succeeds or fails"
   * (description, section 3). This is synchronous, so that exactly one of concurrent attempts finds
   * the code unspent.
   */
  spend(value: string | undefined, at: number): PresentedCode | undefined {
    const code = this.change(value, { spent: true }, at);
    return code && { code, at };
  }
}

interface Attempt extends PresentedCode {
  readonly plugin: PluginIdentity;
  readonly verifier: string | undefined;
}

const checks: Checks<Attempt> = {
  "code.tenant": ({ code, plugin: { tenantId } }) =>
    unless(code.tenantId === tenantId, `a code of ${shown(tenantId)}`, "a code of another tenant"),
  "code.plugin": ({ code, plugin: { clientId } }) =>
    unless(code.clientId === clientId, `a code of ${shown(clientId)}`, "a code of another plugin"),
  "code.unspent": ({ code }) =>
    unless(!code.spent, "a code at its first attempt", "a code that was presented before"),
  "code.lifetime": ({ code: { expiresAt }, at }) =>
    unless(
      at <= expiresAt,
      "a code within its lifetime",
      `it ended ${(at - expiresAt) / 1000} s ago`,
    ),
  "code.verifier": ({ code, verifier }) => wrongVerifier(verifier, code.codeChallenge),
};

/** Returns why the plugin may not have a token for the code. */
export function refuseCode(switches: EmulatorRules, attempt: Attempt): Refusal | undefined {
  return firstRefusal(switches, checks, attempt);
}
