// Variant A's authorization code: two minutes, one attempt, bound to plugin, tenant, operator and challenge.
import { describe, expect, test } from "vitest";
import { EmulatorError } from "../../src/emulator/index.js";
import { ada, LaunchedPlugin } from "./launched-plugin.js";
import { newPkce, s256 } from "./pkce.js";
import { type Changed, pluginKey, rejectedWith, rejection } from "./plugin-client.js";
import { newSigningKey } from "./signing-key.js";

const otherKey = newSigningKey("key-1");
const identity = { tenantId: "acme", clientId: "reporter", userId: "ada" };

function withNeighbours(): LaunchedPlugin {
  const plugin = new LaunchedPlugin();
  const registration = { type: "user_interface", jwks: { keys: [pluginKey.publicJwk] } } as const;
  plugin.emulator.registerPlugin({ ...registration, clientId: "neighbour", tenantId: "acme" });
  plugin.emulator.registerPlugin({ ...registration, clientId: "reporter", tenantId: "globex" });
  return plugin;
}

test("a code is exchanged for a token with the operator in revo.user and the operator's roles", async () => {
  const plugin = new LaunchedPlugin();
  const launched = plugin.launchedCode();
  expect(launched).toMatchObject({ tenantId: "acme", state: expect.stringMatching(/^[\w-]{43}$/) });
  const response = await plugin.exchange(launched);
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({
    access_token: expect.stringMatching(/^[\w-]{43}$/),
    token_type: "Bearer",
    expires_in: 3600,
    revo: {
      tenant: "acme",
      user: { userId: "ada", firstname: "Ada", lastname: "Lovelace" },
      roles: [{ name: "planner", group: "people" }],
    },
  });
});

test("the launch URL has its parameters beside the query of the registered page", () => {
  const plugin = new LaunchedPlugin({}, { pageUrl: "https://plugin.example/page?lang=en#top" });
  const launch = plugin.emulator.launch(identity);
  const url = new URL(launch.url);
  expect(`${url.origin}${url.pathname}${url.hash}`).toBe("https://plugin.example/page#top");
  expect(url.searchParams.get("lang")).toBe("en");
  expect(url.searchParams.get("opaque_code")).toBe(launch.opaqueCode);
  expect(launch.authorize(newPkce()).state).toBe(url.searchParams.get("state"));
});

test("with launchState opaque_code the URL has no state and host:auth-code repeats the opaque_code", () => {
  const plugin = new LaunchedPlugin({ launchState: "opaque_code" });
  const launch = plugin.emulator.launch(identity);
  expect(new URL(launch.url).searchParams.has("state")).toBe(false);
  expect(launch.authorize(newPkce()).state).toBe(launch.opaqueCode);
});

describe("a code is exchanged up to its two minutes, its last millisecond included", () => {
  const rows = [
    { name: "at once", ageMs: 0, status: 200 },
    { name: "at 1:59", ageMs: 119_000, status: 200 },
    { name: "at 2:00", ageMs: 120_000, status: 200 },
    { name: "a millisecond later", ageMs: 120_001, status: 400 },
    { name: "at 2:01", ageMs: 121_000, status: 400 },
    { name: "after a day", ageMs: 86_400_000, status: 400 },
  ];
  test.each(rows)("$name", async ({ ageMs, status }) => {
    const plugin = new LaunchedPlugin();
    const launched = plugin.launchedCode();
    plugin.now += ageMs;
    const response = await plugin.exchange(launched);
    expect(response.status).toBe(status);
    if (status === 400) {
      expect(await rejection(response)).toEqual(rejectedWith("invalid_grant"));
      expect(plugin.lastRule()).toBe("code.lifetime");
    }
  });

  test("or as long as codeLifetimeSeconds says", async () => {
    const plugin = new LaunchedPlugin({ codeLifetimeSeconds: 1 });
    const [first, second] = [plugin.launchedCode(), plugin.launchedCode()];
    plugin.now += 1000;
    expect((await plugin.exchange(first)).status).toBe(200);
    plugin.now += 1;
    expect((await plugin.exchange(second)).status).toBe(400);
  });
});

describe("a code is spent on the first attempt, whether it succeeds or fails", () => {
  const wrongVerifier = newPkce().codeVerifier;
  type Row = { name: string; first: Changed; rule: string | undefined; waitMs?: number };
  const rows: Row[] = [
    { name: "a success, repeated at once", first: {}, rule: undefined },
    { name: "a success, repeated after 1 s", first: {}, rule: undefined, waitMs: 1000 },
    { name: "a success, repeated after 30 s", first: {}, rule: undefined, waitMs: 30_000 },
    { name: "a wrong verifier", first: { form: { code_verifier: wrongVerifier } }, rule: "code.verifier" },
    { name: "no verifier", first: { form: { code_verifier: undefined } }, rule: "code.verifier" },
    { name: "a wrong key", first: { key: otherKey }, rule: "assertion.signature" },
    { name: "no assertion", first: { form: { client_assertion: undefined } }, rule: "assertion.present" },
    {
      name: "a wrong assertion type",
      first: { form: { client_assertion_type: "x" } },
      rule: "token-request.assertion-type",
    },
    { name: "an unknown plugin", first: { form: { client_id: "nobody" } }, rule: "plugin.registered" },
    { name: "no client_id", first: { form: { client_id: undefined } }, rule: "token-request.client-id" },
    { name: "another tenant's route", first: { tenantId: "globex" }, rule: "code.tenant" },
    {
      name: "another plugin",
      first: { form: { client_id: "neighbour" }, claims: { iss: "neighbour", sub: "neighbour" } },
      rule: "code.plugin",
    },
  ];
  test.each(rows)("$name", async ({ first, rule, waitMs = 0 }) => {
    const plugin = withNeighbours();
    const launched = plugin.launchedCode();
    const attempt = await plugin.exchange(launched, first);
    expect(attempt.status).toBe(rule === undefined ? 200 : 400);
    expect(plugin.lastRule()).toBe(rule);
    plugin.now += waitMs;
    expect(await rejection(await plugin.exchange(launched))).toEqual(rejectedWith("invalid_grant"));
    expect(plugin.lastRule()).toBe("code.unspent");
  });

  const malformed = [
    { name: "a repeated parameter", more: "&x=1&x=2", rule: "token-request.duplicate-parameter" },
    { name: "the code in front of another", more: "&code=x", rule: "token-request.duplicate-parameter" },
    {
      name: "a second grant_type",
      more: "&grant_type=client_credentials",
      rule: "token-request.duplicate-parameter",
    },
    { name: "a client_secret", more: "&client_secret=x", rule: "token-request.one-authentication" },
  ];
  test.each(malformed)("$name beside a code that is right, unless the option says otherwise", async (row) => {
    for (const unauthenticatedAttemptSpendsCode of [true, false]) {
      const plugin = new LaunchedPlugin({ unauthenticatedAttemptSpendsCode });
      const { code, codeVerifier, ...launched } = plugin.launchedCode();
      const form = { grant_type: "authorization_code", code, code_verifier: codeVerifier };
      await plugin.post(`${plugin.form({ form })}${row.more}`);
      expect(plugin.lastRule()).toBe(row.rule);
      const { status } = await plugin.exchange({ code, codeVerifier, ...launched });
      expect(status).toBe(unauthenticatedAttemptSpendsCode ? 400 : 200);
    }
  });

  test("a request that is not an exchange leaves the code unspent", async () => {
    const plugin = new LaunchedPlugin({ rateLimit: { requests: 3, windowSeconds: 60 } });
    const launched = plugin.launchedCode();
    await plugin.exchange(launched, { form: { grant_type: "client_credentials" } });
    expect(plugin.lastRule()).toBe("plugin.grant");
    await plugin.post(`${plugin.form({ form: { code: launched.code } })}&code=${launched.code}`);
    expect(plugin.lastRule()).toBe("token-request.duplicate-parameter");
    await plugin.post("grant_type=x");
    expect((await plugin.exchange(launched)).status).toBe(429);
    plugin.now += 60_000;
    expect((await plugin.exchange(launched)).status).toBe(200);
  });

  test("of 20 concurrent exchanges exactly one is answered 200", async () => {
    const plugin = new LaunchedPlugin();
    const launched = plugin.launchedCode();
    const attempts = Array.from({ length: 20 }, () => plugin.exchange(launched));
    const statuses = (await Promise.all(attempts)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 400)).toHaveLength(19);
  });

  test("the token of the first exchange outlives a second attempt: nothing says otherwise", async () => {
    const plugin = new LaunchedPlugin();
    const launched = plugin.launchedCode();
    const { access_token } = (await (await plugin.exchange(launched)).json()) as { access_token: string };
    await plugin.exchange(launched);
    expect((await plugin.call(access_token)).status).toBe(200);
  });
});

describe("a code verifier is refused", () => {
  const rows = [
    { name: "of 42 characters", codeVerifier: "v".repeat(42) },
    { name: "of 129 characters", codeVerifier: "v".repeat(129) },
    { name: "with a character that is not unreserved", codeVerifier: `${"v".repeat(42)}+` },
    { name: "with a character beyond ASCII", codeVerifier: `${"v".repeat(42)}é` },
  ];
  test.each(rows)("$name, though its challenge was sent", async ({ codeVerifier }) => {
    const plugin = new LaunchedPlugin();
    const pkce = newPkce(codeVerifier);
    const launched = { ...plugin.emulator.launch(identity).authorize(pkce), ...pkce };
    expect(await rejection(await plugin.exchange(launched))).toEqual(rejectedWith("invalid_grant"));
    expect(plugin.lastRule()).toBe("code.verifier");
  });

  test.each([43, 128])("but of %d characters is taken", async (length) => {
    const plugin = new LaunchedPlugin();
    const pkce = newPkce("-._~".padEnd(length, "v"));
    const launched = { ...plugin.emulator.launch(identity).authorize(pkce), ...pkce };
    expect((await plugin.exchange(launched)).status).toBe(200);
  });

  test("that is the challenge itself", async () => {
    const plugin = new LaunchedPlugin();
    const launched = plugin.launchedCode();
    const stolen = { ...launched, codeVerifier: launched.codeChallenge };
    expect((await plugin.exchange(stolen)).status).toBe(400);
    expect(plugin.lastRule()).toBe("code.verifier");
  });
});

describe("the host refuses a launch", () => {
  function refusalOf(action: () => unknown): unknown {
    try {
      action();
    } catch (error) {
      if (error instanceof EmulatorError && error.code === "launch_refused") return error.issues[0];
      throw error;
    }
    return undefined;
  }
  const asked = [
    { name: "of a plugin that is not registered", launch: { clientId: "nobody" }, rule: "launch.plugin" },
    { name: "of a service plugin", launch: { clientId: "service" }, rule: "launch.plugin" },
    { name: "of a disabled plugin", launch: { clientId: "off" }, rule: "launch.plugin" },
    { name: "by an unknown operator", launch: { userId: "nobody" }, rule: "launch.signed-in" },
    { name: "by another tenant's operator", launch: { userId: "grace" }, rule: "launch.signed-in" },
    { name: "in another tenant", launch: { tenantId: "globex" }, rule: "launch.plugin" },
  ];
  test.each(asked)("$name", ({ launch, rule }) => {
    const { emulator } = new LaunchedPlugin();
    const registration = { tenantId: "acme", jwks: { keys: [pluginKey.publicJwk] } };
    emulator.registerPlugin({ ...registration, clientId: "service", type: "service" });
    emulator.registerPlugin({ ...registration, clientId: "off", type: "user_interface", enabled: false });
    emulator.registerOperator({ tenantId: "globex", userId: "grace" });
    expect(refusalOf(() => emulator.launch({ ...identity, ...launch }))).toBe(rule);
    expect(emulator.customerLog.entries().at(-1)).toMatchObject({ rule, outcome: { status: 403 } });
  });

  const challenges = [
    { name: "no challenge", codeChallenge: undefined },
    { name: "an empty challenge", codeChallenge: "" },
    { name: "a verifier as challenge, method plain", codeChallenge: "v".repeat(64) },
    { name: "a padded challenge", codeChallenge: `${s256("v")}=` },
    { name: "a challenge in base64", codeChallenge: `${s256("v").slice(1)}+` },
    { name: "a challenge that is an object", codeChallenge: {} },
  ];
  test.each(challenges)("with $name, and the launch can still be authorised rightly", ({ codeChallenge }) => {
    const launch = new LaunchedPlugin().emulator.launch(identity);
    const rule = refusalOf(() => launch.authorize({ codeChallenge: codeChallenge as string }));
    expect(rule).toBe("launch.challenge");
    expect(launch.authorize(newPkce()).code).toMatch(/^[\w-]{43}$/);
  });

  test("with an unknown opaque_code, another operator's, or one used before", () => {
    const { emulator } = new LaunchedPlugin();
    emulator.registerOperator({ ...ada, userId: "eve" });
    const [mine, hers] = [emulator.launch(identity), emulator.launch({ ...identity, userId: "eve" })];
    const { codeChallenge } = newPkce();
    expect(refusalOf(() => mine.authorize({ codeChallenge, opaqueCode: "x" }))).toBe("launch.known");
    expect(refusalOf(() => hers.authorize({ codeChallenge, opaqueCode: mine.opaqueCode }))).toBe(
      "launch.known",
    );
    mine.authorize({ codeChallenge });
    expect(refusalOf(() => mine.authorize({ codeChallenge }))).toBe("launch.unused");
  });

  test.each([
    { name: "but not at ten minutes", ageMs: 600_000, rule: undefined },
    { name: "a millisecond after ten minutes", ageMs: 600_001, rule: "launch.lifetime" },
  ])("$name", ({ ageMs, rule }) => {
    const plugin = new LaunchedPlugin();
    const launch = plugin.emulator.launch(identity);
    plugin.now += ageMs;
    expect(refusalOf(() => launch.authorize(newPkce()))).toBe(rule);
  });

  test("that was opened before the plugin was disabled", () => {
    const { emulator } = new LaunchedPlugin();
    const launch = emulator.launch(identity);
    emulator.updatePlugin({ clientId: "reporter", tenantId: "acme", enabled: false });
    expect(refusalOf(() => launch.authorize(newPkce()))).toBe("launch.plugin");
  });
});
