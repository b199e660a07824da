// What every handler works on, from the arrival of a request to its answer; nothing of it lives in a module. A reset
// and a restore put another one in its place, so that what is in flight ends on the one it began with.
import type { Choices } from "./choices.js";
import type { MovableClock } from "./clock.js";
import type { CustomerLog } from "./customer-log.js";
import type { Faults } from "./faults/faults.js";
import type { FlowRecord } from "./flow/flow-record.js";
import type { LaunchCode, LaunchRecord } from "./host/launch.js";
import type { Journal } from "./journal/journal.js";
import type { KeptSession } from "./pages/browser-session.js";
import type { RandomSource } from "./random-source.js";
import type { ApiClients } from "./registrations/api-clients.js";
import type { Operators } from "./registrations/operators.js";
import type { PluginRegistry } from "./registrations/plugin-registry.js";
import type { ServiceAccounts } from "./registrations/service-accounts.js";
import type { RuleSwitches } from "./rule-switches.js";
import type { AccessTokens } from "./stores/access-tokens.js";
import type { Authorizations } from "./stores/authorizations.js";
import type { SecretMap } from "./stores/secret-map.js";
import type { SlidingWindow } from "./stores/sliding-window.js";
import type { UsedAssertionIds } from "./stores/used-assertion-ids.js";
import type { AuthorizationCode } from "./variant-b/authorization-answer.js";
import type { PendingLogin } from "./variant-b/pending-login.js";
import type { RefreshToken } from "./variant-b/person-tokens.js";

export interface Deployment {
  /** The only clock: epoch milliseconds; `time` is what moves it. */
  readonly clock: () => number;
  readonly time: MovableClock;
  /** Where every id, code, token and session comes from. */
  readonly random: RandomSource;
  readonly switches: RuleSwitches;
  readonly choices: Choices;
  /** The base URL that clients are configured with, without a trailing slash. Never derived from a request. */
  readonly publicUrl: () => string;
  readonly tokenLifetimeSeconds: number;
  /** Of both variants' authorization codes. */
  readonly codeLifetimeSeconds: number;
  readonly rateLimit: { readonly window: SlidingWindow; readonly retryAfter: RetryAfter } | undefined;
  /** Where the `state` of `host:auth-code` comes from. */
  readonly launchState: LaunchState;
  readonly issuerInCallback: boolean;
  readonly refresh: RefreshRules;
  readonly plugins: PluginRegistry;
  readonly serviceAccounts: ServiceAccounts;
  readonly apiClients: ApiClients;
  readonly operators: Operators;
  readonly accessTokens: AccessTokens;
  readonly usedAssertionIds: UsedAssertionIds;
  /** Variant A, by opaque_code and by code. */
  readonly launches: SecretMap<LaunchRecord>;
  readonly launchCodes: SecretMap<LaunchCode>;
  /** Variant B, by the id in the form, by code and by refresh token. */
  readonly pendingLogins: SecretMap<PendingLogin>;
  readonly authorizationCodes: SecretMap<AuthorizationCode>;
  readonly refreshTokens: SecretMap<RefreshToken>;
  readonly authorizations: Authorizations;
  /** By the value of the cookie, of the host application and of the authorization server. */
  readonly hostSessions: SecretMap<KeptSession>;
  readonly loginSessions: SecretMap<KeptSession>;
  readonly faults: Faults;
  readonly customerLog: CustomerLog;
  readonly journal: Journal;
  /** The last launch or login, for people to look at. */
  readonly flows: FlowRecord;
}

/** "The 429 response may carry a Retry-After header, but it may be absent" (description, section 8). */
export type RetryAfter = "seconds" | "date" | "absent";

/** "host:auth-code ... carrying code, state and tenantId" (section 5.3): what state answers to is not shown. */
export type LaunchState = "opaque_code" | "launch-parameter";

/** How refresh tokens behave: the description shows only that there are some. */
export interface RefreshRules {
  readonly rotation: boolean;
  readonly reuseDetection: boolean;
  readonly lifetimeMs: number;
  readonly idleMs: number;
}
