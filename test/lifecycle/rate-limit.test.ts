// A tenant that met its rate limit recovers without meeting it again at once, and no other tenant waits for it.
import { describe, expect, test } from "vitest";
import { createAuth, createConnector, type ServiceEvent } from "../../src/index.js";
import { timeTravel } from "../support/clock.js";
import { account, deployment, plugin } from "../support/deployment.js";
import { rejectionOf } from "../support/wait.js";

const tenants = ["acme", "globex"];

const limits = [
  { name: "Retry-After in seconds", retryAfter: "seconds", windowSeconds: 30, refusals: 1 },
  { name: "Retry-After as a date", retryAfter: "date", windowSeconds: 30, refusals: 1 },
  // By the schedule: asked at 0, 2 to 2.5, 6 to 7.5 and 14 to 17.5 s.
  { name: "no Retry-After", retryAfter: false, windowSeconds: 12, refusals: 3 },
] as const;

describe.each(limits)("200 callers of a rate-limited tenant beside 200 of another, $name", (limit) => {
  const { retryAfter, windowSeconds, refusals } = limit;

  test(`meet ${refusals} refusals in all, recover, and keep nobody of the other tenant waiting`, async () => {
    const { advance, through, until } = timeTravel();
    const emulator = deployment({
      tenants,
      now: Date.now,
      rateLimit: { requests: 2, windowSeconds, retryAfter },
    });
    const { publicUrl: baseUrl, fetch } = emulator;
    for (let used = 0; used < 2; used++)
      await createAuth({ baseUrl, tenantId: "acme", credential: plugin(), fetch }).getAccessToken();
    const events: ServiceEvent[] = [];
    const onEvent = (event: ServiceEvent) => void events.push(event);
    const connector = createConnector({ credentials: [plugin()], fetch, onEvent });
    const done = { acme: 0, globex: 0 };
    const crowd = (tenantId: "acme" | "globex") =>
      Array.from({ length: 200 }, async () => {
        const service = await connector.connect({ baseUrl, tenantId });
        expect((await service.call("listDevices")).ok).toBe(true);
        done[tenantId]++;
      });
    const calls = [...crowd("acme"), ...crowd("globex")];
    await until(() => done.globex === 200);
    expect(done).toEqual({ acme: 0, globex: 200 });
    await until(() => emulator.journal.tokenRequests({ status: 429 }).length === 1);
    await advance(windowSeconds * 1_000 - 1_000);
    expect(done.acme).toBe(0);
    await through(Promise.all(calls));
    const statuses = (tenantId: string) =>
      emulator.journal.tokenRequests({ tenantId }).map(({ status }) => status);
    expect(statuses("globex")).toEqual([200]);
    expect(statuses("acme")).toEqual([200, 200, ...Array.from({ length: refusals }, () => 429), 200]);
    const told = events.filter(({ type }) => type === "rate_limited");
    expect(told).toHaveLength(refusals);
    expect(new Set(told.map((event) => (event as { tenantId: string }).tenantId))).toEqual(new Set(["acme"]));
  });
});

test("a detection's 429 closes the gate for the token requests of the tenant too, and is told", async () => {
  const { advance, through } = timeTravel();
  const emulator = deployment({
    variants: ["A"],
    now: Date.now,
    rateLimit: { requests: 1, windowSeconds: 20 },
  });
  const { publicUrl: baseUrl, fetch } = emulator;
  await createAuth({ baseUrl, tenantId: "acme", credential: plugin(), fetch }).getAccessToken();
  const events: ServiceEvent[] = [];
  const onEvent = (event: ServiceEvent) => void events.push(event);
  const connector = createConnector({ credentials: [plugin(), account()], fetch, onEvent });
  const connect = () => connector.connect({ baseUrl, tenantId: "acme" });
  expect(await rejectionOf(connect())).toMatchObject({ code: "variant_unknown" });
  expect(events.filter(({ type }) => type === "rate_limited")).toHaveLength(1);
  const second = connect();
  await advance(19_000);
  expect(emulator.journal.tokenRequests({ variant: "A" })).toHaveLength(2);
  expect((await through(second)).variant).toBe("A");
});
