/** `bivariant/contract`: the promises of the description, tried against a deployment. */
export { type ComparedResult, compareRuns, type Movement, parseBaseline } from "./baseline.js";
export type { CaseCosts, ContractCase, ContractResult, Outcome } from "./case.js";
export { describeContract, type TestRunner } from "./describe.js";
export { ContractError, type ContractErrorCode, type NotTriedReason } from "./errors.js";
export type { Exchange, Observation, WaitReason } from "./exchange.js";
export { type Learnt, learnFrom } from "./learn.js";
export { htmlReport } from "./report-html.js";
export { junitReport } from "./report-junit.js";
export { type ContractOptions, contractCases, runContract } from "./run.js";
export type { JsonSchema } from "./schema.js";
export type { DeploymentSettings } from "./settings.js";
export type { RunAbout } from "./summary.js";
export type {
  ApiClientCredential,
  ClientCredential,
  ContractTarget,
  LaunchCode,
  Launched,
  Need,
  PluginCredential,
} from "./target.js";
