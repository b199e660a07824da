// createEmulator: one deployment of the service, in-process or over HTTP.

import { z } from "zod";
import { createAdmin } from "./admin/admin.js";
import { type NotServed, operationsNotSampled, operationsNotServed } from "./api/documented.js";
import type { ApiTypes } from "./api/responses.js";
import { EmulatorError, parseInput } from "./errors.js";
import type { EmulatorFaults } from "./faults/faults.js";
import { createApp } from "./http/app.js";
import { abortable, asRequest, type Connection, InProcessConnection } from "./http/connection.js";
import type { Listening } from "./http/listen.js";
import {
  DEFAULT_PUBLIC_URL,
  type EmulatorOptions,
  parseChanges,
  parseEmulatorOptions,
  type Settings,
  withDefaults,
} from "./options.js";
import type { CustomerLog } from "./records/customer-log.js";
import type { Journal } from "./records/journal.js";
import type {
  ApiClientIdentity,
  ApiClientRegistration,
  ApiClientUpdate,
  ServiceAccountIdentity,
  ServiceAccountRegistration,
  ServiceAccountUpdate,
} from "./registrations/clients.js";
import { identitySchema } from "./registrations/fields.js";
import { type PluginIdentity, type TestKey, TestKeys } from "./registrations/keys.js";
import type {
  OperatorIdentity,
  OperatorRegistration,
  OperatorUpdate,
} from "./registrations/operators.js";
import {
  type PluginRegistration,
  type PluginUpdate,
  pluginNames,
} from "./registrations/plugins.js";
import type { EmulatorRules } from "./rules/checks.js";
import { applySeed } from "./seed/seed.js";
import type { EmulatorClock } from "./state/clock.js";
import { createDeployment, unregister } from "./state/deployment.js";
import { type Launch, launchInProcess } from "./variant-a/launch.js";
import type { LaunchIdentity } from "./variant-a/launch-codes.js";
import { type LoginRequest, loginInProcess } from "./variant-b/authorization.js";

/** One deployment of the service. Instances share nothing. */
export interface Emulator {
  /**
   * Answers in-process, and can be passed wherever a `fetch` is accepted. The URL's origin is
   * ignored, and it may be relative to `publicUrl`. Rejects only for an invalid request or with an
   * aborted signal's reason.
   */
  readonly fetch: (input: Request | string | URL, init?: RequestInit) => Promise<Response>;
  /**
   * Serves over HTTP, by default on a free port of 127.0.0.1. `url` is the base URL to configure a
   * client with, unless the option `publicUrl` names another. A person can watch and control the
   * emulator at `/_emulator` under it.
   * @throws {@link EmulatorError} `already_listening`, `listen_failed`, `option_invalid` (port,
   * host).
   */
  listen(options?: { port?: number; host?: string }): Promise<{
    url: string;
    /** Ends the server and its connections. */
    close(): Promise<void>;
  }>;
  /** The base URL of the token URL that `aud` must name, without a trailing slash. */
  readonly publicUrl: string;
  /** The base URL at which it listens; undefined while it does not. */
  readonly url: string | undefined;
  // Every change of a registration counts from the next request on. Tokens and codes that were
  // issued before an unregistration are never valid for a later registration under the same name.

  /** @throws {@link EmulatorError} `registration_invalid`, `key_invalid`, `already_registered`. */
  registerPlugin(registration: PluginRegistration): void;
  /**
   * Added devices count for tokens already minted. Added scopes do only if the token carries them,
   * because a token never gains a scope. Narrowing counts after `narrowingDelayMs`.
   * @throws {@link EmulatorError} `registration_invalid`, `key_invalid`, `not_registered`.
   */
  updatePlugin(update: PluginUpdate): void;
  /**
   * Its token requests are refused (`plugin.registered`), and so are its tokens, like those of a
   * disabled plugin (`bearer.plugin-enabled`). A later registration under its name has the same
   * `testKey` and spent `jti` values.
   * @throws {@link EmulatorError} `registration_invalid`, `not_registered`.
   * @see the description, sections 3 and 7.1
   * @example
   * emulator.unregisterPlugin({ tenantId: "acme", clientId: "reporter" });
   */
  unregisterPlugin(plugin: PluginIdentity): void;
  /**
   * @throws {@link EmulatorError} `registration_invalid`, `already_registered` (a client_id is
   * unique in Variant B).
   */
  registerServiceAccount(registration: ServiceAccountRegistration): void;
  /**
   * Scopes count from the next token on. Tokens already minted stay as they are: only Variant A's
   * registrations are re-checked on each call.
   * @throws {@link EmulatorError} `registration_invalid`, `not_registered`.
   */
  updateServiceAccount(update: ServiceAccountUpdate): void;
  /**
   * Its token requests are then refused (`client.authentication`), and its tokens are revoked
   * (`bearer.revoked`).
   * @throws {@link EmulatorError} `registration_invalid`, `not_registered`.
   */
  unregisterServiceAccount(account: ServiceAccountIdentity): void;
  /**
   * @throws {@link EmulatorError} `registration_invalid`, `already_registered` (a client_id is
   * unique in Variant B).
   */
  registerApiClient(registration: ApiClientRegistration): void;
  /**
   * The secret counts from the next request on. All else counts for logins that begin later:
   * earlier logins, their codes and their tokens stay as they are.
   * @throws {@link EmulatorError} `registration_invalid`, `not_registered`.
   * @example
   * // From now on it is a public client.
   * emulator.updateApiClient({ clientId: "portal", clientSecret: null });
   */
  updateApiClient(update: ApiClientUpdate): void;
  /**
   * Its requests are then refused (`authorization.client`, `api-client.authentication`). Its logins
   * are revoked (`bearer.revoked`, `refresh.revoked`); its codes and logins in progress are
   * forgotten.
   * @throws {@link EmulatorError} `registration_invalid`, `not_registered`.
   */
  unregisterApiClient(client: ApiClientIdentity): void;
  /** @throws {@link EmulatorError} `registration_invalid`, `already_registered`. */
  registerOperator(registration: OperatorRegistration): void;
  /**
   * Capabilities count for tokens already minted too; names and roles count from the next token on.
   * @throws {@link EmulatorError} `registration_invalid`, `not_registered`.
   */
  updateOperator(update: OperatorUpdate): void;
  /**
   * The person cannot sign in, and is signed out. Tokens that act for the person are revoked
   * (`bearer.revoked`, `refresh.revoked`), and their launches and codes are forgotten.
   * @throws {@link EmulatorError} `registration_invalid`, `not_registered`.
   */
  unregisterOperator(operator: OperatorIdentity): void;
  /**
   * Launches a user-interface plugin as its operator does in the host application, without a
   * browser. Every rule holds except the one for the operator's password.
   * @throws {@link EmulatorError} `launch_refused`; `option_invalid` for an argument that names no
   * launch.
   * @see the description, section 5.3
   * @example
   * const launch = emulator.launch({ tenantId: "acme", clientId: "planner", userId: "ada" });
   * const codeChallenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"; // of RFC 7636, appendix B
   * const { code, state, tenantId } = launch.authorize({ codeChallenge });
   */
  launch(launch: LaunchIdentity): Launch;
  /**
   * Logs a person in at Variant B's authorization endpoint, without a browser, and returns the URL
   * that the browser would be sent to. Every rule holds except the one for the operator's password.
   * @throws {@link EmulatorError} `login_refused` if a page would show the person an error that the
   *   app does not receive; `option_invalid` for a bad URL or a missing user id.
   * @see the description, section 5.8
   * @example
   * const { url } = await beginLogin({
   *   baseUrl,
   *   credential: apiClient({ clientId, redirectUri, authorizationEndpoint }),
   * });
   * const { callbackUrl } = emulator.login({ url, userId: "ada" });
   */
  login(login: LoginRequest): { callbackUrl: string };
  /**
   * The private key, as a JWK, of a plugin that was registered without a `jwks`. It stays the same
   * across resets. Those of the first eight plugins are part of this package, so they are no
   * secret.
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
  /** Faults by name: an armed fault applies to the next requests that match. */
  readonly faults: EmulatorFaults;
  /**
   * Restores the seed at once: registrations, tokens, codes, sessions, rate windows, clock,
   * switches, faults, logs. Requests in flight end on the state they began with. `changes` replace
   * options from now on: a member that is undefined goes back to its default, and one that is left
   * out stays. If it throws, nothing changes.
   * @throws {@link EmulatorError} `option_invalid` (also for publicUrl, now and randomSeed),
   * `seed_invalid`.
   * @example
   * import { afterEach } from "vitest";
   *
   * afterEach(() => emulator.reset());
   * emulator.reset({ tokenLifetimeSeconds: 60 });
   */
  reset(changes?: EmulatorOptions): void;
  /** The real reasons of refusals. */
  readonly customerLog: CustomerLog;
  /** The requests seen. */
  readonly journal: Journal;
  /**
   * The operations of the option `api` that no request can reach, each with the reason. They are
   * left out.
   */
  readonly notServed: readonly NotServed[];
  /**
   * The operations of the option `api` for whose answer there is no sample, each with the reason:
   * no value is found that the schema allows. They answer their operationId and parameters until
   * the document or `routes` has an example.
   */
  readonly notSampled: readonly NotServed[];
}

const testKeySchema = identitySchema({ tenantId: z.string(), clientId: z.string() }, pluginNames);

/**
 * A host that is empty or not a string is refused, because Node would then serve every interface.
 */
const addressSchema = z.strictObject({
  port: z.int().min(0).max(65_535).default(0),
  host: z.string().min(1).default("127.0.0.1"),
});

/**
 * An emulated deployment of the service that enforces every rule of its description, in memory.
 * Where the description is silent it follows the named options and, in `rules`, the standard it
 * names. Besides the token endpoints it serves `GET /api/v1/{tenantId}/devices` and
 * `GET /v1/devices` (scope devices:read, three devices) and, in Variant A, three invented routes:
 * `GET …/devices/{deviceId}` (devices:read, device parameter),
 * `POST …/schedules/{scheduleId}/executions` (schedules:execute) and `GET …/tenant-settings` (takes
 * no plugin token).
 *
 * For people: Variant A's host application is at `/host/{tenantId}`; Variant B's authorization
 * endpoint, with its login and consent pages, at `/v1/auth/authorize`. `launch` and `login` do
 * in-process what a person does there. The page at `/_emulator` shows what happens, live, and
 * changes everything that this object can change; see the option `admin`.
 *
 * The rate limit counts every POST to a tenant's Variant A token endpoint, refused ones included,
 * except those that it answers 429. An accepted assertion is spent even if the request is then
 * refused for its grant.
 *
 * @throws {@link EmulatorError} `option_invalid`, `route_conflict`.
 * @see the service's description, sections 2 to 8.
 *
 * @example
 * const emulator = createEmulator({ variants: ["A"] });
 * emulator.registerPlugin({
 *   clientId: "reporter",
 *   tenantId: "acme",
 *   type: "service",
 *   scopes: ["devices:read"],
 * });
 * const { url, close } = await emulator.listen();
 */
export function createEmulator<T extends ApiTypes = ApiTypes>(
  options: EmulatorOptions<T> = {},
): Emulator {
  let given = parseEmulatorOptions(options);
  const { publicUrl: configured = DEFAULT_PUBLIC_URL } = given;
  const { origin, pathname } = new URL(configured);
  const prefix = pathname.replace(/^(.*[^/])?\/+$/, "$1");
  let listening: Listening | undefined;
  let isListening = false;
  const publicUrl = () => ((given.publicUrl === undefined && listening?.origin) || origin) + prefix;

  const testKeys = new TestKeys();
  const deploy = (settings: Settings) => {
    const deployment = createDeployment(settings, { publicUrl, testKeys });
    applySeed(deployment, settings.seed);
    return deployment;
  };
  const settings = withDefaults(given);
  let deployment = deploy(settings);
  let app = createApp(settings, prefix);

  const answer = async (request: Request, connection: Connection) => {
    // A request ends on this state even if a reset comes meanwhile.
    const arrivedAt = { app, deployment };
    const page = await admin(request, connection);
    if (page !== undefined) return request.method === "HEAD" ? new Response(null, page) : page;
    return arrivedAt.app(arrivedAt.deployment, request, connection);
  };

  const emulator: Emulator = {
    async fetch(input, init) {
      const request = asRequest(input, init, publicUrl());
      request.signal.throwIfAborted();
      return abortable(answer(request, new InProcessConnection(request, input)), request.signal);
    },
    async listen(options = {}) {
      const address = parseInput(addressSchema, options, "listen");
      if (isListening)
        throw new EmulatorError(
          "already_listening",
          "The emulator listens already. Close that server first.",
        );
      isListening = true;
      const { listenOn } = await import("./http/listen.js");
      const server = await listenOn(answer, address).catch((error: unknown) => {
        isListening = false;
        throw error;
      });
      listening = server;
      return {
        url: server.origin + prefix,
        async close() {
          await server.close();
          if (listening !== server) return;
          listening = undefined;
          isListening = false;
        },
      };
    },
    get publicUrl() {
      return publicUrl();
    },
    get url() {
      return listening && listening.origin + prefix;
    },
    registerPlugin: (registration) => deployment.plugins.register(registration),
    updatePlugin: (update) => deployment.plugins.update(update),
    unregisterPlugin: (plugin) => unregister(deployment, "plugins", plugin),
    registerServiceAccount: (registration) => deployment.serviceAccounts.register(registration),
    updateServiceAccount: (update) => deployment.serviceAccounts.update(update),
    unregisterServiceAccount: (account) => unregister(deployment, "serviceAccounts", account),
    registerApiClient: (registration) => deployment.apiClients.register(registration),
    updateApiClient: (update) => deployment.apiClients.update(update),
    unregisterApiClient: (client) => unregister(deployment, "apiClients", client),
    registerOperator: (registration) => deployment.operators.register(registration),
    updateOperator: (update) => deployment.operators.update(update),
    unregisterOperator: (operator) => unregister(deployment, "operators", operator),
    launch: (identity) => launchInProcess(() => deployment, identity),
    login: (request) => loginInProcess(deployment, request),
    testKey(plugin) {
      const key = testKeys.find(parseInput(testKeySchema, plugin, "plugin"));
      if (key !== undefined) return key;
      const problem = "this emulator made no key for a plugin of that tenant and client_id";
      throw new EmulatorError("not_registered", `${problem}. Register the plugin without a jwks.`);
    },
    clock: liveProxy(() => deployment.time),
    rules: liveProxy(() => deployment.switches),
    faults: liveProxy(() => deployment.faults),
    customerLog: liveProxy(() => deployment.customerLog),
    journal: liveProxy(() => deployment.journal),
    get notServed() {
      return operationsNotServed(deployment.settings);
    },
    get notSampled() {
      return operationsNotSampled(deployment.settings);
    },
    reset(changes = {}) {
      const changed = { ...given, ...parseChanges(changes) };
      // Without changes the routes are the same, and they cost most of a reset.
      const isSame = Object.keys(changes).length === 0;
      const settings = isSame ? deployment.settings : withDefaults(changed);
      const fresh = deploy(settings);
      const routes = isSame ? app : createApp(settings, prefix);
      deployment.faults.ended.abort();
      fresh.journal.replace(deployment.journal);
      [deployment, app, given] = [fresh, routes, changed];
    },
  };
  const admin = createAdmin(emulator.reset, () => deployment, prefix);
  return emulator;
}

/** Forwards every access to the current object, so that a reference outlives a reset. */
function liveProxy<Part extends object>(current: () => Part): Part {
  return new Proxy({} as Part, {
    get(_, name) {
      const part = current();
      const value: unknown = Reflect.get(part, name, part);
      return typeof value === "function" ? value.bind(part) : value;
    },
  });
}
