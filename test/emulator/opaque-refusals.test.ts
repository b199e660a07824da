// Variant A's refusals: the order of the rules, the answer that tells nothing, and the log that tells all.
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import type { EmulatorOptions } from "../../src/emulator/index.js";
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

/** What a caller sees on the wire, but the time of day. */
async function onTheWire(plugin: PluginClient, changed: Changed): Promise<Seen> {
  const url = `${plugin.emulator.url}/api/v1/acme/external-plugin/oauth/token`;
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const sent = request(url, { method: "POST", headers }).end(String(plugin.form(changed)));
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  let body = "";
  for await (const chunk of answer) body += chunk;
  const raw = answer.rawHeaders.map((value, index) =>
    answer.rawHeaders[index - 1]?.toLowerCase() === "date" ? "…" : value,
  );
  return { statusLine: `${answer.httpVersion} ${answer.statusCode} ${answer.statusMessage}`, raw, body };
}

interface Seen {
  readonly statusLine: string;
  /** Names and values in turn, as they came. */
  readonly raw: readonly string[];
  readonly body: string;
}

const callers = {
  "a missing plugin": { form: { client_id: "nobody" }, claims: { iss: "nobody", sub: "nobody" } },
  "a wrong key": { key: otherKey },
  "a disabled plugin": { form: { client_id: "off" }, claims: { iss: "off", sub: "off" } },
} satisfies Record<string, Changed>;

async function seenBy(options: EmulatorOptions): Promise<Record<keyof typeof callers, Seen>> {
  const plugin = new PluginClient(options);
  const jwks = { keys: [pluginKey.publicJwk] };
  const off = { clientId: "off", tenantId: "acme", type: "service", enabled: false, jwks } as const;
  plugin.emulator.registerPlugin(off);
  const { close } = await plugin.emulator.listen();
  onTestFinished(close);
  const seen: [string, Seen][] = [];
  for (const [name, changed] of Object.entries(callers)) seen.push([name, await onTheWire(plugin, changed)]);
  return Object.fromEntries(seen) as Record<keyof typeof callers, Seen>;
}

describe("over HTTP, a missing plugin, a wrong key and a disabled plugin", () => {
  test("differ in the error that the table of section 7.1 demands, and in nothing else", async () => {
    const seen = await seenBy({});
    expect(seen["a missing plugin"]).toEqual(seen["a disabled plugin"]);
    const { "a missing plugin": missing, "a wrong key": wrong } = seen;
    expect(wrong.statusLine).toBe(missing.statusLine);
    expect(JSON.parse(missing.body)).toEqual({ error: "invalid_grant", error_description: REJECTED });
    // The two codes are of different lengths, so the lengths of the bodies differ with them.
    const asMissing = (text: string) => text.replace("invalid_client", "invalid_grant");
    expect(asMissing(wrong.body)).toBe(missing.body);
    const lengthOf = ({ body }: Seen) => String(body.length);
    expect(wrong.raw.map((value) => (value === lengthOf(wrong) ? lengthOf(missing) : value))).toEqual(
      missing.raw,
    );
  });

  test("cannot be told apart by a byte, where the option settles it as the sentence of section 7.1 has it", async () => {
    const seen = await seenBy({ refusedPluginError: "invalid_client" });
    expect(seen["a missing plugin"]).toEqual(seen["a wrong key"]);
    expect(seen["a disabled plugin"]).toEqual(seen["a wrong key"]);
    expect(JSON.parse(seen["a wrong key"].body)).toEqual({
      error: "invalid_client",
      error_description: REJECTED,
    });
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
