// Tests of launches that the table of negative requests does not cover: the launch URL, which first attempts
// spend a code, and how the in-process host refuses a launch.
import { describe, expect, test } from "vitest";
import { EmulatorError } from "../../src/emulator/index.js";
import {
  accessTokenIn,
  ada,
  type Changed,
  LaunchedPlugin,
  rejectedWith,
  rejection,
  reporter,
  service,
} from "./plugin-client.js";
import { newPkce, s256 } from "./signing-key.js";

const identity = { ...reporter, userId: "ada" };

describe("the launch URL", () => {
  test("has its parameters besides the query of the registered page", () => {
    const plugin = new LaunchedPlugin({}, { pageUrl: "https://plugin.example/page?lang=en#top" });
    const launch = plugin.emulator.launch(identity);
    const url = new URL(launch.url);
    expect(`${url.origin}${url.pathname}${url.hash}`).toBe("https://plugin.example/page#top");
    expect(url.searchParams.get("lang")).toBe("en");
    expect(url.searchParams.get("opaque_code")).toBe(launch.opaqueCode);
    const { state } = launch.authorize(newPkce());
    expect(state).toMatch(/^[\w-]{43}$/);
    expect(url.searchParams.get("state")).toBe(state);
  });

  test("has no state with launchState opaque_code, and host:auth-code repeats the opaque_code", () => {
    const launch = new LaunchedPlugin({ launchState: "opaque_code" }).emulator.launch(identity);
    expect(new URL(launch.url).searchParams.has("state")).toBe(false);
    expect(launch.authorize(newPkce()).state).toBe(launch.opaqueCode);
  });
});

describe("a code", () => {
  test("lives as long as codeLifetimeSeconds", async () => {
    const plugin = new LaunchedPlugin({ codeLifetimeSeconds: 1 });
    const [first, second] = [plugin.launchedCode(), plugin.launchedCode()];
    plugin.now += 1000;
    expect((await plugin.exchange(first)).status).toBe(200);
    plugin.now += 1;
    await plugin.exchange(second);
    expect(plugin.lastRule()).toBe("code.lifetime");
  });

  type Row = { name: string; first: Changed; rule: string };
  const attempts: Row[] = [
    {
      name: "a wrong assertion type",
      first: { form: { client_assertion_type: "x" } },
      rule: "token-request.assertion-type",
    },
    { name: "an unknown plugin", first: { form: { client_id: "unknown" } }, rule: "plugin.registered" },
    { name: "no client_id", first: { form: { client_id: undefined } }, rule: "token-request.client-id" },
    { name: "another tenant", first: { tenantId: "globex" }, rule: "code.tenant" },
  ];
  test.each(attempts)("is spent by an attempt with $name", async ({ first, rule }) => {
    const plugin = new LaunchedPlugin();
    plugin.emulator.registerPlugin({ ...service, ...reporter, type: "user_interface", tenantId: "globex" });
    const launched = plugin.launchedCode();
    await plugin.exchange(launched, first);
    expect(plugin.lastRule()).toBe(rule);
    expect(await rejection(await plugin.exchange(launched))).toEqual(rejectedWith("invalid_grant"));
    expect(plugin.lastRule()).toBe("code.unspent");
  });

  const malformed: { name: string; first?: string; more?: string; rule: string }[] = [
    { name: "a repeated parameter", more: "&x=1&x=2", rule: "token-request.duplicate-parameter" },
    { name: "a second code", more: "&code=x", rule: "token-request.duplicate-parameter" },
    { name: "another code before it", first: "code=x&", rule: "token-request.duplicate-parameter" },
    { name: "a client_secret", more: "&client_secret=x", rule: "token-request.one-authentication" },
  ];
  test.each(malformed)("is spent by a form with $name, unless the option keeps it", async (row) => {
    for (const unauthenticatedAttemptSpendsCode of [true, false]) {
      const plugin = new LaunchedPlugin({ unauthenticatedAttemptSpendsCode });
      const launched = plugin.launchedCode();
      const { code, codeVerifier } = launched;
      const form = { grant_type: "authorization_code", code, code_verifier: codeVerifier };
      await plugin.post(`${row.first ?? ""}${plugin.form({ form })}${row.more ?? ""}`);
      expect(plugin.lastRule()).toBe(row.rule);
      const { status } = await plugin.exchange(launched);
      expect(status).toBe(unauthenticatedAttemptSpendsCode ? 400 : 200);
    }
  });

  test("is not spent by other grants", async () => {
    const plugin = new LaunchedPlugin();
    const launched = plugin.launchedCode();
    await plugin.exchange(launched, { form: { grant_type: "client_credentials" } });
    expect(plugin.lastRule()).toBe("plugin.grant");
    await plugin.post(`${plugin.form({ form: { code: launched.code } })}&code=${launched.code}`);
    expect(plugin.lastRule()).toBe("token-request.duplicate-parameter");
    expect((await plugin.exchange(launched)).status).toBe(200);
  });

  test("that is exchanged again leaves the first token valid, because the description revokes none", async () => {
    const plugin = new LaunchedPlugin();
    const launched = plugin.launchedCode();
    const token = await accessTokenIn(plugin.exchange(launched));
    await plugin.exchange(launched);
    expect((await plugin.call(token)).status).toBe(200);
  });

  const verifiers = [
    { name: "every unreserved character is accepted", codeVerifier: "-._~".padEnd(43, "v"), status: 200 },
    { name: "a character beyond ASCII is refused", codeVerifier: `${"v".repeat(42)}é`, status: 400 },
  ];
  test.each(verifiers)("is exchanged by its verifier: $name", async ({ codeVerifier, status }) => {
    const plugin = new LaunchedPlugin();
    const pkce = newPkce(codeVerifier);
    const launched = { ...plugin.emulator.launch(identity).authorize(pkce), ...pkce };
    expect((await plugin.exchange(launched)).status).toBe(status);
  });
});

describe("the in-process host refuses", () => {
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
    { name: "an unknown plugin", launch: { clientId: "unknown" }, rule: "launch.plugin" },
    { name: "a service plugin", launch: { clientId: "service" }, rule: "launch.plugin" },
    { name: "a disabled plugin", launch: { clientId: "off" }, rule: "launch.plugin" },
    { name: "a plugin of another tenant", launch: { tenantId: "globex" }, rule: "launch.plugin" },
    { name: "an unknown operator", launch: { userId: "unknown" }, rule: "launch.signed-in" },
    { name: "another tenant's operator", launch: { userId: "grace" }, rule: "launch.signed-in" },
  ];
  test.each(asked)("a launch with $name", ({ launch, rule }) => {
    const { emulator } = new LaunchedPlugin();
    emulator.registerPlugin({ ...service, clientId: "service", tenantId: "acme" });
    const off = { clientId: "off", tenantId: "acme", enabled: false };
    emulator.registerPlugin({ ...service, ...off, type: "user_interface" });
    emulator.registerOperator({ tenantId: "globex", userId: "grace" });
    expect(refusalOf(() => emulator.launch({ ...identity, ...launch }))).toBe(rule);
  });

  const challenges = [
    { name: "no challenge", codeChallenge: undefined },
    { name: "a plain challenge", codeChallenge: "v".repeat(64) },
    { name: "a challenge in base64", codeChallenge: `${s256("v").slice(1)}+` },
    { name: "a challenge that is an object", codeChallenge: {} },
  ];
  test.each(challenges)("$name, and then accepts a right one", ({ codeChallenge }) => {
    const launch = new LaunchedPlugin().emulator.launch(identity);
    const rule = refusalOf(() => launch.authorize({ codeChallenge: codeChallenge as string }));
    expect(rule).toBe("launch.challenge");
    expect(launch.authorize(newPkce()).code).toMatch(/^[\w-]{43}$/);
  });

  test("an unknown opaque_code, another operator's, one used before, one too old, and a plugin disabled since", () => {
    const plugin = new LaunchedPlugin();
    const { emulator } = plugin;
    emulator.registerOperator({ ...ada, userId: "eve" });
    const [mine, hers] = [emulator.launch(identity), emulator.launch({ ...identity, userId: "eve" })];
    const { codeChallenge } = newPkce();
    expect(refusalOf(() => mine.authorize({ codeChallenge, opaqueCode: "x" }))).toBe("launch.known");
    const foreign = { codeChallenge, opaqueCode: mine.opaqueCode };
    expect(refusalOf(() => hers.authorize(foreign))).toBe("launch.known");
    mine.authorize({ codeChallenge });
    expect(refusalOf(() => mine.authorize({ codeChallenge }))).toBe("launch.unused");
    plugin.now += 600_001;
    expect(refusalOf(() => hers.authorize({ codeChallenge }))).toBe("launch.lifetime");
    const late = emulator.launch(identity);
    emulator.updatePlugin({ ...reporter, enabled: false });
    expect(refusalOf(() => late.authorize({ codeChallenge }))).toBe("launch.plugin");
  });
});
