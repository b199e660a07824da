// What the emulator holds stays bounded: each store by its own number, whatever the clock does, and the whole by what is
// still alive.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createEmulator } from "../../../src/emulator/index.js";
import { TestKeys } from "../../../src/emulator/registrations/keys.js";
import { createDeployment } from "../../../src/emulator/state.js";
import {
  AccessTokens,
  Authorizations,
  ExpiringMap,
  RandomSource,
  SecretMap,
  SlidingWindow,
  UsedAssertionIds,
} from "../../../src/emulator/stores.js";
import { beginPending, findPending } from "../../../src/emulator/variant-b/authorization.js";
import { collectGarbage } from "../../support/wait.js";
import { START } from "../plugin-client.js";
import { mutatedRequest } from "./mutated-request.js";
import { mutation } from "./mutation.js";
import { validRequests } from "./valid-requests.js";
import { World } from "./world.js";

interface Filling {
  /** Adds one entry that is alive for as long as the clock stands. */
  add(index: number): void;
  dump(): readonly unknown[];
  load(entries: readonly unknown[]): void;
}

interface Store {
  readonly name: string;
  readonly bound: number;
  make(): Filling;
}

const LATER = START + 3_600_000;
const random = new RandomSource(1);

function filling<Part extends Omit<Filling, "add">>(
  part: Part,
  add: (part: Part, index: number) => void,
): Filling {
  return {
    add: (index) => add(part, index),
    dump: () => part.dump(),
    load: (entries) => part.load(entries),
  };
}

const token = { variant: "A", tenantId: "acme", clientId: "reporter", scopes: undefined } as const;
const login = { tenantId: "acme", clientId: "portal", userId: "ada", scopes: undefined, revoked: false };
const stores: readonly Store[] = [
  {
    name: "whatever expires",
    bound: 100_000,
    make: () => filling(new ExpiringMap(), (map, index) => map.set(`${index}`, { expiresAt: LATER }, START)),
  },
  {
    name: "codes, launches, logins, sessions and refresh tokens, each of them",
    bound: 100_000,
    make: () => filling(new SecretMap<number>(random), (map, index) => void map.mint(index, LATER, START)),
  },
  {
    name: "access tokens",
    bound: 100_000,
    make: () =>
      filling(new AccessTokens(random), (tokens) => void tokens.mint({ ...token, expiresAt: LATER }, START)),
  },
  {
    name: "authorizations",
    bound: 100_000,
    make: () =>
      filling(
        new Authorizations(random),
        (authorizations) => void authorizations.open({ ...login, endsAt: LATER }, LATER, START),
      ),
  },
  {
    name: "the tenants of the rate limit",
    bound: 100_000,
    make: () =>
      filling(new SlidingWindow({ requests: 5, windowSeconds: 60 }), (window, index) => {
        window.take(`tenant-${index}`, START);
      }),
  },
  {
    name: "used jti values",
    bound: 1_000_000,
    make: () =>
      filling(new UsedAssertionIds(), (ids, index) => {
        ids.use({ tenantId: "acme", clientId: "reporter", jti: `${index}` }, LATER, START);
      }),
  },
];

describe.each(stores)("of $name at most $bound are held, all of them alive", ({ bound, make }) => {
  test("however many come", () => {
    const store = make();
    for (let index = 0; index < bound * 1.15; index++) store.add(index);
    const held = store.dump().length;
    expect(held).toBeLessThanOrEqual(bound);
    // A tenth goes at once, never more.
    expect(held).toBeGreaterThanOrEqual(bound * 0.9);
  });
});

test("of logins that anybody can begin at most 10,000 wait for their person, the newest", () => {
  const lasting = { publicUrl: () => "http://h.example", testKeys: new TestKeys(undefined) };
  const deployment = createDeployment({ now: () => START }, lasting);
  deployment.apiClients.register({ clientId: "portal", redirectUris: ["https://portal.example/"] });
  const [client] = deployment.apiClients.list();
  if (client === undefined) throw new Error("not registered");
  const [redirectUri = ""] = client.redirectUris;
  const request = { client, redirectUri, state: "s", codeChallenge: undefined, scopes: undefined };
  const ids = Array.from({ length: 11_500 }, () => beginPending(deployment, request));
  const held = deployment.pendingLogins.dump().length;
  expect(held).toBeLessThanOrEqual(10_000);
  expect(held).toBeGreaterThanOrEqual(9000);
  expect(findPending(deployment, ids.at(-1) ?? "")).toBe(request);
  expect(findPending(deployment, ids[0] ?? "")).toMatchObject({ rule: "login.pending" });
});

test("the bound holds after a restore too", () => {
  const entries = Array.from({ length: 1900 }, (_, index) => [`${index}`, { expiresAt: LATER }]);
  const map = new ExpiringMap(2000);
  map.load(entries);
  let largest = 0;
  for (let index = 0; index < 5000; index++) {
    map.set(`new-${index}`, { expiresAt: LATER }, START);
    largest = Math.max(largest, map.size);
  }
  expect(largest).toBeLessThanOrEqual(2000);
});

test("what is dropped beyond a bound is the oldest, and what expired goes before what is alive", () => {
  const entry = fc.record({
    key: fc.nat({ max: 3000 }),
    livesMs: fc.nat({ max: 100 }),
    waitMs: fc.nat({ max: 3 }),
  });
  fc.assert(
    fc.property(fc.array(entry, { minLength: 1500, maxLength: 4000, size: "max" }), (entries) => {
      const map = new ExpiringMap<{ expiresAt: number }>(2000);
      const alive = new Map<string, number>();
      let now = START;
      for (const { key, livesMs, waitMs } of entries) {
        now += waitMs;
        map.set(`${key}`, { expiresAt: now + livesMs }, now);
        alive.set(`${key}`, now + livesMs);
      }
      // Never more than 150 of them are alive at once: none of those may be missing.
      const lost = [...alive].filter(([key, until]) => until > now && map.get(key)?.expiresAt !== until);
      expect({ lost, isBounded: map.size <= 2000 }).toEqual({ lost: [], isBounded: true });
    }),
    { numRuns: 50 },
  );
});

test("the journal keeps 10,000 requests and the customer's log 1000 refusals, whatever was in their paths", async () => {
  const { fetch, journal, customerLog } = createEmulator({ rateLimit: { requests: 1, windowSeconds: 60 } });
  const path = `/api/v1/${"a/".repeat(1000)}`;
  for (let index = 0; index < 11_000; index++) await fetch(index % 5 === 0 ? "/v1/devices" : path + index);
  expect(journal.entries()).toHaveLength(10_000);
  expect(customerLog.entries()).toHaveLength(1000);
  expect(JSON.stringify(journal.entries()).length).toBeLessThan(10_000 * 1000);
  expect(JSON.stringify(customerLog.entries()).length).toBeLessThan(1000 * 2000);
});

/** Bytes that are reachable, buffers included. */
function reachableBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const ROUNDS = 4;
const REQUESTS_IN_ROUND = 4008;
/** Between every two requests: an hour, which is what most things live, passes sixty times in a round. */
const STEP_MS = 54_000;
/** Measured: less than one megabyte either way. A hundred bytes for each registered key, token or log line are more. */
const ALLOWED_GROWTH_BYTES = 3_000_000;

test("requests that come and go while the clock runs leave nothing behind", {
  timeout: 120_000,
}, async () => {
  const world = new World();
  world.begin({
    rateLimit: { requests: 100, windowSeconds: 60 },
    refreshTokens: { lifetimeSeconds: 60, idleSeconds: 60 },
  });
  const { emulator } = world;
  const mutations = fc.sample(fc.array(mutation, { maxLength: 2 }), { numRuns: 500, seed: 42 });
  const reachable: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    for (let index = 0; index < REQUESTS_IN_ROUND; index++) {
      emulator.clock.advance(STEP_MS);
      if (index % validRequests.length === 0) world.forget();
      const draft = await validRequests[index % validRequests.length]?.draft(world);
      const request = draft && mutatedRequest(world, draft, mutations[index % mutations.length] ?? []);
      if (request !== undefined) await (await emulator.fetch(request)).arrayBuffer();
    }
    emulator.journal.clear();
    emulator.customerLog.clear();
    reachable.push(reachableBytes());
  }
  // The first round compiles and fills what is made once.
  const [, second = 0, , fourth = 0] = reachable;
  expect(fourth - second).toBeLessThan(ALLOWED_GROWTH_BYTES);
  const state = emulator.snapshot().state as Readonly<Record<string, unknown>>;
  const held = Object.entries(state).map(([name, part]) => ({
    name,
    size: Array.isArray(part) ? part.length : 1,
  }));
  // Below this many the stores do not look for what expired.
  expect(held.filter(({ size }) => size > 1024)).toEqual([]);
});
