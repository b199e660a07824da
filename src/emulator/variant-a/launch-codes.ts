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
import { type Ending, SecretMap } from "../state/expiring-map.js";

/** The plugin that is launched, and the operator who launches it. */
export type LaunchIdentity = PluginIdentity & OperatorIdentity;

/** It can be exchanged until its end, that instant included. */
interface LaunchCode extends LaunchIdentity, Ending {
  readonly codeChallenge: string;
  readonly spent: boolean;
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
  ): string {
    return this.mint({ tenantId, clientId, userId, codeChallenge, spent: false, expiresAt });
  }

  /**
   * "The code is spent on the first exchange attempt, whether that attempt succeeds or fails"
   * (description, section 3). This is synchronous, so that exactly one of concurrent attempts finds
   * the code unspent.
   */
  spend(value: string | undefined, at: number): PresentedCode | undefined {
    const code = this.change(value, { spent: true });
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
