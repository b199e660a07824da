// The backend of a plugin in front of an emulated deployment of both variants, with people who
// launch it and log in.
import {
  type Backend,
  type BackendOptions,
  createBackend,
  type ErrorContext,
  type LaunchDeployment,
} from "../../src/backend/index.js";
import {
  createEmulator,
  type Emulator,
  type EmulatorOptions,
  type OperatorRegistration,
} from "../../src/emulator/index.js";
import {
  apiClient,
  memoryStore,
  type PersonCredential,
  type TokenStore,
  userInterfacePlugin,
} from "../../src/index.js";
import { newPkce } from "../emulator/signing-key.js";
import { type SteppedClock, steppedClock, waitless } from "../support/clock.js";
import { pkcs8, publicJwk, rsaKey } from "../support/keys.js";
import { TestBrowser } from "./test-browser.js";

/** The origins of the backend, of the host application and of the service. */
export const OWN = "https://planner.example";
export const HOST = "https://host.example";
export const SERVICE = "https://service.example";
export const CALLBACK: string = `${OWN}/auth/callback`;

export const ada: OperatorRegistration = {
  tenantId: "acme",
  userId: "ada",
  firstname: "Ada",
  lastname: "Lovelace",
  capabilities: ["devices:read"],
  roles: [{ name: "planner", group: "people" }],
};
export const adaShown = { userId: "ada", firstname: "Ada", lastname: "Lovelace" };

export function launchCredential(clientId = "planner"): PersonCredential<"A"> {
  return userInterfacePlugin({ clientId, privateKey: pkcs8(rsaKey()), keyId: "key-1" });
}

export function loginCredential(
  settings: Partial<Parameters<typeof apiClient>[0]> = {},
): PersonCredential<"B"> {
  const authorizationEndpoint = `${SERVICE}/v1/auth/authorize`;
  return apiClient({
    clientId: "portal",
    redirectUri: CALLBACK,
    authorizationEndpoint,
    ...settings,
  });
}

/** A deployment that only launches. */
export const launching = (): LaunchDeployment => ({
  tenantId: "acme",
  baseUrl: SERVICE,
  hostOrigin: HOST,
  launch: launchCredential(),
});
export const bearer = (session: string | undefined): Record<string, string> => ({
  authorization: `Bearer ${session}`,
});

export interface Report extends ErrorContext {
  readonly error: unknown;
}

export interface Rig {
  readonly backend: Backend;
  readonly emulator: Emulator;
  readonly clock: SteppedClock;
  readonly store: TokenStore;
  /** The calls of `onError`. */
  readonly reports: Report[];
  readonly browser: TestBrowser;
  /** Another process of the same plugin, which shares only the store. */
  readonly another: (changes?: Partial<BackendOptions>) => Backend;
  /** A browser at another such process. */
  readonly elsewhere: (
    changes?: Partial<BackendOptions>,
    cookies?: Iterable<[string, string]>,
  ) => TestBrowser;
  /** The body of POST launch after an operator launched the plugin. */
  readonly launchBody: (userId?: string) => Record<string, string>;
  /** Launches in a browser, and returns the answer of the backend. */
  readonly launch: (browser?: TestBrowser) => Promise<SessionAnswer>;
  /** Logs in with a browser, up to the redirect to the page. */
  readonly login: (browser?: TestBrowser) => Promise<Response>;
  /** Logs in with a browser, and returns the session that the page receives. */
  readonly loggedIn: (browser?: TestBrowser) => Promise<SessionAnswer>;
  /** The number of code exchanges and refreshes that the deployment received. */
  readonly tokenRequests: () => number;
}

export interface SessionAnswer {
  readonly session?: string;
  readonly csrf?: string;
  readonly variant: "A" | "B";
  readonly tenantId: string;
  readonly operator?: { readonly userId: string };
  readonly expiresAt: number;
}

export interface RigOptions extends Partial<Omit<BackendOptions, "deployments">> {
  readonly emulator?: EmulatorOptions;
  /** Wraps the store, which has the rig's clock. */
  readonly wrapStore?: (inner: TokenStore) => TokenStore;
  readonly deployments?: BackendOptions["deployments"];
}

/** For `wrapStore`: a store whose operations each call `before` first. */
export const interrupted =
  (
    before: (
      operation: "get" | "set" | "delete",
      ...args: Parameters<TokenStore["set"]>
    ) => unknown,
  ) =>
  (inner: TokenStore): TokenStore => ({
    async get(key) {
      await before("get", key, "");
      return inner.get(key);
    },
    async set(...args) {
      // An empty grant that has expired deletes one version of the entry.
      await before(args[1] === "" ? "delete" : "set", ...args);
      return inner.set(...args);
    },
    async delete(key) {
      await before("delete", key, "");
      return inner.delete(key);
    },
    lock: (...args) => inner.lock(...args),
  });

export function rig({ emulator: emulatorOptions, wrapStore, ...options }: RigOptions = {}): Rig {
  const clock = steppedClock();
  const emulator = createEmulator({ publicUrl: SERVICE, now: clock.now, ...emulatorOptions });
  for (const clientId of ["planner", "other-plugin"])
    emulator.registerPlugin({
      clientId,
      tenantId: "acme",
      type: "user_interface",
      scopes: ["devices:read"],
      jwks: { keys: [{ ...publicJwk(rsaKey()), kid: "key-1" }] },
      pageUrl: `${OWN}/`,
    });
  emulator.registerOperator(ada);
  emulator.registerOperator({ ...ada, userId: "grace", firstname: "Grace", lastname: "Hopper" });
  emulator.registerApiClient({ clientId: "portal", redirectUris: [CALLBACK] });
  const inner = memoryStore({ clock });
  const store = options.store ?? wrapStore?.(inner) ?? inner;
  const reports: Report[] = [];
  const defaults: BackendOptions = {
    deployments: [{ ...launching(), login: loginCredential() }],
    store,
    clock: waitless(() => emulator.clock.now()),
    fetch: (url, init) => emulator.fetch(url, init),
    onError: (error, context) => void reports.push({ error, ...context }),
  };
  const another = (changes: Partial<BackendOptions> = {}) =>
    createBackend({ ...defaults, ...options, ...changes });
  const elsewhere: Rig["elsewhere"] = (changes, cookies) =>
    new TestBrowser(another(changes), OWN, cookies);
  const backend = another();
  const browser = new TestBrowser(backend, OWN);
  const launchBody = (userId = "ada") => {
    const { codeChallenge, codeVerifier } = newPkce();
    const launch = emulator.launch({ tenantId: "acme", clientId: "planner", userId });
    const { code, state, tenantId } = launch.authorize({ codeChallenge });
    return { code, state, tenantId, codeVerifier, hostOrigin: HOST };
  };
  const login = async (by = browser) => {
    const begun = await by.get("/auth/login?return_to=/page");
    if (begun.status !== 302) throw new Error(`login: ${begun.status} ${await begun.text()}`);
    const { callbackUrl } = emulator.login({
      url: begun.headers.get("location") ?? "",
      userId: "ada",
    });
    return by.get(callbackUrl);
  };
  return {
    backend,
    emulator,
    clock,
    store,
    reports,
    browser,
    another,
    elsewhere,
    launchBody,
    login,
    async launch(by = browser) {
      const answer = await by.post("/auth/launch", launchBody());
      if (answer.status !== 200) throw new Error(`launch: ${answer.status} ${await answer.text()}`);
      return (await answer.json()) as SessionAnswer;
    },
    async loggedIn(by = browser) {
      await login(by);
      return (await (await by.post("/auth/session")).json()) as SessionAnswer;
    },
    tokenRequests: () => emulator.journal.tokenRequests().length,
  };
}
