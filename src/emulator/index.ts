// The public entry `bivariant/emulator`: the service, both variants, in-process or over HTTP.
export type { ApiCall, ApiRoute } from "./api/api-route.js";
export type { Device, Devices } from "./api/device-list.js";
export type { EmulatorClock, Instant } from "./clock.js";
export { createEmulator } from "./create-emulator.js";
export type { CustomerLog, CustomerLogEntry, CustomerLogFilter } from "./customer-log.js";
export type { Emulator } from "./emulator.js";
export { EmulatorError, type EmulatorErrorCode } from "./emulator-error.js";
export type { EmulatorOptions, RateLimit, RefreshTokenOptions } from "./emulator-options.js";
export {
  type Fault,
  type FaultMatch,
  type FaultMoment,
  type FaultName,
  type FaultTarget,
  faultMoments,
} from "./faults/fault.js";
export type { EmulatorFaults, FaultHandle, FaultReport } from "./faults/faults.js";
export type { Grant } from "./grant.js";
export type { Launch, LaunchAnswer, LaunchIdentity } from "./host/launch.js";
export type { Journal } from "./journal/journal.js";
export type { Endpoint, JournalEntry } from "./journal/journal-entry.js";
export type { JournalFilter } from "./journal/journal-filter.js";
export type { WaitOptions } from "./journal/journal-waiters.js";
export { type Option, type OptionId, options } from "./options-table.js";
export type {
  ApiClientIdentity,
  ApiClientRegistration,
  ApiClientUpdate,
} from "./registrations/api-client-registration.js";
export type {
  OperatorIdentity,
  OperatorRegistration,
  OperatorUpdate,
} from "./registrations/operator-registration.js";
export type { PluginRegistration, PluginType, PluginUpdate } from "./registrations/plugin-registration.js";
export type { JsonWebKeySet } from "./registrations/registered-keys.js";
export type { Role } from "./registrations/role.js";
export type {
  ServiceAccountIdentity,
  ServiceAccountRegistration,
  ServiceAccountUpdate,
} from "./registrations/service-account-registration.js";
export type { PluginIdentity, TestKey } from "./registrations/test-keys.js";
export type { EmulatorRules, RuleSettings } from "./rule-switches.js";
export type { Rule } from "./rules/rule.js";
export { type RuleId, rules } from "./rules.js";
export type { EmulatorSeed } from "./seed/seed.js";
export { parseSeedFile, readSeedFile } from "./seed/seed-file.js";
export type { LoginRequest } from "./variant-b/login-in-process.js";
