// The customer's log as a test asserts on it: filtered, and joined to the requests that were refused.
import { describe, expect, test } from "vitest";
import { LaunchedPlugin } from "./launched-plugin.js";
import { PluginClient } from "./plugin-client.js";

describe("the customer's log", () => {
  test("is filtered by tenant, client, rule, request and instant, and gives its newest", async () => {
    const plugin = new PluginClient();
    const { customerLog, journal } = plugin.emulator;
    await plugin.requestToken({ claims: { aud: "x" } });
    plugin.now += 1000;
    await plugin.requestToken({ claims: { iss: "x" } });
    await plugin.requestToken({ tenantId: "globex" });
    const rules = (filter: Parameters<typeof customerLog.entries>[0]) =>
      customerLog.entries(filter).map(({ rule }) => rule);
    expect(rules({ clientId: "reporter", tenantId: "acme" })).toEqual([
      "assertion.audience",
      "assertion.issuer",
    ]);
    expect(rules({ rule: "assertion.issuer" })).toEqual(["assertion.issuer"]);
    expect(rules({ since: plugin.now })).toEqual(["assertion.issuer", "plugin.registered"]);
    expect(rules({ since: plugin.now + 1 })).toEqual([]);
    expect(rules({ requestId: journal.entries()[1]?.id })).toEqual(["assertion.issuer"]);
    expect(customerLog.last()?.rule).toBe("plugin.registered");
    expect(customerLog.last({ tenantId: "acme" })?.rule).toBe("assertion.issuer");
    expect(customerLog.last({ rule: "code.unspent" })).toBeUndefined();
    expect(() => customerLog.entries({ tenant: "acme" } as object)).toThrow(
      expect.objectContaining({ code: "option_invalid", message: expect.stringContaining("tenant") }),
    );
  });

  test("of requests at once each refusal has its own request's id", async () => {
    const plugin = new PluginClient();
    const { journal, customerLog } = plugin.emulator;
    const tenants = Array.from({ length: 30 }, (_, index) => `tenant-${index}`);
    await Promise.all(tenants.map((tenantId) => plugin.requestToken({ tenantId })));
    for (const { id, tenantId } of journal.entries())
      expect(customerLog.entries({ requestId: id })).toMatchObject([{ tenantId }]);
    expect(new Set(journal.entries().map(({ id }) => id)).size).toBe(30);
  });

  test("has no request for what is refused in-process, and begins anew with the journal", async () => {
    const plugin = new LaunchedPlugin();
    const { journal, customerLog } = plugin.emulator;
    expect(() => plugin.launchedCode({ userId: "nobody" })).toThrow();
    expect(customerLog.last()).not.toHaveProperty("requestId");
    await plugin.emulator.fetch("/");
    await plugin.emulator.fetch("/");
    expect(journal.last()?.id).toBe(2);
    plugin.emulator.reset();
    await plugin.emulator.fetch("/");
    expect(journal.entries().map(({ id }) => id)).toEqual([1]);
  });
});
