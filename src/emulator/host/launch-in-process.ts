// What the host application's page does in a launch, as a method: for test runners without a browser.
import type { Deployment } from "../deployment.js";
import { EmulatorError } from "../emulator-error.js";
import { recordAuthCode, recordLaunch } from "../flow/launch-steps.js";
import type { Refusal } from "../refusal.js";
import { rules } from "../rules.js";
import { authorizeLaunch, type LaunchAnswer, type LaunchIdentity, openLaunch } from "./launch.js";

/** A launch that nobody has authorised yet. */
export interface Launch {
  /** What the host would load in the iframe: the plugin's page with its launch parameters. */
  readonly url: string;
  readonly opaqueCode: string;
  /**
   * Answers `plugin:pkce-init` as the host does, once per launch. `opaqueCode` is the launch's own unless given.
   *
   * @throws {@link EmulatorError} `launch_refused`.
   */
  authorize(init: { codeChallenge: string; opaqueCode?: string | undefined }): LaunchAnswer;
}

export function launchInProcess(deployment: Deployment, identity: LaunchIdentity): Launch {
  const { tenantId, userId, clientId } = identity;
  const refuse = (refusal: Refusal) => {
    deployment.customerLog.record(deployment.clock(), { tenantId, clientId }, refusal);
    const { says } = rules[refusal.rule];
    return new EmulatorError("launch_refused", `the host refuses the launch: ${says}`, {
      issues: [refusal.rule],
    });
  };
  const opened = openLaunch(deployment, identity);
  recordLaunch(deployment, identity, opened, "process");
  if ("rule" in opened) throw refuse(opened);
  return {
    ...opened,
    authorize({ codeChallenge, opaqueCode = opened.opaqueCode }) {
      const asked = { tenantId, clientId, userId, opaqueCode, codeChallenge };
      const answer = authorizeLaunch(deployment, asked);
      recordAuthCode(deployment, asked, answer);
      if ("rule" in answer) throw refuse(answer);
      return answer;
    },
  };
}
