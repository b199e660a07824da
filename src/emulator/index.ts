/**
 * `bivariant/emulator`: the service, both variants, in-process or over HTTP. @packageDocumentation
 */
export type { Device, Devices } from "./api/devices.js";
export type { EmulatedApi, NotServed } from "./api/documented.js";
export type { ApiTypes, Responses } from "./api/responses.js";
export type { ApiCall, ApiRoute } from "./api/route.js";
export { createEmulator, type Emulator } from "./emulator.js";
export { EmulatorError, type EmulatorErrorCode } from "./errors.js";
export {
  type EmulatorFaults,
  type Fault,
  type FaultHandle,
  type FaultMatch,
  type FaultMoment,
  type FaultName,
  type FaultReport,
  type FaultTarget,
  faultMoments,
} from "./faults/faults.js";
export {
  type EmulatorOptions,
  emulatorOptions,
  type Option,
  type OptionId,
  type RateLimit,
  type RefreshTokenOptions,
} from "./options.js";
export type { CustomerLog, CustomerLogEntry, CustomerLogFilter } from "./records/customer-log.js";
export type { Journal, JournalEntry, JournalFilter } from "./records/journal.js";
export type {
  ApiClientIdentity,
  ApiClientRegistration,
  ApiClientUpdate,
  ServiceAccountIdentity,
  ServiceAccountRegistration,
  ServiceAccountUpdate,
} from "./registrations/clients.js";
export type { Role } from "./registrations/fields.js";
export type { JsonWebKeySet, PluginIdentity, TestKey } from "./registrations/keys.js";
export type {
  OperatorIdentity,
  OperatorRegistration,
  OperatorUpdate,
} from "./registrations/operators.js";
export type { PluginRegistration, PluginType, PluginUpdate } from "./registrations/plugins.js";
export type { EmulatorRules, RuleSettings } from "./rules/checks.js";
export { emulatorRules, type Rule, type RuleId } from "./rules.js";
export type { EmulatorSeed } from "./seed/seed.js";
export { parseSeedFile, readSeedFile } from "./seed/seed-file.js";
export type { EmulatorClock, Instant } from "./state/clock.js";
export type { Launch, LaunchAnswer } from "./variant-a/launch.js";
export type { LaunchIdentity } from "./variant-a/launch-codes.js";
export type { LoginRequest } from "./variant-b/authorization.js";
