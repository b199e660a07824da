// The customer's log as a test asserts on it: filtered, and joined to the requests that were refused.
import { describe, expect, test } from "vitest";
import { LaunchedPlugin } from "./launched-plugin.js";
import { PluginClient } from "./plugin-client.js";
import { PORTAL_SECRET, Portal } from "./portal.js";

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

  test.each(["nonsense", "assertion.replays", "toString", 1, null])(
    "refuses the filter %j, which is no rule, as the journal does",
    (rule) => {
      const { customerLog, journal } = new PluginClient().emulator;
      const refused = expect.objectContaining({
        code: "option_invalid",
        message: expect.stringMatching(/rule/),
      });
      expect(() => customerLog.entries({ rule } as object)).toThrow(refused);
      expect(() => customerLog.last({ rule } as object)).toThrow(refused);
      expect(() => journal.count({ rule } as object)).toThrow(refused);
    },
  );

  const verifier = "Oh.V1FoODWw~YFsdAyZcJ3L.SwbN18X6Nz9.dyrEm30";
  const fields = ["client_id", "grant_type", "client_assertion_type", "client_assertion", "code"];
  test.each(fields)("quotes no secret that came as %s", async (field) => {
    for (const secret of [verifier, "open sesame", "gT7qLw92xPz"]) {
      const plugin = new LaunchedPlugin();
      await plugin.exchange(plugin.launchedCode(), { form: { [field]: secret } });
      expect(plugin.emulator.customerLog.entries()).toHaveLength(1);
      expect(JSON.stringify(plugin.emulator.customerLog.entries())).not.toContain(secret);
    }
  });

  test.each(["authorization request", "code exchange"])(
    "quotes no secret that came as redirect_uri of an %s",
    async (where) => {
      for (const secret of [verifier, PORTAL_SECRET, `https://portal.example/${verifier}`]) {
        const portal = new Portal();
        const changes = { redirect_uri: secret };
        if (where === "code exchange") await portal.exchange(portal.loginCode(), changes);
        else await portal.emulator.fetch(portal.authorizationUrl(changes));
        expect(portal.lastRule()).toMatch(/redirect-uri$/);
        expect(JSON.stringify(portal.emulator.customerLog.entries())).not.toContain(secret);
      }
    },
  );

  test("names a client_id that is to be registered yet", async () => {
    const plugin = new PluginClient();
    await plugin.requestToken({ form: { client_id: "planner-2" } });
    expect(plugin.emulator.customerLog.last({ clientId: "planner-2" })).toMatchObject({
      rule: "plugin.registered",
      actual: '"planner-2"',
    });
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
