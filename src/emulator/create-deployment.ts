// A deployment as it begins: the options with their defaults, and the seed's registrations.
import { type ClockState, MovableClock, readInstant } from "./clock.js";
import { CustomerLog } from "./customer-log.js";
import type { Deployment } from "./deployment.js";
import type { EmulatorOptions, RateLimit } from "./emulator-options.js";
import { Faults } from "./faults/faults.js";
import { Journal } from "./journal.js";
import { RandomSource } from "./random-source.js";
import { ApiClients } from "./registrations/api-clients.js";
import { Operators } from "./registrations/operators.js";
import { PluginRegistry } from "./registrations/plugin-registry.js";
import { ServiceAccounts } from "./registrations/service-accounts.js";
import type { JwksSource } from "./registrations/test-keys.js";
import { RuleSwitches } from "./rule-switches.js";
import { applySeed } from "./seed/apply-seed.js";
import type { EmulatorSeed } from "./seed/seed.js";
import { AccessTokens } from "./stores/access-tokens.js";
import { Authorizations } from "./stores/authorizations.js";
import { SecretMap } from "./stores/secret-map.js";
import { SlidingWindow } from "./stores/sliding-window.js";
import { UsedAssertionIds } from "./stores/used-assertion-ids.js";

/** "3600 in the reference response" (description, section 2.3) and "1 hour by default" (section 5.9). */
const DEFAULT_TOKEN_LIFETIME_SECONDS = 3600;
/** "The code is valid for two minutes" (section 3). */
const DEFAULT_CODE_LIFETIME_SECONDS = 120;
/** Not shown. RFC 9700 section 4.14.2: refresh tokens "SHOULD expire if not used for some time". */
const DEFAULT_REFRESH_IDLE_SECONDS = 30 * 86_400;
const DEFAULT_REFRESH_LIFETIME_SECONDS = 90 * 86_400;

/** What outlives a reset. */
export interface Lasting {
  readonly publicUrl: () => string;
  readonly testKeys: JwksSource;
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
    publicUrl: lasting.publicUrl,
    tokenLifetimeSeconds: settings.tokenLifetimeSeconds ?? DEFAULT_TOKEN_LIFETIME_SECONDS,
    codeLifetimeSeconds: settings.codeLifetimeSeconds ?? DEFAULT_CODE_LIFETIME_SECONDS,
    rateLimit: settings.rateLimit ? rateLimitOf(settings.rateLimit) : undefined,
    launchState: settings.launchState ?? "launch-parameter",
    issuerInCallback: settings.issuerInCallback ?? false,
    refresh: {
      rotation: refreshTokens.rotation ?? true,
      reuseDetection: refreshTokens.reuseDetection ?? true,
      lifetimeMs: (refreshTokens.lifetimeSeconds ?? DEFAULT_REFRESH_LIFETIME_SECONDS) * 1000,
      idleMs: (refreshTokens.idleSeconds ?? DEFAULT_REFRESH_IDLE_SECONDS) * 1000,
    },
    plugins: new PluginRegistry(settings.narrowingDelayMs ?? 0, lasting.testKeys),
    serviceAccounts,
    apiClients,
    operators: new Operators(),
    accessTokens: new AccessTokens(random),
    usedAssertionIds: new UsedAssertionIds(),
    launches: new SecretMap(random),
    launchCodes: new SecretMap(random),
    pendingLogins: new SecretMap(random),
    authorizationCodes: new SecretMap(random),
    refreshTokens: new SecretMap(random),
    authorizations: new Authorizations(random),
    hostSessions: new SecretMap(random),
    loginSessions: new SecretMap(random),
    faults: new Faults(random),
    customerLog: new CustomerLog(),
    journal: new Journal(),
  };
  applySeed(deployment, seed);
  return deployment;
}

function firstState(clock: EmulatorSeed["clock"]): ((base: number) => ClockState) | undefined {
  if (clock === undefined) return undefined;
  const at = readInstant(clock.at);
  return clock.frozen === true ? () => ({ frozenAt: at }) : (base) => ({ offsetMs: at - base });
}

function rateLimitOf({ requests, windowSeconds, retryAfter = true }: RateLimit): Deployment["rateLimit"] {
  const window = new SlidingWindow({ requests, windowSeconds });
  if (retryAfter === false) return { window, retryAfter: "absent" };
  return { window, retryAfter: retryAfter === true ? "seconds" : retryAfter };
}
