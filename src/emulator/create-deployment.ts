// The state of a new deployment: everything empty, and the options with their defaults.
import { CustomerLog } from "./customer-log.js";
import type { Deployment } from "./deployment.js";
import type { EmulatorOptions, RateLimit } from "./emulator-options.js";
import { ApiClients } from "./registrations/api-clients.js";
import { Operators } from "./registrations/operators.js";
import { PluginRegistry } from "./registrations/plugin-registry.js";
import { ServiceAccounts } from "./registrations/service-accounts.js";
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

export function createDeployment(settings: EmulatorOptions, publicUrl: () => string): Deployment {
  const { refreshTokens = {} } = settings;
  const serviceAccounts: ServiceAccounts = new ServiceAccounts((id) => apiClients.find(id) !== undefined);
  const apiClients: ApiClients = new ApiClients((id) => serviceAccounts.find(id) !== undefined);
  return {
    clock: settings.now ?? Date.now,
    publicUrl,
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
    plugins: new PluginRegistry(settings.narrowingDelayMs ?? 0),
    serviceAccounts,
    apiClients,
    operators: new Operators(),
    accessTokens: new AccessTokens(),
    usedAssertionIds: new UsedAssertionIds(),
    launches: new SecretMap(),
    launchCodes: new SecretMap(),
    pendingLogins: new SecretMap(),
    authorizationCodes: new SecretMap(),
    refreshTokens: new SecretMap(),
    authorizations: new Authorizations(),
    hostSessions: new SecretMap(),
    loginSessions: new SecretMap(),
    customerLog: new CustomerLog(),
  };
}

function rateLimitOf({ requests, windowSeconds, retryAfter = true }: RateLimit): Deployment["rateLimit"] {
  const window = new SlidingWindow({ requests, windowSeconds });
  if (retryAfter === false) return { window, retryAfter: "absent" };
  return { window, retryAfter: retryAfter === true ? "seconds" : retryAfter };
}
