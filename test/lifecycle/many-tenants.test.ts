// One connector for many tenants: keys are imported once, memory is bounded, and failures stay with
// their tenant.
import { describe, expect, test, vi } from "vitest";
import { RecentlyUsed } from "../../src/auth/shared/recently-used.js";
import { createConnector, memoryStore, servicePlugin } from "../../src/index.js";
import { steppedClock } from "../support/clock.js";
import { account, deployment, plugin } from "../support/deployment.js";
import { pkcs1, privateJwk, rsaKey } from "../support/keys.js";
import { isSettled, rejectionOf } from "../support/wait.js";
import { fakeService, type SeenTokenRequest, tokensOf } from "./fake-service.js";

const tenantIds = (count: number) => Array.from({ length: count }, (_, index) => `tenant-${index}`);

describe("the private key of many tenants", () => {
  test.each([
    { name: "a PEM", privateKey: () => pkcs1(rsaKey()) },
    { name: "a JWK", privateKey: () => privateJwk(rsaKey()) },
    { name: "a KeyObject", privateKey: () => rsaKey().privateKey },
  ])("given as $name is imported as often as for one tenant", async ({ privateKey }) => {
    const count = async (tenants: number, isFunction: boolean) => {
      const importKey = vi.spyOn(crypto.subtle, "importKey");
      const settings = { clientId: "plugin", privateKey: privateKey() };
      const credential = servicePlugin(isFunction ? () => settings : settings);
      const { fetch } = fakeService({ variant: "A", now: Date.now });
      await Promise.all(tenantIds(tenants).map(tokensOf({ credential, fetch }, {})));
      const { length } = importKey.mock.calls;
      importKey.mockRestore();
      return length;
    };
    const one = await count(1, false);
    expect(one).toBeGreaterThan(0);
    expect([await count(20, false), await count(20, true)]).toEqual([one, one]);
  });
});

describe.each(["A", "B"] as const)("a connector for tenants of Variant %s", (variant) => {
  const connected = (onTokenRequest?: (request: SeenTokenRequest) => void) => {
    const { now } = steppedClock();
    const service = fakeService({ variant, now, ...(onTokenRequest && { onTokenRequest }) });
    return { service, tokenOf: tokensOf(service, { clock: { now }, retryDeadlineMs: 0 }) };
  };

  test("requests one token for each of 200 tenants and mixes up none of them", async () => {
    const { service, tokenOf } = connected();
    const tenants = tenantIds(200);
    const tokens = await Promise.all([...tenants, ...tenants].map(tokenOf));
    expect(service.tokenRequests).toHaveLength(200);
    for (const [at, { value }] of tokens.entries())
      expect(value.startsWith(`token-${tenants[at % 200]}-`)).toBe(true);
  });

  const limited = () => new Response("", { status: 429, headers: { "retry-after": "3600" } });
  test.each([
    { name: "is refused a token", answer: () => new Response("{}", { status: 400 }) },
    { name: "is rate limited", answer: limited },
    { name: "gets no answer", answer: undefined },
  ])("does not let a tenant that $name delay another", async ({ answer }) => {
    const { service, tokenOf } = connected((request) => {
      if (request.tenantId !== "tenant-0") request.answer(service.token(request.tenantId));
      else if (answer !== undefined) request.answer(answer());
    });
    const failing = tokenOf("tenant-0").catch((error: unknown) => error);
    const others = Promise.all(tenantIds(50).slice(1).map(tokenOf));
    expect(await isSettled(others)).toBe(true);
    expect(service.tokenRequests.filter(({ tenantId }) => tenantId === "tenant-0")).toHaveLength(1);
    if (answer === undefined) return;
    expect(await failing).toHaveProperty("code");
    expect(await rejectionOf(tokenOf("tenant-0"))).toHaveProperty("code");
    expect((await tokenOf("tenant-1")).value).toMatch(/^token-tenant-1-/);
  });
});

describe("bounded memory", () => {
  test("the least recently used entry is forgotten first", () => {
    const used = new RecentlyUsed<string>(3);
    for (const key of ["a", "b", "c", "a", "d"]) used.get(key, () => `first ${key}`);
    expect(used.get("a", () => "again")).toBe("first a");
    expect(used.get("b", () => "again")).toBe("again");
  });

  test("an entry that must stay exceeds the capacity until it may go", () => {
    let isBusy = true;
    const used = new RecentlyUsed<{ key: string }>(
      2,
      ({ key }) => !(isBusy && key.startsWith("busy")),
    );
    const made: string[] = [];
    const use = (...keys: string[]) => {
      for (const key of keys)
        used.get(key, () => {
          made.push(key);
          return { key };
        });
    };
    use("busy-1", "busy-2", "busy-3", "idle-1", "idle-2");
    made.length = 0;
    use("busy-1", "busy-2", "busy-3", "idle-1");
    expect(made).toEqual(["idle-1"]);
    isBusy = false;
    use("idle-2", "idle-1", "busy-1", "busy-2", "busy-3");
    expect(made).toEqual(["idle-1", "idle-2", "busy-1", "busy-2", "busy-3"]);
  });

  test("a bounded store keeps the latest entries", async () => {
    const store = memoryStore({ mostEntries: 2 });
    for (const key of ["a", "b", "a", "c"]) await store.set(key, `value of ${key}`);
    const values = await Promise.all(
      ["a", "b", "c"].map(async (key) => (await store.get(key))?.value),
    );
    expect(values).toEqual(["value of a", undefined, "value of c"]);
  });

  test("a connector keeps the detections of at most maxTenants tenants, those that were used last", async () => {
    const { fetch } = deployment({ tenants: ["acme", "other"] });
    const asked: unknown[] = [];
    const connector = createConnector({
      credentials: [plugin(), account()],
      maxTenants: 1,
      fetch,
      onEvent: (event) => event.type === "variant_detected" && asked.push(event.tenantId),
    });
    for (const tenantId of ["acme", "acme", "other", "acme"])
      await connector.connect({ baseUrl: "http://service.localhost", tenantId });
    expect(asked).toEqual(["acme", "other", "acme"]);
  });
});
