/** What the command line uses of the contract kit beside its entry. */
export { NotTried } from "./errors.js";
export { type DeploymentSettings, deploymentSettings } from "./learning/settings.js";
export {
  compareChosen,
  type Movement,
  movedSettings,
  movementLines,
  onlyMoved,
} from "./reports/baseline.js";
export {
  countResults,
  groupNotTried,
  type RunAbout,
  refusedCredentials,
  summaryText,
} from "./reports/summary.js";
export { chooseCases, longestWaitSeconds } from "./run.js";
export { needed } from "./target.js";
