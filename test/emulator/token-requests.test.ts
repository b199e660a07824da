// Tests of token requests that the table of negative requests does not cover: the order of the
// rules and the log.
import { describe, expect, test } from "vitest";
import { createEmulator, emulatorRules } from "../../src/emulator/index.js";
import {
  accessTokenIn,
  PluginClient,
  pluginKey,
  reporter,
  requestAccountToken,
} from "./plugin-client.js";
import { newSigningKey } from "./signing-key.js";

const account = { clientId: "worker", clientSecret: "correct horse battery", tenantId: "acme" };

describe("Variant A", () => {
  test("a token answer has the lifetime of the option and the roles of the registration", async () => {
    const roles = [{ name: "reader", group: "reports" }];
    const plugin = new PluginClient({ tokenLifetimeSeconds: 120 }, { roles });
    expect(await (await plugin.requestToken()).json()).toEqual({
      access_token: expect.stringMatching(/^[\w-]{43}$/),
      token_type: "Bearer",
      expires_in: 120,
      revo: { tenant: "acme", roles },
    });
  });

  test("the rules apply in the order rate limit, grant, assertion type, plugin, assertion, type, code", async () => {
    const limited = { requests: 7, windowSeconds: 60 };
    const plugin = new PluginClient(
      { rateLimit: limited },
      { type: "user_interface", enabled: false },
    );
    const wrong = { grant_type: "x", client_assertion_type: "x", client_id: "unknown" };
    const form: Record<string, unknown> = wrong;
    const changed = { key: newSigningKey("key-1"), form };
    const repairs: [rule: string, repair: () => void][] = [
      ["token-request.grant-type", () => Object.assign(form, { grant_type: "client_credentials" })],
      ["token-request.assertion-type", () => delete form.client_assertion_type],
      ["plugin.registered", () => Object.assign(form, { client_id: "reporter" })],
      ["plugin.enabled", () => plugin.emulator.updatePlugin({ ...reporter, enabled: true })],
      ["assertion.signature", () => Object.assign(changed, { key: pluginKey })],
      ["plugin.grant", () => Object.assign(form, { grant_type: "authorization_code", code: "c" })],
      ["code.known", () => {}],
      ["token-request.rate-limit", () => {}],
    ];
    for (const [rule, repair] of repairs) {
      await plugin.requestToken(changed);
      expect(plugin.lastRule()).toBe(rule);
      repair();
    }
  });

  test("a body over the limit is refused, even if its content-length is below the limit", async () => {
    const plugin = new PluginClient();
    const headers = { "content-type": "application/x-www-form-urlencoded", "content-length": "9" };
    await plugin.emulator.fetch(plugin.tokenUrl(), {
      method: "POST",
      headers,
      body: "a=".padEnd(65_537, "x"),
    });
    expect(plugin.lastRule()).toBe("token-request.body-size");
  });

  test("the customer log has rule, section, expected and actual value, and the remedy", async () => {
    const plugin = new PluginClient();
    await plugin.requestToken({ claims: { aud: "http://emulator.localhost" } });
    expect(plugin.emulator.customerLog.entries()).toEqual([
      {
        ...reporter,
        at: plugin.now,
        requestId: 1,
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

describe("Variant B", () => {
  test("a wrong secret and an unknown client get the same answer, and the log distinguishes them", async () => {
    const { emulator } = new PluginClient();
    emulator.registerServiceAccount(account);
    const ask = async (changes: object) =>
      (await requestAccountToken(emulator, { ...account, ...changes })).text();
    expect(await ask({ clientSecret: "wrong" })).toBe(await ask({ clientId: "unknown" }));
    const entries = emulator.customerLog.entries({ rule: "client.authentication" });
    expect(entries.map(({ tenantId }) => tenantId)).toEqual(["acme", undefined]);
  });

  test("every declared route under /v1/ accepts a token without scopes and receives its tenant", async () => {
    const path = "/v1/schedules/{scheduleId}";
    const respond = (call: { tenantId: string; parameters: object }) => [
      call.tenantId,
      call.parameters,
    ];
    const routes = [{ operationId: "getSchedule", method: "GET", path, respond }] as const;
    const emulator = createEmulator({ routes });
    emulator.registerServiceAccount(account);
    const authorization = `Bearer ${await accessTokenIn(requestAccountToken(emulator, account))}`;
    const response = await emulator.fetch("/v1/schedules/nightly", { headers: { authorization } });
    expect(await response.json()).toEqual(["acme", { scheduleId: "nightly" }]);
  });
});

test("Variant B's token endpoint refuses with 401 and invalid_client, or with 400 (RFC 6749 section 5.2)", () => {
  const ofB =
    /^(client-request\.(?!method|media|body)|client\.|api-client\.|client-code\.|refresh\.)/;
  const answers = Object.entries(emulatorRules).flatMap(([id, { answer }]) =>
    ofB.test(id) ? [answer] : [],
  );
  for (const { status, error } of answers)
    expect(status).toBe(error === "invalid_client" ? 401 : 400);
  expect(answers.length).toBeGreaterThan(15);
});
