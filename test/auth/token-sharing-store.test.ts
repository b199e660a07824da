// Only processes of the same identity share tokens through a store, and a failing store fails no caller.
import { describe, expect, test } from "vitest";
import { createAuth, memoryStore, StoreError, type TokenStore } from "../../src/index.js";
import { BASE_URL as baseUrl, recordedAuth } from "../support/auth.js";
import { steppedClock } from "../support/clock.js";
import { account, credentialOf, plugin } from "../support/deployment.js";
import { scriptedFetch, tokenAnswer } from "../support/fetch.js";
import { settled } from "../support/wait.js";

const tenantId = "acme";
const numbered = () => scriptedFetch((_call, index) => tokenAnswer(`token-${index + 1}`));

describe.each([{ variant: "A" as const }, { variant: "B" as const }])("Variant $variant", ({ variant }) => {
  const credential = credentialOf(variant);
  const body = {
    revo: { tenant: "acme", user: { userId: "u", firstname: "Ada" }, roles: [{ name: "admin", group: "g" }] },
  };

  test("two Auths with one store send one request, and the stored token keeps all its fields", async () => {
    const store = memoryStore();
    const fetch = scriptedFetch(() => Response.json({ access_token: "token-1", ...body }));
    const [one, other] = [0, 1].map(() => createAuth({ baseUrl, tenantId, credential, fetch, store }));
    const first = await one?.getAccessToken();
    await settled();
    const second = await other?.getAccessToken();
    expect(fetch.calls).toHaveLength(1);
    expect(second?.value).toBe("token-1");
    expect({ ...second }).toEqual({ ...first });
    expect(Object.keys(second ?? {})).not.toContain("value");
  });

  test("an Auth near expiry takes the token that another process renewed", async () => {
    const clock = steppedClock();
    const store = memoryStore({ now: clock.now });
    const fetch = numbered();
    const options = { baseUrl, tenantId, credential, fetch, store, now: clock.now };
    const [one, other] = [createAuth(options), createAuth(options)];
    await one.getAccessToken();
    await settled();
    await other.getAccessToken();
    clock.advance(3_600_000);
    await one.getAccessToken();
    await settled();
    expect((await other.getAccessToken()).value).toBe("token-2");
    expect(fetch.calls).toHaveLength(2);
  });

  test("a token that the API refused is not taken from the store again", async () => {
    const store = memoryStore();
    const fetch = numbered();
    const auth = createAuth({ baseUrl, tenantId, credential, fetch, store });
    auth.invalidate(await auth.getAccessToken());
    await settled();
    expect((await auth.getAccessToken()).value).toBe("token-2");
  });

  test("after a refusal the token that another process renewed is taken without a request", async () => {
    const store = memoryStore();
    const fetch = numbered();
    const options = { baseUrl, tenantId, credential, fetch, store };
    const [one, other] = [createAuth(options), createAuth(options)];
    const old = await one.getAccessToken();
    await settled();
    other.invalidate(await other.getAccessToken());
    await other.getAccessToken();
    await settled();
    one.invalidate(old);
    expect((await one.getAccessToken()).value).toBe("token-2");
    expect(fetch.calls).toHaveLength(2);
  });

  test("a fresh token in memory is served without a call to the store", async () => {
    const calls: string[] = [];
    const store = new Proxy(memoryStore(), {
      get(target, method: keyof TokenStore) {
        calls.push(method);
        return target[method];
      },
    });
    const auth = createAuth({ baseUrl, tenantId, credential, fetch: numbered(), store });
    await auth.getAccessToken();
    await settled();
    const before = calls.length;
    expect(before).toBeGreaterThan(0);
    for (let times = 0; times < 5; times++) await auth.getAccessToken();
    expect(calls).toHaveLength(before);
  });

  const failing = async (): Promise<never> => {
    throw new StoreError("store_unavailable", "The store is down.");
  };
  const throwing = (): never => {
    throw Object.assign(new Error("redis://user:password@host"), { code: "ECONNREFUSED" });
  };
  const silent = () => new Promise<never>(() => {});
  const answering = (found: unknown): TokenStore => ({ ...memoryStore(), get: async () => found as never });
  const holding = (value: string): TokenStore => ({
    ...memoryStore(),
    get: async (key) => (key.startsWith('["token"') ? { value, version: "1" } : undefined),
  });
  const all = (method: () => Promise<never>) => ({ get: method, set: method, delete: method, lock: method });
  const corrupt = { code: "store_corrupt" };
  const down = { code: "store_unavailable" };
  const stores: { name: string; store: TokenStore; told?: object }[] = [
    { name: "rejects", store: all(failing), told: down },
    { name: "throws", store: all(throwing), told: { ...down, reason: "ECONNREFUSED" } },
    { name: "never answers", store: all(silent), told: { ...down, reason: "TimeoutError" } },
    {
      name: "never answers a write",
      store: { ...memoryStore(), set: silent },
      told: { ...down, reason: "TimeoutError" },
    },
    {
      name: "answers a write with nothing",
      store: { ...memoryStore(), set: async () => undefined as never },
      told: corrupt,
    },
    { name: "answers null for a missing entry", store: answering(null) },
    { name: "answers with a number", store: answering(7), told: corrupt },
    { name: "answers with another object", store: answering({ token: "x" }), told: corrupt },
    {
      name: "answers with a number as the version",
      store: answering({ value: "{}", version: 1 }),
      told: corrupt,
    },
    { name: "holds no JSON", store: holding("{"), told: { ...corrupt, reason: "SyntaxError" } },
    { name: "holds JSON null", store: holding("null"), told: corrupt },
    { name: "holds another shape", store: holding('{"value":7,"expiresAt":"x"}'), told: corrupt },
    {
      name: "holds a token of an unknown age",
      store: holding('{"value":"old","expiresAt":9e15}'),
      told: corrupt,
    },
    { name: "holds an expired token", store: holding('{"value":"old","expiresAt":1,"issuedAt":0}') },
  ];
  test.each(stores)("a store that $name fails no caller", async ({ store, told }) => {
    const fetch = numbered();
    const { auth, events } = recordedAuth({ credential, fetch, store, timeoutMs: 20 });
    expect((await auth.getAccessToken()).value).toBe("token-1");
    expect((await auth.getAccessToken()).value).toBe("token-1");
    const failures = () => events.filter(({ type }) => type === "store_failed");
    if (told) await expect.poll(() => failures()[0]).toMatchObject(told);
    await settled();
    expect(failures().length > 0).toBe(told !== undefined);
    expect(JSON.stringify(events)).not.toContain("password");
    expect(fetch.calls).toHaveLength(1);
  });
});

describe("an identity does not get another's token from the store", () => {
  const base = { baseUrl, tenantId, credential: plugin() };
  const others = [
    { name: "another tenant", options: { ...base, tenantId: "globex" } },
    { name: "another base URL", options: { ...base, baseUrl: "https://other.example" } },
    { name: "another prefix", options: { ...base, baseUrl: `${baseUrl}/prefix` } },
    { name: "another client", options: { ...base, credential: plugin({ clientId: "other" }) } },
    { name: "the other variant", options: { ...base, credential: account({ clientId: "reporter-plugin" }) } },
  ];
  test.each(others)("$name", async ({ options }) => {
    const store = memoryStore();
    const fetch = numbered();
    await createAuth({ ...base, fetch, store }).getAccessToken();
    await settled();
    expect((await createAuth({ ...options, fetch, store }).getAccessToken()).value).toBe("token-2");
  });

  test("a base URL with a trailing slash is the same identity", async () => {
    const store = memoryStore();
    const fetch = numbered();
    await createAuth({ ...base, fetch, store }).getAccessToken();
    await settled();
    const token = await createAuth({ ...base, baseUrl: `${baseUrl}/`, fetch, store }).getAccessToken();
    expect(token.value).toBe("token-1");
  });
});
