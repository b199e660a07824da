// A connector with more tenants than it keeps in memory.
import { describe, expect, test } from "vitest";
import { memoryStore } from "../../src/index.js";
import { steppedClock } from "../support/clock.js";
import { rejectionOf, settle } from "../support/wait.js";
import { fakeService, type SeenTokenRequest, tokensOf } from "./fake-service.js";

const tenantIds = (count: number) => Array.from({ length: count }, (_, index) => `tenant-${index}`);

describe("the memory of a connector", () => {
  test("is bounded: it keeps maxTenants of 12 000 tenants, and those that are renewing", async () => {
    const pending: SeenTokenRequest[] = [];
    const clock = steppedClock();
    const service = fakeService({
      variant: "B",
      now: clock.now,
      onTokenRequest: (request) => {
        if (request.tenantId === "tenant-0") pending.push(request);
        else request.answer(service.token(request.tenantId));
      },
    });
    const store = memoryStore({ clock });
    // With a store that keeps nothing the test sees only what the connector itself remembers.
    const forgetful = { ...store, get: async () => undefined };
    // The one that waits must not time out, however long a busy machine takes for the others.
    const timeoutMs = 2 ** 31 - 1;
    const tokenOf = tokensOf(service, { clock, store: forgetful, timeoutMs, maxTenants: 10_000 });
    const renewing = tokenOf("tenant-0");
    await settle();
    for (const tenantId of tenantIds(12_000).slice(1)) await tokenOf(tenantId);
    const again = tokenOf("tenant-0");
    await settle();
    expect(pending).toHaveLength(1);
    pending[0]?.answer(service.token("tenant-0"));
    expect((await again).value).toBe((await renewing).value);
    const before = service.tokenRequests.length;
    await tokenOf("tenant-11999");
    await tokenOf("tenant-2500");
    expect(service.tokenRequests).toHaveLength(before);
    await tokenOf("tenant-1");
    expect(service.tokenRequests).toHaveLength(before + 1);
  });

  test("keeps closed gates: a rate-limited tenant is not forgotten", async () => {
    const clock = steppedClock();
    const limited = () => new Response("", { status: 429, headers: { "retry-after": "3600" } });
    const service = fakeService({
      variant: "B",
      now: clock.now,
      onTokenRequest: ({ tenantId, answer }) =>
        answer(tenantId === "tenant-0" ? limited() : service.token(tenantId)),
    });
    const tokenOf = tokensOf(service, { clock, maxTenants: 10_000 });
    expect(await rejectionOf(tokenOf("tenant-0"))).toMatchObject({ code: "rate_limited" });
    for (const tenantId of tenantIds(12_000).slice(1)) await tokenOf(tenantId);
    expect(await rejectionOf(tokenOf("tenant-0"))).toMatchObject({ code: "rate_limited" });
    expect(service.tokenRequests.filter(({ tenantId }) => tenantId === "tenant-0")).toHaveLength(1);
  });
});
