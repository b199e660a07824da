// A deployment as it begins: the options with their defaults, and the seed's registrations.
import { routeTable } from "./api/route-table.js";
import { choicesOf } from "./choices.js";
import { type ClockState, MovableClock, readInstant } from "./clock.js";
import { CustomerLog } from "./customer-log.js";
import { defaultOptions } from "./default-options.js";
import type { Deployment } from "./deployment.js";
import type { EmulatorOptions, RateLimit } from "./emulator-options.js";
import { Faults } from "./faults/faults.js";
import { FlowRecord } from "./flow/flow-record.js";
import { Journal } from "./journal/journal.js";
import type { JournalWaiters } from "./journal/journal-waiters.js";
import { RandomSource } from "./random-source.js";
import { ApiClients } from "./registrations/api-clients.js";
import { Operators } from "./registrations/operators.js";
import { PluginRegistry } from "./registrations/plugin-registry.js";
import { ServiceAccounts } from "./registrations/service-accounts.js";
import type { JwksSource } from "./registrations/test-keys.js";
import { RuleSwitches } from "./rule-switches.js";
import { applySeed, type EmulatorSeed } from "./seed/seed.js";
import { AccessTokens } from "./stores/access-tokens.js";
import { Authorizations } from "./stores/authorizations.js";
import { SecretMap } from "./stores/secret-map.js";
import { SlidingWindow } from "./stores/sliding-window.js";
import { UsedAssertionIds } from "./stores/used-assertion-ids.js";
import { MOST_PENDING_LOGINS } from "./variant-b/pending-login.js";

/** What outlives a reset. */
export interface Lasting {
  readonly publicUrl: () => string;
  readonly testKeys: JwksSource;
  readonly waiters?: JournalWaiters | undefined;
}

/** @throws EmulatorError `seed_invalid` */
export function createDeployment(settings: EmulatorOptions, lasting: Lasting): Deployment {
  const { refreshTokens = {}, seed = {} } = settings;
  const random = new RandomSource(settings.randomSeed);
  const time = new MovableClock(settings.now ?? Date.now, firstState(seed.clock));
  const serviceAccounts: ServiceAccounts = new ServiceAccounts((id) => apiClients.find(id) !== undefined);
  const apiClients: ApiClients = new ApiClients((id) => serviceAccounts.find(id) !== undefined);
  const deployment: Deployment = {
    time,
    clock: () => time.now(),
    random,
    switches: new RuleSwitches(settings.rules),
    choices: choicesOf(settings),
    publicUrl: lasting.publicUrl,
    tokenLifetimeSeconds: settings.tokenLifetimeSeconds ?? defaultOptions.tokenLifetimeSeconds,
    codeLifetimeSeconds: settings.codeLifetimeSeconds ?? defaultOptions.codeLifetimeSeconds,
    rateLimit: settings.rateLimit ? rateLimitOf(settings.rateLimit) : undefined,
    launchState: settings.launchState ?? defaultOptions.launchState,
    issuerInCallback: settings.issuerInCallback ?? defaultOptions.issuerInCallback,
    refresh: {
      rotation: refreshTokens.rotation ?? defaultOptions.refreshTokens.rotation,
      reuseDetection: refreshTokens.reuseDetection ?? defaultOptions.refreshTokens.reuseDetection,
      lifetimeMs: (refreshTokens.lifetimeSeconds ?? defaultOptions.refreshTokens.lifetimeSeconds) * 1000,
      idleMs: (refreshTokens.idleSeconds ?? defaultOptions.refreshTokens.idleSeconds) * 1000,
    },
    plugins: new PluginRegistry(
      settings.narrowingDelayMs ?? defaultOptions.narrowingDelayMs,
      lasting.testKeys,
    ),
    serviceAccounts,
    apiClients,
    operators: new Operators(),
    accessTokens: new AccessTokens(random),
    usedAssertionIds: new UsedAssertionIds(),
    launches: new SecretMap(random),
    launchCodes: new SecretMap(random),
    pendingLogins: new SecretMap(random, MOST_PENDING_LOGINS),
    authorizationCodes: new SecretMap(random),
    refreshTokens: new SecretMap(random),
    authorizations: new Authorizations(random),
    hostSessions: new SecretMap(random),
    loginSessions: new SecretMap(random),
    faults: new Faults(random, operationsOf(settings)),
    customerLog: new CustomerLog(),
    journal: new Journal(lasting.waiters),
    flows: new FlowRecord(),
  };
  applySeed(deployment, seed);
  return deployment;
}

function firstState(clock: EmulatorSeed["clock"]): ((base: number) => ClockState) | undefined {
  if (clock === undefined) return undefined;
  const at = readInstant(clock.at);
  return clock.frozen === true ? () => ({ frozenAt: at }) : (base) => ({ offsetMs: at - base });
}

/** Of the token endpoints, of the host's answer to a launch, and of every route. */
function operationsOf({ routes = [], refreshPath = defaultOptions.refreshPath }: EmulatorOptions): string[] {
  const table = routeTable(routes, refreshPath);
  return ["requestToken", "authorizeLaunch", ...new Set(table.map(({ operationId }) => operationId))];
}

function rateLimitOf({ requests, windowSeconds, retryAfter = true }: RateLimit): Deployment["rateLimit"] {
  const window = new SlidingWindow({ requests, windowSeconds });
  if (retryAfter === false) return { window, retryAfter: "absent" };
  return { window, retryAfter: retryAfter === true ? "seconds" : retryAfter };
}
