/**
 * `bivariant/contract`: the promises of the description, tried against a deployment.
 * @packageDocumentation
 */

export type { ContractCase, ContractResult } from "./case.js";
export { type DescribeOptions, describeContract, type TestRunner } from "./describe.js";
export { ContractError, type ContractErrorCode, type NotTriedReason } from "./errors.js";
export type { Exchange, Observation, WaitReason } from "./exchange.js";
export { type Learnt, learnFrom } from "./learning/learn.js";
export type { JsonSchema } from "./learning/schema.js";
export type { DeploymentSettings } from "./learning/settings.js";
export { type ComparedResult, compareRuns, parseBaseline } from "./reports/baseline.js";
export { htmlReport } from "./reports/html.js";
export { junitReport } from "./reports/junit.js";
export { type ContractOptions, contractCases, runContract } from "./run.js";
export type {
  ApiClientCredential,
  ClientCredential,
  ContractTarget,
  LaunchCode,
  Launched,
  Need,
  PluginCredential,
} from "./target.js";
