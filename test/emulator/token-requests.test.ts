// Tests of token requests that the table of negative requests does not cover: the order of the rules, how
// little a refusal reveals, the log, and the rate limit over time.
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { createEmulator, type EmulatorOptions, type RateLimit } from "../../src/emulator/index.js";
import {
  accessTokenIn,
  type Changed,
  PluginClient,
  pluginKey,
  REJECTED,
  rejectedWith,
  rejection,
  reporter,
  requestAccountToken,
  START,
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

  const odd: { name: string; changed: Changed }[] = [
    { name: "the client_id __proto__", changed: { form: { client_id: "__proto__" } } },
    { name: "the literal {tenantId} as tenant", changed: { tenantId: "{tenantId}" } },
  ];
  test.each(odd)("$name is not registered", async ({ changed }) => {
    const plugin = new PluginClient();
    expect(await rejection(await plugin.requestToken(changed))).toEqual(rejectedWith("invalid_grant"));
    expect(plugin.lastRule()).toBe("plugin.registered");
  });

  test("the media type is read in any case", async () => {
    const plugin = new PluginClient();
    const headers = { "content-type": "APPLICATION/X-WWW-FORM-URLENCODED" };
    const request = { method: "POST", headers, body: String(plugin.form()) };
    expect((await plugin.emulator.fetch(plugin.tokenUrl(), request)).status).toBe(200);
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

  const inherited = '{"grant_type":"client_credentials","client_id":"constructor","client_secret":"x"}';
  const odd: { name: string; body: BodyInit; status: number; rule: string }[] = [
    { name: "null", body: "null", status: 400, rule: "client-request.json" },
    { name: "deeply nested JSON", body: "[".repeat(60_000), status: 400, rule: "client-request.json" },
    { name: "a body not in UTF-8", body: Buffer.of(0x22, 0xff), status: 400, rule: "client-request.json" },
    { name: "an empty object", body: "{}", status: 400, rule: "client-request.fields" },
    { name: "the client_id constructor", body: inherited, status: 401, rule: "client.authentication" },
  ];
  test.each(odd)("$name is refused by $rule", async ({ body, status, rule }) => {
    const plugin = deployment();
    const headers = { "content-type": "application/json" };
    const response = await plugin.emulator.fetch("/v1/auth/token", { method: "POST", headers, body });
    expect(response.status).toBe(status);
    expect(plugin.lastRule()).toBe(rule);
  });

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

describe("the rate limit", () => {
  const limited = (rateLimit: RateLimit) => new PluginClient({ rateLimit });
  const statusOf = async (response: Promise<Response>) => (await response).status;

  test("frees a slot exactly windowSeconds after the request that took it", async () => {
    const plugin = limited({ requests: 3, windowSeconds: 10 });
    const admitted = [0, 4000, 9000, 10_000, 14_000, 19_000];
    for (const at of [0, 4000, 9000, 9500, 9999, 10_000, 10_001, 13_999, 14_000, 14_001, 18_999, 19_000]) {
      plugin.now = START + at;
      const status = admitted.includes(at) ? 200 : 429;
      expect({ at, status: await statusOf(plugin.requestToken()) }).toEqual({ at, status });
    }
  });

  test("does not count requests of other methods", async () => {
    const plugin = limited({ requests: 1, windowSeconds: 10 });
    await plugin.emulator.fetch(plugin.tokenUrl());
    expect(await statusOf(plugin.requestToken())).toBe(200);
  });

  test("admits exactly the configured number of 40 concurrent requests", async () => {
    const plugin = limited({ requests: 5, windowSeconds: 10 });
    const statuses = await Promise.all(Array.from({ length: 40 }, () => statusOf(plugin.requestToken())));
    expect(statuses.filter((status) => status === 200)).toHaveLength(5);
  });

  const headers: { name: string; retryAfter?: RateLimit["retryAfter"]; header: string }[] = [
    { name: "in seconds by default, rounded up", header: "8" },
    { name: "in seconds by name", retryAfter: "seconds", header: "8" },
    { name: "as a date, rounded up", retryAfter: "date", header: "Thu, 01 Jan 2026 12:00:10 GMT" },
  ];
  test.each(headers)("sends Retry-After $name", async ({ retryAfter, header }) => {
    const plugin = limited({ requests: 1, windowSeconds: 10, retryAfter });
    await plugin.requestToken();
    plugin.now += 2500;
    expect((await plugin.requestToken()).headers.get("retry-after")).toBe(header);
  });
});
