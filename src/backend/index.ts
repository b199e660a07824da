/** `bivariant/backend`: the server half of an app for people. @packageDocumentation */
export type {
  BackendEvent,
  BackendOptions,
  ErrorContext,
  IdentifiedPerson,
  SessionOptions,
} from "./backend-options.js";
export { type Backend, type BackendSession, createBackend } from "./create-backend.js";
export type {
  BackendDeployment,
  DeploymentQuery,
  FindDeployment,
  LaunchDeployment,
  LoginDeployment,
} from "./deployments.js";
export { isSessionError, SessionError } from "./error-answer.js";
export {
  type NodeResponse,
  remoteAddress,
  toNodeHandler,
  toWebRequest,
} from "./to-node-handler.js";
