// What createEmulator returns.

import type { EmulatorRules } from "./checks.js";
import type { EmulatorClock } from "./clock.js";
import type { CustomerLog } from "./customer-log.js";
import type { EmulatorFaults } from "./faults/faults.js";
import type { Launch } from "./host/launch.js";
import type { Journal } from "./journal.js";
import type { EmulatorOptions } from "./options.js";
import type {
  ApiClientIdentity,
  ApiClientRegistration,
  ApiClientUpdate,
} from "./registrations/api-clients.js";
import type { PluginIdentity, TestKey } from "./registrations/keys.js";
import type { OperatorIdentity, OperatorRegistration, OperatorUpdate } from "./registrations/operators.js";
import type { PluginRegistration, PluginUpdate } from "./registrations/plugins.js";
import type {
  ServiceAccountIdentity,
  ServiceAccountRegistration,
  ServiceAccountUpdate,
} from "./registrations/service-accounts.js";
import type { LaunchIdentity } from "./state.js";
import type { LoginRequest } from "./variant-b/login-in-process.js";

/** One deployment of the service. Instances share nothing. */
export interface Emulator {
  /**
   * Answers in-process; usable wherever a `fetch` is taken. The origin of the URL does not matter, a relative URL is
   * relative to `publicUrl`. Rejects only for what is no request, or with the reason of an aborted signal.
   */
  readonly fetch: (input: Request | string | URL, init?: RequestInit) => Promise<Response>;
  /**
   * Serves over HTTP, by default on a free port of 127.0.0.1. `url` is the base URL to configure a client with,
   * unless `publicUrl` was given for another. A person watches and steers it at `/_emulator` under it.
   *
   * @throws {@link EmulatorError} `already_listening`, `listen_failed`, `option_invalid` (port, host).
   */
  listen(options?: { port?: number; host?: string }): Promise<{ url: string; close(): Promise<void> }>;
  /** The base URL whose token URL `aud` must name. Without a trailing slash. */
  readonly publicUrl: string;
  /** The base URL it listens at, undefined while it does not. */
  readonly url: string | undefined;
  /** @throws {@link EmulatorError} `registration_invalid`, `key_invalid`, `already_registered`. */
  registerPlugin(registration: PluginRegistration): void;
  /**
   * Live: enabling, disabling, keys and roles count from the next request on; so do scopes and devices that are
   * added, though a token never gains a scope; narrowing counts after `narrowingDelayMs`.
   *
   * @throws {@link EmulatorError} `registration_invalid`, `key_invalid`, `not_registered`.
   */
  updatePlugin(update: PluginUpdate): void;
  /**
   * From the next request on the plugin is not registered: its token requests are refused (`plugin.registered`), and its
   * tokens as those of a disabled plugin are (`bearer.plugin-enabled`). For good: a plugin that is registered under the
   * same name later has none of its tokens, launches and codes. Its `testKey` and its spent `jti` values stay, and are
   * those of the later one too.
   *
   * @throws {@link EmulatorError} `registration_invalid`, `not_registered`.
   * @see the description, sections 3 and 7.1
   * @example
   * emulator.unregisterPlugin({ tenantId: "acme", clientId: "reporter" });
   */
  unregisterPlugin(plugin: PluginIdentity): void;
  /** @throws {@link EmulatorError} `registration_invalid`, `already_registered` (a client_id is unique in Variant B). */
  registerServiceAccount(registration: ServiceAccountRegistration): void;
  /**
   * Live: from the next request on the new secret counts and the old one is refused; scopes count from the next token
   * on. Tokens already minted stay as they are: only Variant A's registrations are re-checked on each call.
   *
   * @throws {@link EmulatorError} `registration_invalid`, `not_registered`.
   * @example
   * emulator.updateServiceAccount({ clientId: "worker", clientSecret: "another" });
   */
  updateServiceAccount(update: ServiceAccountUpdate): void;
  /**
   * From the next request on it is unknown (`client.authentication`), and its tokens are revoked (`bearer.revoked`). For
   * good: whoever is registered under its client_id later has none of them.
   *
   * @throws {@link EmulatorError} `registration_invalid`, `not_registered`.
   */
  unregisterServiceAccount(account: ServiceAccountIdentity): void;
  /** @throws {@link EmulatorError} `registration_invalid`, `already_registered` (a client_id is unique in Variant B). */
  registerApiClient(registration: ApiClientRegistration): void;
  /**
   * Live: the secret counts from the next request on; redirect URIs, scopes, name and tenant count for logins that begin
   * from then on. A login in progress, a code and what people allowed stay as they are, with their tokens.
   *
   * @throws {@link EmulatorError} `registration_invalid`, `not_registered`.
   * @example
   * emulator.updateApiClient({ clientId: "portal", clientSecret: null }); // from now on a public client
   */
  updateApiClient(update: ApiClientUpdate): void;
  /**
   * From the next request on it is unknown (`authorization.client`, `api-client.authentication`). What people allowed it is
   * revoked (`bearer.revoked`), its codes and the logins in progress are forgotten. For good: whoever is registered under
   * its client_id later has none of it, not even the refresh tokens (`refresh.revoked`).
   *
   * @throws {@link EmulatorError} `registration_invalid`, `not_registered`.
   */
  unregisterApiClient(client: ApiClientIdentity): void;
  /** @throws {@link EmulatorError} `registration_invalid`, `already_registered`. */
  registerOperator(registration: OperatorRegistration): void;
  /**
   * Live: capabilities count from the next call on, also for tokens already minted; names and roles from the next
   * token on.
   *
   * @throws {@link EmulatorError} `registration_invalid`, `not_registered`.
   */
  updateOperator(update: OperatorUpdate): void;
  /**
   * From the next request on nobody signs in under that name, and whoever was signed in is so no longer. Tokens that act
   * for the person are revoked (`bearer.revoked`, `refresh.revoked`), their launches and codes are forgotten. For good:
   * whoever is registered under that name later is somebody else.
   *
   * @throws {@link EmulatorError} `registration_invalid`, `not_registered`.
   */
  unregisterOperator(operator: OperatorIdentity): void;
  /**
   * Launches a user-interface plugin as its operator does in the host application, without a browser. Every rule
   * holds but the operator's password.
   *
   * @throws {@link EmulatorError} `launch_refused`; `option_invalid` for what names no launch.
   * @see the description, section 5.3
   * @example
   * const launch = emulator.launch({ tenantId: "acme", clientId: "planner", userId: "ada" });
   * const { code, state, tenantId } = launch.authorize({ codeChallenge });
   */
  launch(launch: LaunchIdentity): Launch;
  /**
   * Logs a person in at Variant B's authorization endpoint, without a browser, and gives the URL that the browser
   * would be sent to. Every rule holds but the operator's password.
   *
   * @throws {@link EmulatorError} `login_refused`: what a page would tell the person, and not the app; `option_invalid`
   *   for what is no URL or names no person.
   * @see the description, section 5.8
   * @example
   * const { callbackUrl } = emulator.login({ url, userId: "ada" });
   */
  login(login: LoginRequest): { callbackUrl: string };
  /**
   * The private key, as a JWK, of a plugin that was registered without a `jwks`. It stays the same across resets.
   *
   * @throws {@link EmulatorError} `not_registered`.
   * @example
   * const privateKey = emulator.testKey({ tenantId: "acme", clientId: "reporter" });
   * servicePlugin({ clientId: "reporter", privateKey });
   */
  testKey(plugin: PluginIdentity): TestKey;
  /** The only clock of the deployment. */
  readonly clock: EmulatorClock;
  /** The switches of the rules; `rules` of this entry is the table that describes them. */
  readonly rules: EmulatorRules;
  /** What goes wrong, by name: armed faults strike the next requests that match. */
  readonly faults: EmulatorFaults;
  /**
   * Back to the seed at once: registrations, tokens, codes, sessions, rate windows, clock, switches, faults, logs.
   * Requests in flight end on what they began with. `changes` take the place of options it was made with, from now on:
   * a member that is undefined goes back to its default, one that is left out stays. With an error nothing changes.
   *
   * @throws {@link EmulatorError} `option_invalid` (also for publicUrl, now and randomSeed), `seed_invalid`.
   * @example
   * afterEach(() => emulator.reset());
   * emulator.reset({ seed: anotherTenant, tokenLifetimeSeconds: 60 });
   */
  reset(changes?: EmulatorOptions): void;
  /** The real reasons of refusals. */
  readonly customerLog: CustomerLog;
  /** The requests seen. */
  readonly journal: Journal;
}
