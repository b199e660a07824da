// The settings and records of one emulated deployment. A reset replaces the whole deployment, so a
// request in flight ends on the deployment on which it began. No other module keeps records.
import { operationsOf } from "../api/routes.js";
import { EmulatorFaults } from "../faults/faults.js";
import type { Settings } from "../options.js";
import { CustomerLog } from "../records/customer-log.js";
import { FlowRecord } from "../records/flow.js";
import { Journal } from "../records/journal.js";
import { type ApiClient, ApiClients, ServiceAccounts } from "../registrations/clients.js";
import type { KnownIdentity } from "../registrations/fields.js";
import type { JwksSource, PluginIdentity } from "../registrations/keys.js";
import { type OperatorIdentity, Operators } from "../registrations/operators.js";
import { Plugins } from "../registrations/plugins.js";
import type { RegistrationNoun } from "../registrations/registry.js";
import { EmulatorRules } from "../rules/checks.js";
import { JtiMemory } from "../variant-a/jti-memory.js";
import type { LaunchCode, LaunchIdentity } from "../variant-a/launch-codes.js";
import { SlidingWindow } from "../variant-a/sliding-window.js";
import { EmulatorClock } from "./clock.js";
import { type Ending, RandomSource, SecretMap } from "./expiring-map.js";

const HOUR_MS = 3_600_000;
/** Anyone can begin a login. If there are more (at most 40 MB), the oldest are forgotten. */
const MOST_PENDING_LOGINS = 10_000;

/** The launch of an opaque_code. It can be authorised until its end, that instant included. */
interface LaunchRecord extends LaunchIdentity, Ending {
  readonly used: boolean;
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

/**
 * A login between the authorization request and the person's decision. From its end on the person
 * must start again.
 */
interface PendingLogin extends Ending {
  readonly request: AuthorizationRequest;
  readonly isDecided: boolean;
}

/**
 * The login that belongs to a code of the authorization endpoint (Variant B), which can be
 * exchanged until its end, that instant included.
 */
export interface AuthorizationCode extends LaunchIdentity, Ending {
  readonly scopes: ReadonlySet<string> | undefined;
  readonly redirectUri: string;
  readonly codeChallenge: string;
  /** The authorization that an exchange opened; undefined before the exchange. */
  readonly authorizationId?: string;
}

/** The data of a refresh token, which ends with its login. */
export interface RefreshToken extends Ending {
  readonly authorizationId: string;
  /** Whether a newer one replaced it. */
  readonly rotated: boolean;
  /** Epoch milliseconds; from this instant on it has been idle for too long. */
  readonly idleAt: number;
}

/** One login that was exchanged for tokens. From its end on every refresh is refused. */
export interface Authorization extends LaunchIdentity, Ending {
  /** The granted scopes. If undefined, all capabilities of the person. */
  readonly scopes: ReadonlySet<string> | undefined;
  readonly revoked: boolean;
}

/** The data of an access token, fixed when it is minted. From its end on the token is refused. */
export interface IssuedToken extends PluginIdentity, Ending {
  readonly variant: "A" | "B";
  /** The person who launched the plugin or logged in; undefined if a machine acts for itself. */
  readonly userId?: string | undefined;
  /** The login that the token results from (Variant B). If it is revoked, the token is refused. */
  readonly authorizationId?: string | undefined;
  /**
   * "The token carries the scopes granted to the registration" (section 5.6). Undefined permits
   * all.
   */
  readonly scopes: ReadonlySet<string> | undefined;
  /**
   * The kind of registration that was removed. The token stays refused even if it is registered
   * again.
   */
  readonly unregistered?: RegistrationNoun | undefined;
}

/** The session that belongs to a cookie. From its end on it is over. */
export interface KeptSession extends Ending {
  /** Undefined until a person signs in. */
  readonly operator: OperatorIdentity | undefined;
}

export interface Deployment {
  readonly settings: Settings;
  /** The only clock, in epoch milliseconds. `time` can move it. */
  readonly clock: () => number;
  readonly time: EmulatorClock;
  readonly switches: EmulatorRules;
  /**
   * The base URL that clients are configured with, without a trailing slash. No request changes it.
   */
  readonly publicUrl: () => string;
  readonly rateWindows: SlidingWindow;
  readonly plugins: Plugins;
  readonly serviceAccounts: ServiceAccounts;
  readonly apiClients: ApiClients;
  readonly operators: Operators;
  readonly accessTokens: SecretMap<IssuedToken>;
  readonly usedJtis: JtiMemory;
  /** The launches of Variant A by opaque_code, then by code. */
  readonly launches: SecretMap<LaunchRecord>;
  readonly launchCodes: SecretMap<LaunchCode>;
  /** The logins of Variant B by the id in the form, by code and by refresh token. */
  readonly pendingLogins: SecretMap<PendingLogin>;
  readonly authorizationCodes: SecretMap<AuthorizationCode>;
  readonly refreshTokens: SecretMap<RefreshToken>;
  readonly authorizations: SecretMap<Authorization>;
  /** The sessions of the host application and of the authorization server, by cookie value. */
  readonly hostSessions: SecretMap<KeptSession>;
  readonly loginSessions: SecretMap<KeptSession>;
  readonly faults: EmulatorFaults;
  readonly customerLog: CustomerLog;
  readonly journal: Journal;
  /** The last launch or login, as it is displayed to people. */
  readonly flows: FlowRecord;
}

/**
 * The deployment has no registrations; `applySeed` adds those of the seed. `lasting` outlives a
 * reset.
 */
export function createDeployment(
  settings: Settings,
  lasting: Pick<Deployment, "publicUrl"> & { testKeys: JwksSource },
): Deployment {
  const random = new RandomSource(settings.randomSeed);
  const time = new EmulatorClock(settings.now ?? Date.now, settings.seed.clock);
  const clock = () => time.now();
  // Codes, refresh tokens and authorizations of a login are kept as long as any of its access
  // tokens. Otherwise a forgotten revocation would make a token valid again.
  const memoryMs = Math.max(HOUR_MS, settings.tokenLifetimeSeconds * 1000);
  const keeping = { clock, memoryMs };
  const serviceAccounts: ServiceAccounts = new ServiceAccounts(
    (id) => apiClients.find(id) !== undefined,
  );
  const apiClients: ApiClients = new ApiClients((id) => serviceAccounts.find(id) !== undefined);
  return {
    settings,
    time,
    clock,
    switches: new EmulatorRules(settings.rules),
    publicUrl: lasting.publicUrl,
    rateWindows: new SlidingWindow(clock),
    plugins: new Plugins(clock, settings.narrowingDelayMs, lasting.testKeys),
    serviceAccounts,
    apiClients,
    operators: new Operators(),
    accessTokens: new SecretMap(random, keeping),
    usedJtis: new JtiMemory(clock),
    launches: new SecretMap(random, keeping),
    launchCodes: new SecretMap(random, keeping),
    pendingLogins: new SecretMap(random, keeping, MOST_PENDING_LOGINS),
    authorizationCodes: new SecretMap(random, keeping),
    refreshTokens: new SecretMap(random, keeping),
    authorizations: new SecretMap(random, keeping),
    hostSessions: new SecretMap(random, keeping),
    loginSessions: new SecretMap(random, keeping),
    faults: new EmulatorFaults(random, () => operationsOf(settings)),
    customerLog: new CustomerLog(clock),
    journal: new Journal(),
    flows: new FlowRecord(clock),
  };
}

/** The variants in which something is issued to a registration. */
const variantsOf = {
  plugins: ["A"],
  serviceAccounts: ["B"],
  apiClients: ["B"],
  operators: ["A", "B"],
} as const;

/**
 * Unregisters, and ends for good everything that was issued to the registration, so that a later
 * one of the same name does not inherit it. Spent jti values and rate windows stay.
 */
export function unregister(
  deployment: Deployment,
  kind: keyof typeof variantsOf,
  input: unknown,
): void {
  const { noun, key } = deployment[kind].kind;
  const variants: readonly ("A" | "B")[] = variantsOf[kind];
  const registration: KnownIdentity = deployment[kind].unregister(input);
  const isTheirs = (of: KnownIdentity) => key.every((name) => of[name] === registration[name]);
  // The tokens are refused from now on, but stay stored, so that the log can report why.
  deployment.accessTokens.revise((token) => {
    const isEnded = variants.includes(token.variant) && isTheirs(token);
    return isEnded ? { ...token, unregistered: token.unregistered ?? noun } : token;
  });
  if (variants.includes("A")) {
    deployment.launches.forget(isTheirs);
    deployment.launchCodes.forget(isTheirs);
  }
  if (variants.includes("B")) {
    // This also ends the refresh tokens of each login.
    deployment.authorizations.revise((login) =>
      isTheirs(login) ? { ...login, revoked: true } : login,
    );
    deployment.authorizationCodes.forget(isTheirs);
    deployment.pendingLogins.forget(({ request }) => isTheirs(request.client));
  }
  for (const sessions of [deployment.hostSessions, deployment.loginSessions]) {
    sessions.forget(({ operator }) => operator !== undefined && isTheirs(operator));
  }
}
