// Faults that are planted in the client or under it: each must break its rule, or the simulation
// would not notice a real one.
import type { Clock, ConnectorOptions, Service, TokenStore } from "../../src/index.js";
import type { Plan } from "./plan.js";
import type { RuleName } from "./rules.js";
import type { Scheduler } from "./scheduler.js";

/** An event of the client. */
type ClientEvent = Parameters<NonNullable<ConnectorOptions["onEvent"]>>[0];
type Fetch = (url: string, init?: RequestInit) => Promise<Response>;

/**
 * A change of the client's source: a text that occurs once in a file of src, and what replaces it.
 */
export interface Change {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

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

const isForToken = (init: RequestInit | undefined) =>
  String(init?.body ?? "").includes("client_credentials");

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

/** A fault of the client itself. */
const inSource = (rule: RuleName, file: string, from: string, to: string): PlantedFault => ({
  rule,
  change: { file: `src/${file}`, from, to },
});

export interface PlantedFault extends Planted {
  readonly rule: RuleName;
  readonly change?: Change;
}

const lifecycle = "auth/lifecycle/token-lifecycle.ts";
const refresh = "auth/person/person-refresh.ts";
const exchange = "auth/person/code-exchange.ts";
const gate = "auth/request/rate-limit-gate.ts";
const redis = "stores/redis.ts";

export const plantedFaults: Readonly<Record<string, PlantedFault>> = {
  "a cache of tokens is keyed without the tenant": inSource(
    "tenant isolation",
    "connect.ts",
    "return this.#auths.get(name, () =>",
    "return this.#auths.get(variant, () =>",
  ),
  "a stored token is keyed without the tenant and the client": inSource(
    "tenant isolation",
    "auth/machine-tokens.ts",
    'return [kind, variant, target.baseUrl, target.tenantId, clientId, "client_credentials"];',
    'return [kind, variant, target.baseUrl, clientId.slice(0, 0), "client_credentials"];',
  ),
  "a person is held under the tenant": inSource(
    "person isolation",
    "backend/person-auths.ts",
    "const held = this.#held.get(options.person, () => ({}));",
    'const held = this.#held.get(options.tenantId ?? "", () => ({}));',
  ),
  "a grant is stored under the tenant": inSource(
    "person isolation",
    "auth/person/person-context.ts",
    '["grant", variant, baseUrl, tenantId, prepared.clientId, person]',
    '["grant", variant, baseUrl, tenantId, prepared.clientId, person.slice(0, 0)]',
  ),
  "a code is not marked as spent": inSource(
    "a code is sent once",
    exchange,
    "if (spentCodes.has(key)) throw alreadySent();\n  spentCodes.set(key, now + spentMarkLifetimeMs);\n  try {",
    "try {\n    return async () => {};",
  ),
  "the mark of a code replaces another": inSource(
    "a code is sent once",
    exchange,
    'await store.set(key, "spent", { ifVersion: null, expiresAt });',
    'await store.set(key, "spent", { expiresAt });',
  ),
  "a code may be sent again after its answer was lost": inSource(
    "a code is sent once",
    exchange,
    "if (error instanceof TransportError || error instanceof ConfigurationError) await unmark();",
    "await unmark();",
  ),
  "the note before a refresh is skipped": inSource(
    "a refresh token is sent once",
    refresh,
    "const version = await this.grant.write(noted, stored.version);",
    "const version = noted && stored.version;",
  ),
  "a refresh retries a 503": inSource(
    "a refresh token is sent once",
    refresh,
    "const reply = await sendOnce(endpoint, send);",
    "let reply = await sendOnce(endpoint, send);\n    if (reply.answer.status === 503) reply = " +
      "await sendOnce(endpoint, send);",
  ),
  "a refresh token is put back after its answer was lost": inSource(
    "a refresh token is sent once",
    refresh,
    "await this.grant.saveOrHold({ ...stored.grant, isOutcomeUnknown: true }, version, emit);",
    "await this.#putBack(sending);",
  ),
  "the note of another process is not read": inSource(
    "a refresh token is sent once",
    refresh,
    'const isUnknown = isOutcomeUnknown || sentAt !== undefined || outcome === "unanswered";',
    'const isUnknown = isOutcomeUnknown || outcome === "unanswered";',
  ),
  "a refresh goes on with an older copy": inSource(
    "a refresh token is sent once",
    refresh,
    'if (outcome === "replaced") throw outcomeUnknown(replacedBefore);',
    "",
  ),
  "the compare-and-set is a set, and the lock is ignored": {
    rule: "a refresh token is sent once",
    store: (store) => ({
      ...store,
      set: (key, value, { ifVersion: _ifVersion, ...options } = {}) =>
        store.set(key, value, options),
      lock: async (_key, task) => task(),
    }),
  },
  "the gate forgets": inSource(
    "Retry-After",
    gate,
    "return this.#refusals === 0 || this.#leftMs() <= 0;",
    "return true;",
  ),
  "deadlines and pauses use epoch time": inSource(
    "Retry-After",
    "clock.ts",
    "readAt = time.monotonic();\n      elapsedMs",
    "readAt = time.now();\n      elapsedMs",
  ),
  "a rate limit of another process is not adopted": inSource(
    "Retry-After in the fleet",
    gate,
    "this.gate.adopt(record);",
    "",
  ),
  "the pause after a refusal is skipped": inSource(
    "pause after a refusal",
    lifecycle,
    "if (this.#error !== undefined && this.#closedMs() > 0) throw this.#error;",
    "",
  ),
  "an expired token is served while it is renewed": inSource(
    "fresh tokens",
    lifecycle,
    "if (now < held.token.expiresAt) return this.#serveWhileRenewing(held, requestId);",
    "return this.#serveWhileRenewing(held, requestId);",
  ),
  "callers do not share a renewal": inSource(
    "few requests",
    lifecycle,
    "const shared = this.isRenewing ? this.#renewal : undefined;",
    "const shared = this.isRenewing && false ? this.#renewal : undefined;",
  ),
  "a late 401 discards a fresh token": inSource(
    "few requests",
    lifecycle,
    "if (this.#held === undefined || this.#held.token.value !== token?.value) return;",
    "if (this.#held === undefined) return;",
  ),
  "a token in the store is not used": inSource(
    "few requests",
    "auth/machine-tokens.ts",
    "if (isNewer(stored, renewal) && renewal.isFresh(stored)) return { token: stored };",
    "",
  ),
  "a refused token is taken from the store again": inSource(
    "a refused token is not sent again",
    "auth/machine-tokens.ts",
    "return stored !== undefined && !renewal.known().includes(stored.value);",
    "return stored !== undefined && renewal.known()[0] !== stored.value;",
  ),
  "a customer that moved is not detected again": inSource(
    "healing",
    "choose-variant.ts",
    "if (isOld && !isRepeated &&",
    "if (!isOld && !isRepeated &&",
  ),
  "a clock that is set back costs the trust in the server's": inSource(
    "healing",
    "auth/request/server-clock.ts",
    "Math.abs(receivedAt - sentAt) / 2 + 1_000;",
    "(receivedAt - sentAt) / 2 + 1_000;",
  ),
  "a refusal of the network ends a login": inSource(
    "sessions last",
    refresh,
    "if (isStoreError(cause) || this.grant.over !== undefined) throw cause;",
    'if (!isStoreError(cause)) await this.grant.end(personRequiredError("B", "refused", "no"), ' +
      "version);\n    this.grant.requireAlive();",
  ),
  "a store that fails ends a session": inSource(
    "sessions last",
    "backend/records.ts",
    'if (codeOf(error) !== "store_corrupt") throw error;',
    "",
  ),
  "the store is written in clear": inSource(
    "no secret",
    "stores/encrypted.ts",
    "const sealed = await encryption.seal(value, { name: await encryption.nameOf(name) });",
    "const sealed = (await encryption.nameOf(name)) && value;",
  ),
  "a lease is renewed for ever": inSource(
    "nothing grows",
    redis,
    "lease.end();\n          // If it fails",
    "// If it fails",
  ),
  "a listener stays at the signal of a caller": inSource(
    "nothing grows",
    "http/exchange.ts",
    "if (known === undefined || !known.ends.delete(end) || known.ends.size > 0) return;",
    "if (known === undefined || !known.ends.delete(end) || known.ends.size >= 0) return;",
  ),
  "a grant is stored without an end": inSource(
    "nothing grows",
    "backend/backend-options.ts",
    "{ ...options, expiresAt: Math.min(expiresAt, expiry()) }",
    "{ ...options, expiresAt: Math.max(expiresAt, expiry()) }",
  ),
  "the release of a lock fails unseen": inSource(
    "no unhandled rejection",
    redis,
    "run(releaseScript, name, [holder]).catch(() => {}));",
    "run(releaseScript, name, [holder]));",
  ),
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
        return found?.value.includes("expiresAt")
          ? { ...found, value: lastToken || found.value }
          : found;
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
    rule: "an assertion is sent once",
    fetch: (fetch) => async (url, init) => {
      if (isForToken(init)) fetch(url, init).catch(() => {});
      return fetch(url, init);
    },
  },
  "the first assertion is sent again and again": {
    rule: "an assertion is sent once",
    fetch: (fetch) => {
      const first = new Map<string, RequestInit>();
      return async (url, init) => {
        if (isForToken(init) && !first.has(url)) first.set(url, { ...init });
        return fetch(
          url,
          isForToken(init) ? { ...init, body: first.get(url)?.body ?? null } : init,
        );
      };
    },
  },
  "a fault is retried by the transport": {
    rule: "an assertion is sent once",
    fetch: (fetch) => (url, init) => fetch(url, init).catch(() => fetch(url, init)),
  },
  "no timer ever ends": {
    rule: "deadline",
    clock: (clock) => ({ ...clock, setTimeout: () => ({}) }),
  },
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
      withHeaders(
        response,
        (headers) => response.status === 429 && headers.set("retry-after", "80000"),
      ),
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
  "a clock runs at half the speed": {
    rule: "fresh tokens",
    clock: (clock) => {
      const begun = clock.now();
      return { ...clock, now: () => begun + (clock.now() - begun) / 2 };
    },
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
  "the store forgets": {
    rule: "few requests",
    store: (store) => ({ ...store, get: async () => undefined }),
  },
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
    shown: (event) =>
      event.type === "token_requested" ? { ...event, debug: "secret-1-of-tenant-0" } : event,
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
