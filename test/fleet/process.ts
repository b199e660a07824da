// One process of a fleet. Its first message holds its settings. After that it does what its orders
// say, and reports what it saw. It runs as a bundle (rig.ts), because thirty processes would take
// too long to compile it.
import { setTimeout as sleep } from "node:timers/promises";
import {
  type ApiClientSettings,
  apiClient,
  connect,
  type PersonAuth,
  resumeAuth,
  type ServicePluginSettings,
  serviceAccount,
  servicePlugin,
  type TokenStore,
} from "../../src/index.js";
import { fileStore } from "../../src/stores/file.js";
import { redisStore } from "../../src/stores/redis.js";
import { connectClient } from "../stores/redis-clients.js";

export interface StoreSettings {
  readonly redis?: { readonly url: string; readonly library: "redis" | "ioredis" };
  /** Shorter than usual, so that a pause can be longer. */
  readonly leaseMs?: number | undefined;
  readonly file?: { readonly path: string; readonly key: string };
  /** What the store says, true or not. */
  readonly lossWindowMs?: number | undefined;
  /** What a store with a planted fault leaves out. */
  readonly without?: readonly ("lock" | "compare-and-set")[] | undefined;
}

export interface Settings {
  readonly baseUrl: string;
  readonly timeoutMs: number;
  readonly store?: StoreSettings | undefined;
  /** The credentials of a machine. */
  readonly plugin?: ServicePluginSettings & { readonly privateKey: string };
  readonly account?: { readonly clientId: string; readonly clientSecret: string };
  /** Instead of them: the client of logins, and how many callers ask for tokens of them at once. */
  readonly client?: ApiClientSettings;
  readonly callers?: number;
}

/**
 * `begin` to ask for tokens all the time, of these `people`; `rest`; or `check`: ask once for each
 * of these people.
 */
export type Order = ["begin" | "rest"] | ["people" | "check", readonly string[]];

export interface Reports {
  readonly ready: true;
  readonly resting: true;
  /**
   * A token that the process did not have before, or an error that its request before did not have.
   */
  readonly token: string;
  readonly code: string;
  /** The type of an event. */
  readonly event: string;
  readonly failed: readonly [person: string, code: string];
  /** The outcomes of a `check`: "token", or the code of an error. */
  readonly checked: readonly (readonly [person: string, outcome: string])[];
}

const tenantId = "acme";
const tell = <Name extends keyof Reports>(name: Name, value: Reports[Name]) =>
  process.send?.([name, value]);
const codeOf = (error: unknown) => String((error as { code?: string }).code ?? error);

function openStore({
  redis,
  file,
  leaseMs = 15_000,
  lossWindowMs,
  without = [],
}: StoreSettings): TokenStore {
  const store = redis
    ? redisStore(connectClient[redis.library](redis.url), { lossWindowMs }, leaseMs)
    : fileStore(file?.path ?? "", { key: file?.key });
  return {
    ...store,
    set(key, value, { ifVersion, ...options } = {}) {
      const isCompared = ifVersion !== undefined && !without.includes("compare-and-set");
      return store.set(key, value, isCompared ? { ...options, ifVersion } : options);
    },
    lock: (key, task, options) =>
      without.includes("lock") ? task() : store.lock(key, task, options),
  };
}

async function runMachine(
  { plugin, account, ...settings }: Settings,
  store: TokenStore | undefined,
) {
  const credentials = [plugin && servicePlugin(plugin), account && serviceAccount(account)];
  const onEvent = ({ type }: { readonly type: string }) => tell("event", type);
  const given = credentials.filter((one) => one !== undefined);
  const connecting = connect({ ...settings, store, tenantId, credentials: given, onEvent });
  for (let last = ""; ; await sleep(25)) {
    const before = last;
    try {
      last = (await (await connecting).auth.getAccessToken()).value;
      if (last !== before) tell("token", last);
    } catch (error) {
      last = codeOf(error);
      if (last !== before) tell("code", last);
    }
  }
}

/**
 * Asks for tokens of random people. Each caller waits for its token before it asks for the next.
 */
function serveLogins({ client, callers = 0, ...settings }: Settings, store: TokenStore) {
  const options = {
    ...settings,
    tenantId,
    credential: apiClient(client as ApiClientSettings),
    store,
  };
  let people: readonly string[] = [];
  let isResting = false;
  const held = new Map<string, PersonAuth<"B">>();
  const ask = async (person: string): Promise<string> => {
    try {
      const auth = held.get(person) ?? (await resumeAuth({ ...options, person }));
      if (auth !== undefined) held.set(person, auth);
      return (await auth?.getAccessToken()) ? "token" : "missing";
    } catch (error) {
      return codeOf(error);
    }
  };
  const call = async () => {
    for (; !isResting; await sleep(20)) {
      const person = people[Math.floor(Math.random() * people.length)] ?? "";
      const outcome = await ask(person);
      if (outcome !== "token") tell("failed", [person, outcome]);
    }
  };
  return async ([order, named = []]: Order) => {
    if (order === "people") people = named;
    if (order === "check")
      tell("checked", await Promise.all(named.map(async (one) => [one, await ask(one)] as const)));
    if (order === "rest") isResting = true;
    if (order !== "begin") return;
    await Promise.all(Array.from({ length: callers }, call));
    tell("resting", true);
  };
}

export function run(): void {
  process.once("message", async (settings: Settings) => {
    const store = settings.store && openStore(settings.store);
    // Its connection is open before the others begin.
    await store?.get("anything");
    const serve = settings.client && store && serveLogins(settings, store);
    process.on("message", (order: Order) => (serve ? serve(order) : runMachine(settings, store)));
    tell("ready", true);
  });
  process.once("disconnect", () => process.exit());
}
