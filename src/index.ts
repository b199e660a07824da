/** `bivariant`: the main entry, for deployments of either variant. @packageDocumentation */
export type { Binary, CallOptions, ServerSentEvent } from "../generated/operations.js";
export type {
  AccessToken,
  Auth,
  CallSupport,
  OnEvent,
  Operator,
  PersonAuth,
  ServiceEvent,
} from "./auth/auth.js";
export { callSupport } from "./auth/auth.js";
export {
  type ApiClientSettings,
  apiClient,
  type ServiceAccountSettings,
  serviceAccount,
} from "./auth/credentials/clients.js";
export type {
  MachineCredential,
  PersonCredential,
  Settings,
} from "./auth/credentials/credential.js";
export {
  createClientAssertion,
  type ServicePluginSettings,
  servicePlugin,
  type UserInterfacePluginSettings,
  userInterfacePlugin,
} from "./auth/credentials/plugins.js";
export type {
  CryptoKeyLike,
  KeyObjectLike,
  PrivateKey,
  Signer,
} from "./auth/credentials/signing-key.js";
export { type CreateAuthOptions, createAuth } from "./auth/machine-tokens.js";
export type { PersonAuthOptions } from "./auth/person/person-context.js";
export type { StoredValue, TokenStore } from "./auth/shared/token-store.js";
export type {
  Outcome,
  ParseAs,
} from "./client/outcome.js";
export { unwrap } from "./client/outcome.js";
export type { ServiceFetch } from "./client/service-fetch.js";
export type {
  Api,
  AuthOptions,
  CreateServiceOptions,
  Validate,
  ValidatedAnswer,
} from "./client-options.js";
export type { Clock } from "./clock.js";
export {
  type ConnectOptions,
  type Connector,
  type ConnectorOptions,
  type ConnectTarget,
  connect,
  createConnector,
  detectVariant,
} from "./connect.js";
export {
  ApiError,
  type ApiErrorCode,
  BivariantError,
  type Cause,
  ConfigurationError,
  type ConfigurationErrorCode,
  type Detection,
  type ErrorCode,
  type Evidence,
  isApiError,
  isBivariantError,
  isConfigurationError,
  isLoginRequiredError,
  isRateLimitedError,
  isRelaunchRequiredError,
  isStoreError,
  isTokenRequestError,
  isTransportError,
  isUnexpectedResponseError,
  isVariantError,
  LoginRequiredError,
  type LoginRequiredErrorCode,
  RateLimitedError,
  RelaunchRequiredError,
  type RelaunchRequiredErrorCode,
  StoreError,
  type StoreErrorCode,
  TokenRequestError,
  TransportError,
  type TransportErrorCode,
  UnexpectedResponseError,
  type UnexpectedResponseErrorCode,
  type Variant,
  VariantError,
  type VariantErrorCode,
} from "./errors.js";
export type { Fetch, Intercept, InterceptedRequest } from "./http/exchange.js";
export {
  type BegunLogin,
  beginLogin,
  type CompleteLoginOptions,
  completeLogin,
  type PendingLogin,
  type RedeemLaunchOptions,
  type ResumeAuthOptions,
  redeemLaunch,
  resumeAuth,
} from "./people.js";
export {
  type Call,
  createService,
  type Service,
  type ServiceOf,
} from "./service.js";
export { memoryStore } from "./stores/memory.js";
export type { DetectVariantOptions } from "./variants/detect.js";
