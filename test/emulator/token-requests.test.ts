// Tests of token requests that the table of negative requests does not cover: the order of the rules, how little a
// refusal reveals, and the log.
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { createEmulator, type EmulatorOptions } from "../../src/emulator/index.js";
import {
  accessTokenIn,
  type Changed,
  PluginClient,
  pluginKey,
  REJECTED,
  reporter,
  requestAccountToken,
  service,
} from "./plugin-client.js";
import { newSigningKey } from "./signing-key.js";

const otherKey = newSigningKey("key-1");
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
    const plugin = new PluginClient({ rateLimit: limited }, { type: "user_interface", enabled: false });
    const wrong = { grant_type: "x", client_assertion_type: "x", client_id: "unknown" };
    const form: Record<string, unknown> = wrong;
    const changed = { key: otherKey, form };
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

describe("on the wire, a missing plugin, a wrong key and a disabled plugin", () => {
  const callers = {
    missing: { form: { client_id: "unknown" }, claims: { iss: "unknown", sub: "unknown" } },
    wrong: { key: otherKey },
    disabled: { form: { client_id: "off" }, claims: { iss: "off", sub: "off" } },
  } satisfies Record<string, Changed>;
  interface Seen {
    readonly statusLine: string;
    /** Names and values alternate, as received. */
    readonly raw: readonly string[];
    readonly body: string;
  }

  /** Everything that a caller receives except the time of day. */
  async function onTheWire(plugin: PluginClient, changed: Changed): Promise<Seen> {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const sent = request(plugin.tokenUrl(), { method: "POST", headers }).end(String(plugin.form(changed)));
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    let body = "";
    for await (const chunk of answer) body += chunk;
    const isDate = (index: number) => answer.rawHeaders[index - 1]?.toLowerCase() === "date";
    const raw = answer.rawHeaders.map((value, index) => (isDate(index) ? "…" : value));
    return { statusLine: `${answer.httpVersion} ${answer.statusCode} ${answer.statusMessage}`, raw, body };
  }

  async function seenBy(options: EmulatorOptions): Promise<Record<keyof typeof callers, Seen>> {
    const plugin = new PluginClient(options);
    plugin.emulator.registerPlugin({ ...service, clientId: "off", tenantId: "acme", enabled: false });
    onTestFinished((await plugin.emulator.listen()).close);
    return {
      missing: await onTheWire(plugin, callers.missing),
      wrong: await onTheWire(plugin, callers.wrong),
      disabled: await onTheWire(plugin, callers.disabled),
    };
  }

  test("differ only in the error code of section 7.1", async () => {
    const { missing, wrong, disabled } = await seenBy({});
    expect(missing).toEqual(disabled);
    expect(missing.body).toBe(`{"error":"invalid_grant","error_description":"${REJECTED}"}`);
    expect(wrong.statusLine).toBe(missing.statusLine);
    // The two codes have different lengths, and so have the bodies.
    expect(wrong.body).toBe(missing.body.replace("invalid_grant", "invalid_client"));
    const { length } = missing.body;
    expect(wrong.raw.map((value) => value.replace(`${length + 1}`, `${length}`))).toEqual(missing.raw);
  });

  test("are identical byte for byte with the option refusedPluginError", async () => {
    const { missing, wrong, disabled } = await seenBy({ refusedPluginError: "invalid_client" });
    expect(missing).toEqual(wrong);
    expect(disabled).toEqual(wrong);
    expect(JSON.parse(wrong.body)).toEqual({ error: "invalid_client", error_description: REJECTED });
  });
});

describe("Variant B", () => {
  function deployment(): PluginClient {
    const plugin = new PluginClient();
    plugin.emulator.registerServiceAccount(account);
    return plugin;
  }

  test("a wrong secret and an unknown client get the same answer, and the log distinguishes them", async () => {
    const { emulator } = deployment();
    const ask = async (changes: object) =>
      (await requestAccountToken(emulator, { ...account, ...changes })).text();
    expect(await ask({ clientSecret: "wrong" })).toBe(await ask({ clientId: "unknown" }));
    const entries = emulator.customerLog.entries({ rule: "client.authentication" });
    expect(entries.map(({ tenantId }) => tenantId)).toEqual(["acme", undefined]);
  });

  test("every declared route under /v1/ accepts a token without scopes and receives its tenant", async () => {
    const path = "/v1/schedules/{scheduleId}";
    const respond = (call: { tenantId: string; parameters: object }) => [call.tenantId, call.parameters];
    const routes = [{ operationId: "getSchedule", method: "GET", path, respond }] as const;
    const emulator = createEmulator({ routes });
    emulator.registerServiceAccount(account);
    const authorization = `Bearer ${await accessTokenIn(requestAccountToken(emulator, account))}`;
    const response = await emulator.fetch("/v1/schedules/nightly", { headers: { authorization } });
    expect(await response.json()).toEqual(["acme", { scheduleId: "nightly" }]);
  });
});
