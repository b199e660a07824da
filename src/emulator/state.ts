// The settings and records of one emulated deployment. A reset replaces the whole deployment, so a request in
// flight ends on the deployment on which it began. No other module keeps records.
import { operationsOf } from "./api/routes.js";
import { EmulatorRules } from "./checks.js";
import { type ClockState, EmulatorClock, readInstant } from "./clock.js";
import { CustomerLog } from "./customer-log.js";
import { EmulatorFaults } from "./faults/faults.js";
import { FlowRecord } from "./flow/flow.js";
import { Journal } from "./journal.js";
import type { Settings } from "./options.js";
import { type ApiClient, ApiClients, ServiceAccounts } from "./registrations/clients.js";
import type { JwksSource } from "./registrations/keys.js";
import { Operators } from "./registrations/operators.js";
import { PluginRegistry } from "./registrations/plugins.js";
import type { EmulatorSeed } from "./seed/seed.js";
import {
  Authorizations,
  type IssuedToken,
  RandomSource,
  SecretMap,
  SlidingWindow,
  type Unregistered,
  UsedAssertionIds,
} from "./stores.js";

/** Anyone can begin a login. If there are more (at most 40 MB), the oldest are forgotten. */
const MOST_PENDING_LOGINS = 10_000;

/** The plugin that is launched, and the operator who launches it. */
export interface LaunchIdentity {
  readonly tenantId: string;
  readonly clientId: string;
  readonly userId: string;
}

/** The launch that belongs to an opaque_code. */
interface LaunchRecord extends LaunchIdentity {
  readonly used: boolean;
  /** Epoch milliseconds, the last instant at which it can be authorised. */
  readonly expiresAt: number;
}

/** The launch that belongs to a code of the host application (Variant A). */
export interface LaunchCode extends LaunchIdentity {
  readonly codeChallenge: string;
  readonly spent: boolean;
  /** Epoch milliseconds, the last instant at which it can be exchanged. */
  readonly expiresAt: number;
}

/** The request that a person must allow: RFC 6749 section 4.1.1 with RFC 7636 section 4.3. */
export interface AuthorizationRequest {
  readonly client: ApiClient;
  readonly redirectUri: string;
  readonly state: string | undefined;
  readonly codeChallenge: string;
  /** If undefined, all capabilities of the person are requested. */
  readonly scopes: ReadonlySet<string> | undefined;
}

/** A login between the authorization request and the person's decision. */
interface PendingLogin {
  readonly request: AuthorizationRequest;
  readonly isDecided: boolean;
  /** Epoch milliseconds; from this instant on the person must start again. */
  readonly expiresAt: number;
}

/** The login that belongs to a code of the authorization endpoint (Variant B). */
export interface AuthorizationCode extends LaunchIdentity {
  readonly scopes: ReadonlySet<string> | undefined;
  readonly redirectUri: string;
  readonly codeChallenge: string;
  /** The authorization that an exchange opened; undefined before the exchange. */
  readonly authorizationId: string | undefined;
  /** Epoch milliseconds, the last instant at which it can be exchanged. */
  readonly expiresAt: number;
}

/** The data of a refresh token. */
export interface RefreshToken {
  readonly authorizationId: string;
  /** Whether a newer one replaced it. */
  readonly rotated: boolean;
  /** Epoch milliseconds; from this instant on it has been idle for too long. */
  readonly idleAt: number;
}

export type SignedIn = Omit<LaunchIdentity, "clientId">;

/** The session that belongs to a cookie. */
export interface KeptSession {
  /** Undefined until a person signs in. */
  readonly operator: SignedIn | undefined;
  /** Epoch milliseconds; from this instant on the session is over. */
  readonly expiresAt: number;
}

/** "The 429 response may carry a Retry-After header, but it may be absent" (description, section 8). */
export type RetryAfter = "seconds" | "date" | "absent";

export interface Deployment {
  readonly settings: Settings;
  /** The only clock, in epoch milliseconds. `time` can move it. */
  readonly clock: () => number;
  readonly time: EmulatorClock;
  /** The source of every id, code, token and session. */
  readonly random: RandomSource;
  readonly switches: EmulatorRules;
  /** The base URL that clients are configured with, without a trailing slash. No request changes it. */
  readonly publicUrl: () => string;
  readonly rateLimit: { readonly window: SlidingWindow; readonly retryAfter: RetryAfter } | undefined;
  readonly plugins: PluginRegistry;
  readonly serviceAccounts: ServiceAccounts;
  readonly apiClients: ApiClients;
  readonly operators: Operators;
  readonly accessTokens: SecretMap<IssuedToken>;
  readonly usedAssertionIds: UsedAssertionIds;
  /** The launches of Variant A by opaque_code, then by code. */
  readonly launches: SecretMap<LaunchRecord>;
  readonly launchCodes: SecretMap<LaunchCode>;
  /** The logins of Variant B by the id in the form, by code and by refresh token. */
  readonly pendingLogins: SecretMap<PendingLogin>;
  readonly authorizationCodes: SecretMap<AuthorizationCode>;
  readonly refreshTokens: SecretMap<RefreshToken>;
  readonly authorizations: Authorizations;
  /** The sessions of the host application and of the authorization server, by cookie value. */
  readonly hostSessions: SecretMap<KeptSession>;
  readonly loginSessions: SecretMap<KeptSession>;
  readonly faults: EmulatorFaults;
  readonly customerLog: CustomerLog;
  readonly journal: Journal;
  /** The last launch or login, as it is displayed to people. */
  readonly flows: FlowRecord;
}

/** The deployment has no registrations; `applySeed` adds those of the seed. `lasting` outlives a reset. */
export function createDeployment(
  settings: Settings,
  lasting: Pick<Deployment, "publicUrl"> & { testKeys: JwksSource },
): Deployment {
  const random = new RandomSource(settings.randomSeed);
  const time = new EmulatorClock(settings.now ?? Date.now, firstState(settings.seed.clock));
  const serviceAccounts: ServiceAccounts = new ServiceAccounts((id) => apiClients.find(id) !== undefined);
  const apiClients: ApiClients = new ApiClients((id) => serviceAccounts.find(id) !== undefined);
  return {
    settings,
    time,
    clock: () => time.now(),
    random,
    switches: new EmulatorRules(settings.rules),
    publicUrl: lasting.publicUrl,
    rateLimit: rateLimitOf(settings),
    plugins: new PluginRegistry(settings.narrowingDelayMs, lasting.testKeys),
    serviceAccounts,
    apiClients,
    operators: new Operators(),
    accessTokens: new SecretMap(random),
    usedAssertionIds: new UsedAssertionIds(),
    launches: new SecretMap(random),
    launchCodes: new SecretMap(random),
    pendingLogins: new SecretMap(random, MOST_PENDING_LOGINS),
    authorizationCodes: new SecretMap(random),
    refreshTokens: new SecretMap(random),
    authorizations: new Authorizations(random),
    hostSessions: new SecretMap(random),
    loginSessions: new SecretMap(random),
    faults: new EmulatorFaults(random, operationsOf(settings)),
    customerLog: new CustomerLog(),
    journal: new Journal(),
    flows: new FlowRecord(() => time.now()),
  };
}

function firstState(clock: EmulatorSeed["clock"]): ((base: number) => ClockState) | undefined {
  if (clock === undefined) return undefined;
  const at = readInstant(clock.at);
  return clock.frozen === true ? () => ({ frozenAt: at }) : (base) => ({ offsetMs: at - base });
}

function rateLimitOf({ rateLimit }: Settings): Deployment["rateLimit"] {
  if (rateLimit === false) return undefined;
  const { retryAfter } = rateLimit;
  const form = retryAfter === false ? "absent" : retryAfter === "date" ? "date" : "seconds";
  return { window: new SlidingWindow(rateLimit), retryAfter: form };
}

// Unregistering also ends for good everything that was issued to a registration, so that a later registration
// of the same name does not inherit it. Spent jti values and rate windows stay.

export function unregisterPlugin(deployment: Deployment, input: unknown): void {
  const { plugins, accessTokens, launches, launchCodes } = deployment;
  const { tenantId, clientId } = plugins.unregister(input);
  const isTheirs = (of: Omit<LaunchIdentity, "userId">) =>
    of.tenantId === tenantId && of.clientId === clientId;
  endTokens(accessTokens, "plugin", (token) => token.variant === "A" && isTheirs(token));
  launches.forget(isTheirs);
  launchCodes.forget(isTheirs);
}

export function unregisterServiceAccount(deployment: Deployment, input: unknown): void {
  const { clientId } = deployment.serviceAccounts.unregister(input);
  // In Variant B a client_id is unique across tenants. The tokens of an API client of that name have ended.
  const isTheirs = (token: IssuedToken) => token.variant === "B" && token.clientId === clientId;
  endTokens(deployment.accessTokens, "service account", isTheirs);
}

export function unregisterApiClient(deployment: Deployment, input: unknown): void {
  const { apiClients, authorizations, authorizationCodes, pendingLogins } = deployment;
  const { clientId } = apiClients.unregister(input);
  const isTheirs = (of: { readonly clientId: string }) => of.clientId === clientId;
  // This ends the access tokens and refresh tokens of each login.
  authorizations.revokeAll(isTheirs);
  authorizationCodes.forget(isTheirs);
  pendingLogins.forget(({ request }) => isTheirs(request.client));
}

export function unregisterOperator(deployment: Deployment, input: unknown): void {
  const { operators, accessTokens, launches, launchCodes, authorizations, authorizationCodes } = deployment;
  const { tenantId, userId } = operators.unregister(input);
  const isTheirs = (of: { readonly tenantId: string; readonly userId?: string | undefined }) =>
    of.tenantId === tenantId && of.userId === userId;
  endTokens(accessTokens, "operator", isTheirs);
  launches.forget(isTheirs);
  launchCodes.forget(isTheirs);
  authorizations.revokeAll(isTheirs);
  authorizationCodes.forget(isTheirs);
  for (const sessions of [deployment.hostSessions, deployment.loginSessions]) {
    sessions.forget(({ operator }) => operator !== undefined && isTheirs(operator));
  }
}

/** The tokens are refused from now on, but stay stored, so that the log can report why. */
function endTokens(
  tokens: SecretMap<IssuedToken>,
  unregistered: Unregistered,
  matches: (token: IssuedToken) => boolean,
): void {
  tokens.revise((token) =>
    token.unregistered === undefined && matches(token) ? { ...token, unregistered } : token,
  );
}
