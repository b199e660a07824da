// Faults that are planted under the client: each must break its rule, or the simulation would not notice a real one.
import type { Clock, ConnectorOptions, Service, TokenStore } from "../../src/index.js";
import type { Plan } from "./plan.js";
import type { RuleName } from "./rules.js";
import type { Scheduler } from "./scheduler.js";

/** An event of the client. */
type ClientEvent = Parameters<NonNullable<ConnectorOptions["onEvent"]>>[0];
type Fetch = (url: string, init?: RequestInit) => Promise<Response>;

/** What breaks the client's surroundings. */
export interface Planted {
  readonly clock?: (clock: Clock, scheduler: Scheduler) => Clock;
  readonly store?: (store: TokenStore) => TokenStore;
  readonly fetch?: (fetch: Fetch) => Fetch;
  readonly tenantOf?: (tenantId: string, plan: Plan) => string | undefined;
  readonly beforeCall?: (service: Service, signal: AbortSignal) => Promise<void>;
  readonly onEvent?: (event: ClientEvent, clock: Clock) => void;
  readonly shown?: (event: ClientEvent) => unknown;
  readonly isAbortLost?: boolean;
}

const isForToken = (init: RequestInit | undefined) => String(init?.body ?? "").includes("client_credentials");

/** Changes the answers of token requests. */
const answers =
  (change: (response: Response) => Promise<Response>): NonNullable<Planted["fetch"]> =>
  (fetch) =>
  async (url, init) => {
    const response = await fetch(url, init);
    return isForToken(init) ? change(response) : response;
  };

const withHeaders = async (response: Response, change: (headers: Headers) => void) => {
  const headers = new Headers(response.headers);
  change(headers);
  return new Response((await response.text()) || null, { status: response.status, headers });
};

let lastToken = "";

export const plantedFaults: Readonly<Record<string, { readonly rule: RuleName } & Planted>> = {
  "the store returns another key's token": {
    rule: "tenant isolation",
    store: (store) => ({
      ...store,
      async set(key, value, options) {
        if (value.includes("expiresAt")) lastToken = value;
        return store.set(key, value, options);
      },
      async get(key) {
        const found = await store.get(key);
        return found?.value.includes("expiresAt") ? { ...found, value: lastToken || found.value } : found;
      },
    }),
  },
  "a credential is that of another tenant": {
    rule: "tenant isolation",
    tenantOf: (tenantId, { customers }) =>
      customers.find((one) => one.variant === "B" && one.tenantId !== tenantId)?.tenantId,
  },
  "a pool of connections mixes answers": {
    rule: "tenant isolation",
    fetch: (fetch) => {
      let kept: string | undefined;
      return async (url, init) => {
        const response = await fetch(url, init);
        if (!isForToken(init) || !response.ok) return response;
        const text = await response.text();
        kept ??= text;
        return new Response(kept, { headers: { "content-type": "application/json" } });
      };
    },
  },
  "a proxy sends a token request twice": {
    rule: "nothing twice",
    fetch: (fetch) => async (url, init) => {
      if (isForToken(init)) fetch(url, init).catch(() => {});
      return fetch(url, init);
    },
  },
  "the first assertion is sent again and again": {
    rule: "nothing twice",
    fetch: (fetch) => {
      const first = new Map<string, RequestInit>();
      return async (url, init) => {
        if (isForToken(init) && !first.has(url)) first.set(url, { ...init });
        return fetch(url, isForToken(init) ? { ...init, body: first.get(url)?.body ?? null } : init);
      };
    },
  },
  "a fault is retried by the transport": {
    rule: "nothing twice",
    fetch: (fetch) => (url, init) => fetch(url, init).catch(() => fetch(url, init)),
  },
  "no timer ever ends": { rule: "deadline", clock: (clock) => ({ ...clock, setTimeout: () => ({}) }) },
  "time limits never end": {
    rule: "deadline",
    clock: (clock) => ({
      ...clock,
      setTimeout: (task, ms) => (ms >= 5_000 ? { isOver: true } : clock.setTimeout?.(task, ms)),
    }),
  },
  "a wait before a retry never ends": {
    rule: "deadline",
    clock: (clock) => ({ ...clock, sleep: () => new Promise<void>(() => {}) }),
  },
  "a wait before a retry ends after 0.1 s": {
    rule: "Retry-After",
    clock: (clock) => ({
      ...clock,
      // Not in no time at all: a caller that asks again at once would never let time go on.
      sleep: () => new Promise<void>((resolve) => void clock.setTimeout?.(resolve, 100)),
    }),
  },
  "monotonic time runs ten times too fast": {
    rule: "Retry-After",
    clock: (clock) => ({
      ...clock,
      monotonic: () => 10 * (clock.monotonic?.() ?? 0),
      setTimeout: (task, ms) => clock.setTimeout?.(task, ms / 10),
    }),
  },
  "jitter makes a wait shorter": {
    rule: "Retry-After",
    clock: (clock) => ({ ...clock, random: () => -5 }),
  },
  "the header Retry-After is lost": {
    rule: "Retry-After",
    fetch: answers((response) => withHeaders(response, (headers) => headers.delete("retry-after"))),
  },
  "the gate never opens": {
    rule: "healing",
    fetch: answers((response) =>
      withHeaders(response, (headers) => response.status === 429 && headers.set("retry-after", "80000")),
    ),
  },
  "a lost connection stays lost": {
    rule: "healing",
    fetch: (fetch) => {
      let isLost = false;
      return async (url, init) => {
        if (isLost) throw new TypeError("fetch failed");
        return fetch(url, init).catch((error) => {
          isLost = true;
          throw error;
        });
      };
    },
  },
  "an expiry is ignored": {
    rule: "fresh tokens",
    fetch: answers(async (response) => {
      if (!response.ok) return response;
      const text = await response.text();
      const longer = text.replace(/"expires_in":\s*\d+/, '"expires_in":864000');
      return new Response(longer, { headers: { "content-type": "application/json" } });
    }),
  },
  "the clock stands still": {
    rule: "fresh tokens",
    clock: (clock) => {
      const [now, monotonic] = [clock.now(), clock.monotonic?.() ?? 0];
      return { ...clock, now: () => now, monotonic: () => monotonic };
    },
  },
  "the lock is ignored": {
    rule: "few requests",
    store: (store) => ({ ...store, lock: async (_key, task) => task() }),
  },
  "the store forgets": { rule: "few requests", store: (store) => ({ ...store, get: async () => undefined }) },
  "a token is dropped before each call": {
    rule: "few requests",
    beforeCall: async ({ auth }, signal) => auth.invalidate(await auth.getAccessToken({ signal })),
  },
  "a token seems to end at once": {
    rule: "few requests",
    fetch: answers(async (response) => {
      const text = (await response.text()).replace(/"expires_in":\s*\d+/, '"expires_in":1');
      return new Response(text || null, { status: response.status, headers: response.headers });
    }),
  },
  "an abort is not passed on": { rule: "abort", isAbortLost: true },
  "a timer of a renewal is left": {
    rule: "nothing grows",
    onEvent: ({ type }, clock) => {
      const again = () => void clock.setTimeout?.(again, 60_000);
      if (type === "token_requested") again();
    },
  },
  "an event shows a secret": {
    rule: "no secret",
    shown: (event) => (event.type === "token_requested" ? { ...event, debug: "secret-of-tenant-0" } : event),
  },
  "a write of the store fails unseen": {
    rule: "no unhandled rejection",
    store: (store) => ({
      ...store,
      set: (key, value, options) => {
        Promise.reject(new Error("unseen"));
        return store.set(key, value, options);
      },
    }),
  },
};
