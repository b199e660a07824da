// The per-tenant rate limit of Variant A's token endpoint: a sliding window (description, section 8).
import { describe, expect, test } from "vitest";
import type { RateLimit } from "../../src/emulator/index.js";
import { PluginClient, pluginKey, START } from "./plugin-client.js";

const limited = (rateLimit: RateLimit) => new PluginClient({ rateLimit });
const statusOf = async (response: Promise<Response>) => (await response).status;

test("without numbers there is no limit", async () => {
  const plugin = new PluginClient();
  for (let i = 0; i < 200; i++) expect(await statusOf(plugin.requestToken())).toBe(200);
});

test("a slot frees exactly windowSeconds after the request that took it, not at a bucket's end", async () => {
  const plugin = limited({ requests: 3, windowSeconds: 10 });
  const steps: [atMs: number, status: number][] = [
    [0, 200],
    [4000, 200],
    [9000, 200],
    [9500, 429],
    [9999, 429],
    [10_000, 200],
    [10_001, 429],
    [13_999, 429],
    [14_000, 200],
    [14_000, 429],
    [18_999, 429],
    [19_000, 200],
  ];
  for (const [at, status] of steps) {
    plugin.now = START + at;
    expect({ at, status: await statusOf(plugin.requestToken()) }).toEqual({ at, status });
  }
});

test("refused requests count, those answered 429 do not", async () => {
  const plugin = limited({ requests: 2, windowSeconds: 10 });
  expect(await statusOf(plugin.post("grant_type=bivariant-detect"))).toBe(400);
  expect(await statusOf(plugin.post(""))).toBe(400);
  for (let i = 0; i < 20; i++) expect(await statusOf(plugin.requestToken())).toBe(429);
  plugin.now += 10_000;
  expect(await statusOf(plugin.requestToken())).toBe(200);
  expect(await statusOf(plugin.requestToken())).toBe(200);
});

test("a request answered 429 burns no jti", async () => {
  const plugin = limited({ requests: 1, windowSeconds: 10 });
  await plugin.post("");
  const form = plugin.form();
  expect(await statusOf(plugin.post(form))).toBe(429);
  plugin.now += 10_000;
  expect(await statusOf(plugin.post(form))).toBe(200);
});

test("the limit is one per tenant, whatever the client, and other methods do not count", async () => {
  const plugin = limited({ requests: 1, windowSeconds: 10 });
  const sheet = { type: "service", jwks: { keys: [pluginKey.publicJwk] } } as const;
  plugin.emulator.registerPlugin({ ...sheet, clientId: "second", tenantId: "acme" });
  plugin.emulator.registerPlugin({ ...sheet, clientId: "reporter", tenantId: "globex" });
  await plugin.emulator.fetch(plugin.tokenUrl());
  expect(await statusOf(plugin.requestToken())).toBe(200);
  expect(await statusOf(plugin.requestToken({ form: { client_id: "second" } }))).toBe(429);
  expect(await statusOf(plugin.requestToken({ tenantId: "globex" }))).toBe(200);
});

test("of many concurrent requests exactly as many are admitted as the limit says", async () => {
  const plugin = limited({ requests: 5, windowSeconds: 10 });
  const statuses = await Promise.all(Array.from({ length: 40 }, () => statusOf(plugin.requestToken())));
  expect(statuses.filter((status) => status === 200)).toHaveLength(5);
});

describe("the 429 carries Retry-After as the option says", () => {
  const rows: { name: string; retryAfter?: RateLimit["retryAfter"]; header: string | null }[] = [
    { name: "in seconds by default, rounded up", header: "8" },
    { name: "in seconds for true", retryAfter: true, header: "8" },
    { name: "in seconds by name", retryAfter: "seconds", header: "8" },
    { name: "as a date, rounded up", retryAfter: "date", header: "Thu, 01 Jan 2026 12:00:10 GMT" },
    { name: "not at all for false", retryAfter: false, header: null },
  ];
  test.each(rows)("$name", async ({ retryAfter, header }) => {
    const plugin = limited({ requests: 1, windowSeconds: 10, retryAfter });
    await plugin.requestToken();
    plugin.now += 2500;
    const response = await plugin.requestToken();
    expect(response.status).toBe(429);
    expect(response.headers.get("retry-after")).toBe(header);
    expect(await response.text()).toBe("");
    expect(plugin.lastRule()).toBe("token-request.rate-limit");
  });
});
