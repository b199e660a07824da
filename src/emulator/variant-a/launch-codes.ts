// The codes of launches: the host application issues one for each launch that it authorises
// (description, section 5.3), and the token endpoint accepts it once.
import { wrongVerifier } from "../oauth.js";
import type { PluginIdentity } from "../registrations/keys.js";
import type { OperatorIdentity } from "../registrations/operators.js";
import { type Checks, unless } from "../rules/checks.js";
import { shown } from "../rules/shown.js";
import type { Ending } from "../state/expiring-map.js";

/** The plugin that is launched, and the operator who launches it. */
export type LaunchIdentity = PluginIdentity & OperatorIdentity;

/** It can be exchanged until its end, that instant included. */
export interface LaunchCode extends LaunchIdentity, Ending {
  readonly codeChallenge: string;
  readonly spent: boolean;
}

interface Attempt {
  /** The code as it was before the attempt. */
  readonly code: LaunchCode;
  /** The instant of the attempt, in epoch milliseconds. */
  readonly at: number;
  readonly plugin: PluginIdentity;
  readonly verifier: string | undefined;
}

/** Why the plugin may not have a token for the code. */
export const codeChecks: Checks<Attempt> = {
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
