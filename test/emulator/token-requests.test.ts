// Tests of token requests that the table of negative requests does not cover: the order of the
// rules, the log, and launches in this process.
import { describe, expect, test } from "vitest";
import { EmulatorError, emulatorRules } from "../../src/emulator/index.js";
import {
  LaunchedPlugin,
  PluginClient,
  pluginKey,
  reporter,
  requestAccountToken,
} from "./deployment.js";
import { newPkce, newSigningKey, s256 } from "./signing-key.js";

test("the rules apply in the order rate limit, grant, assertion type, plugin, assertion, type, code", async () => {
  const rateLimit = { requests: 7, windowSeconds: 60 };
  const plugin = new PluginClient({ rateLimit }, { type: "user_interface", enabled: false });
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
  const body = "a=".padEnd(65_537, "x");
  await plugin.emulator.fetch(plugin.tokenUrl(), { method: "POST", headers, body });
  expect(plugin.lastRule()).toBe("token-request.body-size");
});

test("a wrong secret and an unknown account get the same answer, and the log distinguishes them", async () => {
  const account = { clientId: "worker", clientSecret: "correct horse battery", tenantId: "acme" };
  const { emulator } = new PluginClient();
  emulator.registerServiceAccount(account);
  const ask = async (changes: object) =>
    (await requestAccountToken(emulator, { ...account, ...changes })).text();
  expect(await ask({ clientSecret: "wrong" })).toBe(await ask({ clientId: "unknown" }));
  const entries = emulator.customerLog.entries({ rule: "client.authentication" });
  expect(entries.map(({ tenantId }) => tenantId)).toEqual(["acme", undefined]);
});

test("Variant B's token endpoint refuses with 401 and invalid_client, or with 400 (RFC 6749 section 5.2)", () => {
  const ofB =
    /^(client-request\.(?!method|media|body)|client\.|api-client\.|client-code\.|refresh\.)/;
  const rules = Object.entries(emulatorRules).filter(([id]) => ofB.test(id));
  for (const [, { answer }] of rules)
    expect(answer.status).toBe(answer.error === "invalid_client" ? 401 : 400);
  expect(rules.length).toBeGreaterThan(15);
});

describe("a launch in this process", () => {
  const identity = { ...reporter, userId: "ada" };

  test("has its parameters besides the query of the registered page", () => {
    const plugin = new LaunchedPlugin({}, { pageUrl: "https://plugin.example/page?lang=en#top" });
    const launch = plugin.emulator.launch(identity);
    const { state } = launch.authorize(newPkce());
    expect(state).toMatch(/^[\w-]{43}$/);
    const { origin, pathname, searchParams, hash } = new URL(launch.url);
    expect(origin + pathname + hash).toBe("https://plugin.example/page#top");
    const shown = { lang: "en", opaque_code: launch.opaqueCode, state };
    expect(Object.fromEntries(searchParams)).toEqual(shown);
  });

  test("has no state with launchState opaque_code, and host:auth-code repeats the opaque_code", () => {
    const launch = new LaunchedPlugin({ launchState: "opaque_code" }).emulator.launch(identity);
    expect(new URL(launch.url).searchParams.has("state")).toBe(false);
    expect(launch.authorize(newPkce()).state).toBe(launch.opaqueCode);
  });

  const refusedBy = (rule: string) =>
    expect.objectContaining({ code: "launch_refused", issues: [rule] });

  test.each([
    { launch: { tenantId: "globex" }, rule: "launch.plugin" },
    { launch: { userId: "unknown" }, rule: "launch.signed-in" },
    { launch: { userId: "grace" }, rule: "launch.signed-in" },
  ])("is refused by $rule with $launch", ({ launch, rule }) => {
    const { emulator } = new LaunchedPlugin();
    emulator.registerOperator({ tenantId: "globex", userId: "grace" });
    expect(() => emulator.launch({ ...identity, ...launch })).toThrow(refusedBy(rule));
  });

  test("refuses a wrong challenge and another opaque_code, and then accepts a right one", () => {
    const launch = new LaunchedPlugin().emulator.launch(identity);
    for (const codeChallenge of [`${s256("v").slice(1)}+`, {} as string]) {
      const authorize = () => launch.authorize({ codeChallenge });
      expect(authorize).toThrow(EmulatorError);
      expect(authorize).toThrow(refusedBy("launch.challenge"));
    }
    const foreign = { ...newPkce(), opaqueCode: "x" };
    expect(() => launch.authorize(foreign)).toThrow(refusedBy("launch.known"));
    expect(launch.authorize(newPkce()).code).toMatch(/^[\w-]{43}$/);
  });
});
