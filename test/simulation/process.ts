// One process of a world: a connector for machines and a backend for people, on its own clock and
// its own connection to the store.
import { type Backend, createBackend } from "../../src/backend/index.js";
import {
  apiClient,
  type Clock,
  type Connector,
  type ConnectorOptions,
  createConnector,
  memoryStore,
  type Service,
  serviceAccount,
  servicePlugin,
  type TokenStore,
  userInterfacePlugin,
} from "../../src/index.js";
import { encryptedStore } from "../../src/stores/encrypted.js";
import { redisStore } from "../../src/stores/redis.js";
import { factsHeader, networkOf, type World } from "./network.js";
import type { Planted } from "./planted.js";
import type { RedisFault, SimulatedRedis } from "./redis.js";
import type { Owner } from "./scheduler.js";
import { HOST, OWN, SERVICE } from "./service.js";

export interface SimulatedProcess extends Owner {
  readonly name: string;
  readonly index: number;
  readonly connector: Connector;
  /** Made when a person first comes. */
  readonly backend: Backend;
  /** The last service for each tenant. */
  readonly held: Map<string, Service>;
  /** Passed to many calls, for as long as the process lives. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  jumpedMs: number;
  suspendedMs: number;
}

export interface Stores {
  readonly redis: SimulatedRedis;
  readonly shared: TokenStore;
}

const storeKey = Buffer.alloc(32, 7).toString("base64");

export function startProcess(
  world: World,
  { redis, shared }: Stores,
  planted: Planted,
  index: number,
  life: number,
): SimulatedProcess {
  const { plan, scheduler, rules, service, random, note, faultOf } = world;
  const { rate = 1, offsetMs = 0 } = plan.processes[index] ?? {};
  let made: Backend | undefined;
  const self = {
    get backend(): Backend {
      made ??= openBackend();
      return made;
    },
    name: `p${index}.${life}`,
    index,
    isDead: false,
    suspendedUntil: 0,
    suspendedMs: 0,
    jumpedMs: 0,
    held: new Map<string, Service>(),
    signal: new AbortController().signal,
  };
  const own = scheduler.clock(self, rate, () => offsetMs + self.jumpedMs, random);
  const clock = planted.clock?.(own, scheduler) ?? own;

  const openStore = (): TokenStore | undefined => {
    if (plan.store === "none") return undefined;
    if (plan.store === "shared") return shared;
    if (plan.store === "own") return memoryStore({ clock });
    const fault = () => {
      const isMeant = (one: { kind: string; process: number }) =>
        one.process === index && /store (?:lost|slow|silent)/.test(one.kind);
      return faultOf(isMeant)?.kind as RedisFault;
    };
    const latency = () => (1 + random() * plan.latencyMs) / 10;
    const store = redisStore(redis.client(self, latency, fault), {
      lossWindowMs: plan.lossWindowMs,
      clock,
    });
    return plan.isEncrypted ? encryptedStore(store, storeKey) : store;
  };
  const opened = openStore();
  const store = opened && (planted.store?.(opened) ?? opened);
  const fetchOf = (name: string) => {
    const network = networkOf(world, self, name);
    return (planted.fetch?.(network) ?? network) as typeof globalThis.fetch;
  };
  const customerOf = (tenantId: string) => plan.customers.find((one) => one.tenantId === tenantId);
  const named = (tenantId: string) => planted.tenantOf?.(tenantId, plan) ?? tenantId;
  const onEvent: ConnectorOptions["onEvent"] = (event) => {
    planted.onEvent?.(event, clock);
    rules.shown(planted.shown?.(event) ?? event);
    note(`${self.name} ${event.type}`);
  };
  const common = {
    clock,
    store,
    onEvent,
    shareInFlight: plan.sharesInFlight,
    // Requests of Variant B do not name their tenant.
    intercept: (
      { purpose, tenantId }: { purpose: string; tenantId: string },
      send: (headers: Record<string, string>) => Promise<Response>,
    ) => send({ [factsHeader]: `${purpose} ${tenantId}` }),
  };
  const plugin = servicePlugin(({ tenantId }) => {
    const customer = customerOf(tenantId);
    if (!customer || service.variantOf(customer) !== "A") return undefined;
    return service.plugin(customer, "plugin");
  });
  const account = serviceAccount(({ tenantId }) => {
    const customer = customerOf(named(tenantId));
    if (!customer || service.variantOf(customer) !== "B") return undefined;
    return { clientId: `account-${customer.tenantId}`, clientSecret: service.secret(customer) };
  });
  const one = plan.customers[0]?.variant === "A" ? plugin : account;
  const connector = createConnector({
    ...common,
    fetch: fetchOf(self.name),
    credentials: plan.hasOneCredential ? [one] : [plugin, account],
  });
  const launch = userInterfacePlugin(({ tenantId }) => {
    const customer = customerOf(tenantId);
    return customer && service.plugin({ ...customer, trouble: undefined }, "planner");
  });
  const login = apiClient(({ tenantId }) => {
    const customer = customerOf(tenantId);
    if (customer === undefined) return undefined;
    return {
      clientId: `portal-${tenantId}`,
      clientSecret: service.secret({ ...customer, trouble: undefined }),
      authorizationEndpoint: `${SERVICE}/v1/auth/authorize`,
    };
  });
  const openBackend = () =>
    createBackend({
      ...common,
      fetch: fetchOf(`${self.name}'s backend`),
      publicUrl: OWN,
      session: { cookie: plan.hasCookies },
      deployments: ({ tenantId = "" }) => ({
        tenantId,
        baseUrl: SERVICE,
        hostOrigin: HOST,
        launch,
        login,
      }),
      onError: (error) => rules.shown(error),
      onEvent: onEvent as NonNullable<Parameters<typeof createBackend>[0]["onEvent"]>,
    });
  return Object.assign(self, { connector, clock });
}
