// What belongs to the state of a deployment, part by part.
import type { ClockState } from "../clock.js";
import type { Deployment } from "../deployment.js";
import type { RuleId } from "../rules.js";

/** Something that can be written down and put back: `load` is given what `dump` gave, after a way through JSON. */
export interface Part {
  dump(): unknown;
  load(dump: unknown): void;
}

/** By the name it has in a snapshot. Options are no state, nor are the records of what happened. */
export function stateOf(deployment: Deployment): Readonly<Record<string, Part>> {
  const { time, switches, random, rateLimit } = deployment;
  return {
    clock: { dump: () => time.state, load: (state: ClockState) => time.restore(state) } as Part,
    random: { dump: () => random.drawn, load: (drawn: number) => random.skipTo(drawn) } as Part,
    rulesOff: { dump: () => switches.off(), load: (off: readonly RuleId[]) => switches.setOff(off) } as Part,
    faults: deployment.faults,
    plugins: deployment.plugins,
    serviceAccounts: deployment.serviceAccounts,
    apiClients: deployment.apiClients,
    operators: deployment.operators,
    accessTokens: deployment.accessTokens,
    usedAssertionIds: deployment.usedAssertionIds,
    launches: deployment.launches,
    launchCodes: deployment.launchCodes,
    pendingLogins: deployment.pendingLogins,
    authorizationCodes: deployment.authorizationCodes,
    refreshTokens: deployment.refreshTokens,
    authorizations: deployment.authorizations,
    hostSessions: deployment.hostSessions,
    loginSessions: deployment.loginSessions,
    ...(rateLimit && { rateWindow: rateLimit.window }),
  };
}
