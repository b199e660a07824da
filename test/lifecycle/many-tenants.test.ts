// One connector for many tenants: keys are imported once, memory is bounded, and failures stay with
// their tenant.
import { describe, expect, test, vi } from "vitest";
import { createConnector, memoryStore, servicePlugin } from "../../src/index.js";
import { steppedClock } from "../support/clock.js";
import { account, deployment, plugin } from "../support/deployment.js";
import { pkcs1, privateJwk, rsaKey } from "../support/keys.js";
import { isSettled, rejectionOf, settle } from "../support/wait.js";
import { fakeService, type SeenTokenRequest, tokensOf } from "./fake-service.js";

const tenantIds = (count: number) => Array.from({ length: count }, (_, index) => `tenant-${index}`);

const refusal = () => Response.json({ error: "invalid_client" }, { status: 400 });
const limited = () => new Response("", { status: 429, headers: { "retry-after": "3600" } });

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
      const { fetch } = fakeService({ variant: "A" });
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
    const service = fakeService({ variant, ...(onTokenRequest && { onTokenRequest }) });
    return { service, tokenOf: tokensOf(service, { clock: { now }, retryDeadlineMs: 0 }) };
  };

  test("requests one token for each of 200 tenants and mixes up none of them", async () => {
    const { service, tokenOf } = connected();
    const tenants = tenantIds(200);
    const tokens = await Promise.all([...tenants, ...tenants].map(tokenOf));
    for (const tenantId of tenants) await tokenOf(tenantId);
    expect(service.tokenRequests).toHaveLength(200);
    for (const [at, { value }] of tokens.entries())
      expect(value.startsWith(`token-${tenants[at % 200]}-`)).toBe(true);
  });

  test.each([
    { name: "is refused a token", answer: refusal },
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
  test("a connector keeps maxTenants of many tenants, those used last, and those that are renewing", async () => {
    const clock = steppedClock();
    const pending: SeenTokenRequest[] = [];
    const service = fakeService({
      variant: "B",
      onTokenRequest: (request) => {
        if (request.tenantId === "tenant-0") pending.push(request);
        else request.answer(service.token(request.tenantId));
      },
    });
    // With a store that keeps nothing the test sees only what the connector itself remembers.
    const store = { ...memoryStore({ clock }), get: async () => undefined };
    const tokenOf = tokensOf(service, { clock, store, maxTenants: 10 });
    const renewing = tokenOf("tenant-0");
    await settle();
    const used = [...tenantIds(10).slice(1), "tenant-1", "tenant-10", "tenant-11"];
    for (const tenantId of used) await tokenOf(tenantId);
    const again = tokenOf("tenant-0");
    await settle();
    expect(pending).toHaveLength(1);
    pending[0]?.answer(service.token("tenant-0"));
    expect((await again).value).toBe((await renewing).value);
    const before = service.tokenRequests.length;
    for (const tenantId of ["tenant-11", "tenant-1", "tenant-4"]) await tokenOf(tenantId);
    expect(service.tokenRequests).toHaveLength(before);
    await tokenOf("tenant-3");
    expect(service.tokenRequests).toHaveLength(before + 1);
  });

  test("a connector does not forget a tenant that is rate limited", async () => {
    const clock = steppedClock();
    const service = fakeService({
      variant: "B",
      onTokenRequest: ({ tenantId, answer }) =>
        answer(tenantId === "tenant-0" ? limited() : service.token(tenantId)),
    });
    const tokenOf = tokensOf(service, { clock, maxTenants: 10 });
    expect(await rejectionOf(tokenOf("tenant-0"))).toMatchObject({ code: "rate_limited" });
    for (const tenantId of tenantIds(12).slice(1)) await tokenOf(tenantId);
    expect(await rejectionOf(tokenOf("tenant-0"))).toMatchObject({ code: "rate_limited" });
    expect(service.tokenRequests.filter(({ tenantId }) => tenantId === "tenant-0")).toHaveLength(1);
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
