// Variant A's refusals: the order of the rules, the answer that tells nothing, and the log that tells all.
import { describe, expect, test } from "vitest";
import { type Changed, PluginClient, pluginKey, REJECTED } from "./plugin-client.js";
import { newSigningKey } from "./signing-key.js";

const otherKey = newSigningKey("key-1");

test("rules are applied in the order rate limit, grant_type, client_assertion_type, plugin, assertion, type, code", async () => {
  const limited = { requests: 8, windowSeconds: 60 };
  const plugin = new PluginClient({ rateLimit: limited }, { type: "user_interface", enabled: false });
  const identity = { clientId: "reporter", tenantId: "acme" };
  const form: Record<string, unknown> = { grant_type: "x", client_assertion_type: "x", client_id: "nobody" };
  const changed = { key: otherKey, form };
  const mend: [string, () => void][] = [
    ["token-request.grant-type", () => Object.assign(form, { grant_type: "client_credentials" })],
    ["token-request.assertion-type", () => delete form.client_assertion_type],
    ["plugin.registered", () => Object.assign(form, { client_id: "reporter" })],
    ["plugin.enabled", () => plugin.emulator.updatePlugin({ ...identity, enabled: true })],
    ["assertion.signature", () => Object.assign(changed, { key: pluginKey })],
    ["plugin.grant", () => Object.assign(form, { grant_type: "authorization_code", code: "c" })],
    ["code.known", () => {}],
    ["code.known", () => {}],
    ["token-request.rate-limit", () => {}],
  ];
  for (const [rule, repair] of mend) {
    await plugin.requestToken(changed);
    expect(plugin.lastRule()).toBe(rule);
    repair();
  }
});

describe("the answer is opaque", () => {
  const reasons: { name: string; changed: Changed; error: string }[] = [
    { name: "a wrong key", changed: { key: otherKey }, error: "invalid_client" },
    { name: "a wrong aud", changed: { claims: { aud: "x" } }, error: "invalid_client" },
    { name: "an expired assertion", changed: { claims: { iat: 1, exp: 2 } }, error: "invalid_client" },
    { name: "alg none", changed: { header: { alg: "none" } }, error: "invalid_client" },
    { name: "a missing kid", changed: { header: { kid: undefined } }, error: "invalid_client" },
    { name: "no assertion", changed: { form: { client_assertion: undefined } }, error: "invalid_client" },
    { name: "a missing plugin", changed: { form: { client_id: "nobody" } }, error: "invalid_grant" },
    { name: "a wrong tenant", changed: { tenantId: "globex" }, error: "invalid_grant" },
    { name: "a disabled plugin", changed: { form: { client_id: "off" } }, error: "invalid_grant" },
    {
      name: "a wrong grant",
      changed: { form: { grant_type: "authorization_code", code: "c" } },
      error: "invalid_grant",
    },
  ];
  test.each(reasons)(
    "$name: status, headers and body are byte for byte the same",
    async ({ changed, error }) => {
      const plugin = new PluginClient();
      const jwks = { keys: [pluginKey.publicJwk] };
      plugin.emulator.registerPlugin({
        clientId: "off",
        tenantId: "acme",
        type: "service",
        jwks,
        enabled: false,
      });
      const response = await plugin.requestToken(changed);
      expect(response.status).toBe(400);
      expect(Object.fromEntries(response.headers)).toEqual({
        "cache-control": "no-store",
        "content-type": "application/json",
        date: "Thu, 01 Jan 2026 12:00:00 GMT",
        pragma: "no-cache",
      });
      expect(await response.text()).toBe(`{"error":"${error}","error_description":"${REJECTED}"}`);
    },
  );

  test("the customer's log has rule, section, what was expected, what came, and the remedy", async () => {
    const plugin = new PluginClient();
    await plugin.requestToken({ claims: { aud: "http://emulator.localhost" } });
    expect(plugin.emulator.customerLog.entries()).toEqual([
      {
        at: plugin.now,
        requestId: 1,
        tenantId: "acme",
        clientId: "reporter",
        outcome: { status: 400, error: "invalid_client" },
        rule: "assertion.audience",
        section: "2.2, 7.1",
        expected: `aud "${plugin.tokenUrl()}"`,
        actual: '"http://emulator.localhost"',
        remedy: "Substitute the tenant in the exact URL, as one string and not as an array.",
      },
    ]);
  });
});

describe("a method other than POST is answered 405", () => {
  test.each(["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"])("%s", async (method) => {
    const plugin = new PluginClient();
    const response = await plugin.emulator.fetch(plugin.tokenUrl(), { method });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("POST");
    expect(await response.text()).toBe("");
  });
});
