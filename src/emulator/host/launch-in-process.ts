// What the host application's page does in a launch, as a method: for test runners without a browser.
import type { Deployment } from "../deployment.js";
import { EmulatorError } from "../emulator-error.js";
import { recordAuthCode, recordLaunch } from "../flow/launch-steps.js";
import { readChallenge } from "../in-process-arguments.js";
import type { Refusal } from "../refusal.js";
import { rules } from "../rules.js";
import { authorizeLaunch, type LaunchAnswer, type LaunchIdentity, openLaunch } from "./launch.js";

/** A launch that nobody has authorised yet. */
export interface Launch {
  /** What the host would load in the iframe: the plugin's page with its launch parameters. */
  readonly url: string;
  readonly opaqueCode: string;
  /**
   * Answers `plugin:pkce-init` as the host does, once per launch. `opaqueCode` is the launch's own unless given. After
   * a reset or a restore it asks the host that is there then, which may not know the launch.
   *
   * @throws {@link EmulatorError} `launch_refused`; `option_invalid` for what is no object, or an opaqueCode that is no string.
   */
  authorize(init: { codeChallenge: string; opaqueCode?: string | undefined }): LaunchAnswer;
}

/** `current` is looked up at each use: a launch outlives a reset and a restore, as it does in a browser. */
export function launchInProcess(current: () => Deployment, identity: LaunchIdentity): Launch {
  const { tenantId, userId, clientId } = identity;
  const opening = current();
  const opened = openLaunch(opening, identity);
  recordLaunch(opening, identity, opened, "process");
  if ("rule" in opened) throw refuse(opening, identity, opened);
  return {
    ...opened,
    authorize(init) {
      const { codeChallenge, opaqueCode = opened.opaqueCode } = readChallenge(init);
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
