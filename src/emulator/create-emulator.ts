// Builds one emulated deployment: its state, its routes and its two ways in.

import { createAdmin } from "./admin/admin.js";
import { answerRequest } from "./answer-request.js";
import { routeTable } from "./api/routes.js";
import { type App, createApp } from "./app.js";
import type { Emulator } from "./emulator.js";
import { EmulatorError } from "./errors.js";
import { launchInProcess } from "./host/launch.js";
import { abortable } from "./http/abortable.js";
import type { Connection } from "./http/connection.js";
import { InProcessConnection } from "./http/in-process-connection.js";
import { type Listening, listenOn, readAddress } from "./http/listen.js";
import { readLaunchIdentity, readLogin, readPluginIdentity } from "./in-process-arguments.js";
import { JournalWaiters } from "./journal.js";
import {
  defaultOptions,
  type EmulatorOptions,
  parseChanges,
  parseEmulatorOptions,
  withDefaults,
} from "./options.js";
import { TestKeys } from "./registrations/keys.js";
import { applySeed } from "./seed/seed.js";
import {
  createDeployment,
  type Deployment,
  type Lasting,
  unregisterApiClient,
  unregisterOperator,
  unregisterPlugin,
  unregisterServiceAccount,
} from "./state.js";
import { loginInProcess } from "./variant-b/login-in-process.js";

/**
 * An emulated deployment of the service that enforces every rule of its description, in memory. Where the description
 * is silent it follows the named options and, in `rules`, the standard it names. Beside the token endpoints it serves
 * `GET /api/v1/{tenantId}/devices` and `GET /v1/devices` (scope devices:read, three devices) and, in Variant A, three
 * invented routes: `GET …/devices/{deviceId}` (devices:read, device parameter), `POST …/schedules/{scheduleId}/executions`
 * (schedules:execute) and `GET …/tenant-settings` (takes no plugin token).
 *
 * For people: Variant A's host application is at `/host/{tenantId}`; Variant B's authorization endpoint, with its login
 * and consent pages, at `/v1/auth/authorize`. `launch` and `login` do in-process what a person does there. The page at
 * `/_emulator` shows what happens, live, and changes everything that this object can change; see the option `admin`.
 *
 * The rate limit counts every POST to a tenant's Variant A token endpoint, refused ones included, except those that
 * it answers 429. An accepted assertion is spent even if the request is then refused for its grant.
 *
 * @throws {@link EmulatorError} `option_invalid`, `route_conflict`.
 * @see the service's description, sections 2 to 8.
 *
 * @example
 * const emulator = createEmulator({ variants: ["A"] });
 * emulator.registerPlugin({ clientId: "reporter", tenantId: "acme", type: "service", jwks, scopes: ["devices:read"] });
 * const { url, close } = await emulator.listen();
 */
export function createEmulator(options: EmulatorOptions = {}): Emulator {
  let settings = parseEmulatorOptions(options);
  const configuredUrl = settings.publicUrl === undefined ? undefined : new URL(settings.publicUrl);
  const prefix = (configuredUrl?.pathname ?? "").replace(/\/+$/, "");
  let listening: Listening | undefined;
  let isListening = false;
  const publicUrl = () => (configuredUrl?.origin ?? listening?.origin ?? defaultOptions.publicUrl) + prefix;

  const testKeys = new TestKeys(settings.randomSeed);
  const lasting = { publicUrl, testKeys, waiters: new JournalWaiters() };
  const build = (from: EmulatorOptions) => ({
    deployment: seeded(from, lasting),
    app: appOf(from, prefix),
  });
  let { deployment, app } = build(settings);

  const answer = async (request: Request, connection: Connection) => {
    // What is there when the request arrives, whatever a reset puts in its place meanwhile.
    const arrivedAt = { app, deployment };
    const page = await admin(request, connection);
    return page ?? answerRequest(arrivedAt.app, arrivedAt.deployment, request, connection);
  };

  const emulator: Emulator = {
    async fetch(input, init) {
      const request = asRequest(input, init, publicUrl());
      request.signal.throwIfAborted();
      return abortable(answer(request, new InProcessConnection(request, input)), request.signal);
    },
    async listen(options = {}) {
      const address = readAddress(options);
      if (isListening) throw new EmulatorError("already_listening", "close the server that listens first");
      isListening = true;
      try {
        listening = await listenOn(answer, address);
      } catch (error) {
        isListening = false;
        throw error;
      }
      const server = listening;
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
    updatePlugin: (update) => deployment.plugins.update(update, deployment.clock()),
    unregisterPlugin: (plugin) => unregisterPlugin(deployment, plugin),
    registerServiceAccount: (registration) => deployment.serviceAccounts.register(registration),
    updateServiceAccount: (update) => deployment.serviceAccounts.update(update),
    unregisterServiceAccount: (account) => unregisterServiceAccount(deployment, account),
    registerApiClient: (registration) => deployment.apiClients.register(registration),
    updateApiClient: (update) => deployment.apiClients.update(update),
    unregisterApiClient: (client) => unregisterApiClient(deployment, client),
    registerOperator: (registration) => deployment.operators.register(registration),
    updateOperator: (update) => deployment.operators.update(update),
    unregisterOperator: (operator) => unregisterOperator(deployment, operator),
    launch: (request) => launchInProcess(() => deployment, readLaunchIdentity(request)),
    login: (request) => loginInProcess(deployment, readLogin(request, publicUrl())),
    testKey(plugin) {
      const key = testKeys.find(readPluginIdentity(plugin));
      if (key !== undefined) return key;
      throw new EmulatorError(
        "not_registered",
        "this emulator made no key for a plugin of that tenant and client_id: one is made where a plugin is registered without a jwks",
      );
    },
    clock: following(() => deployment.time),
    rules: following(() => deployment.switches),
    faults: following(() => deployment.faults),
    customerLog: following(() => deployment.customerLog),
    journal: following(() => deployment.journal),
    reset(changes = {}) {
      const changed = { ...settings, ...parseChanges(changes) };
      const fresh = build(changed);
      deployment.faults.release();
      ({ deployment, app } = fresh);
      lasting.waiters.startOver();
      settings = changed;
    },
  };
  const admin = createAdmin(
    { emulator, deployment: () => deployment, settings: () => deployment.settings },
    prefix,
  );
  return emulator;
}

function seeded(options: EmulatorOptions, lasting: Lasting): Deployment {
  const deployment = createDeployment(withDefaults(options), lasting);
  applySeed(deployment, deployment.settings.seed);
  return deployment;
}

function appOf(options: EmulatorOptions, prefix: string): App {
  const { variants, refreshPath, routes } = withDefaults(options);
  return createApp({ variants, prefix, routes: routeTable(routes, refreshPath), refreshPath });
}

/** Stands for whatever is current at each use, so that what a test holds on to outlives a reset. */
function following<Part extends object>(current: () => Part): Part {
  return new Proxy({} as Part, {
    get(_, name) {
      const part = current();
      const value: unknown = Reflect.get(part, name, part);
      return typeof value === "function" ? value.bind(part) : value;
    },
  });
}

/** Requests and URLs of another copy of fetch, or of another realm, are told by what they have, not by their class. */
function asRequest(input: Request | string | URL, init: RequestInit | undefined, base: string): Request {
  if (typeof input !== "string" && (typeof input !== "object" || input === null))
    throw new TypeError("fetch takes a URL or a Request");
  // The slash: what is relative to http://h/base is under it.
  if (typeof input === "string" || !("headers" in input))
    return new Request(new URL(input, `${base}/`), init);
  if (input.bodyUsed) throw new TypeError("the body of the request was read already");
  if (init === undefined) return input;
  if (input instanceof Request) return new Request(input, init);
  // The global constructor would take it for a URL.
  const { url, method, headers, body, signal } = input as Request;
  return new Request(url, {
    method,
    headers: [...headers],
    body,
    signal,
    duplex: "half",
    ...init,
  } as RequestInit);
}
