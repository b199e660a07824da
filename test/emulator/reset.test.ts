// Seeds, and resets to them, which are immediate and do not affect requests in flight.
import { createPrivateKey, type JsonWebKey } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  createEmulator,
  type EmulatorOptions,
  type EmulatorSeed,
} from "../../src/emulator/index.js";
import {
  accessTokenIn,
  ada,
  Deployment,
  PluginClient,
  pluginKey,
  reporter,
  requestAccountToken,
  START,
} from "./deployment.js";

const scopes = ["devices:read"];
const roles = [{ name: "reader", group: "reports" }];
const account = { tenantId: "acme", clientId: "account", clientSecret: "not a real secret" };
const seed: EmulatorSeed = {
  plugins: [
    { ...reporter, type: "service", scopes, roles },
    { clientId: "planner", tenantId: "acme", type: "user_interface", scopes },
  ],
  serviceAccounts: [account],
  operators: [ada],
  clock: { at: START, frozen: true },
};

const launched = { tenantId: "acme", clientId: "planner", userId: "ada" };
/** Its plugin `reporter` signs with the key that the emulator made for it. */
class Seeded extends Deployment {
  constructor(options: EmulatorOptions = {}) {
    super({ seed, ...options });
  }

  override form(): URLSearchParams {
    const jwk = this.emulator.testKey(reporter);
    const privateKey = createPrivateKey({ key: jwk as JsonWebKey, format: "jwk" });
    return super.form({ key: { kid: jwk.kid ?? "", privateKey } });
  }
}

describe("a seed", () => {
  test("registers plugins, accounts and operators, and sets the clock", async () => {
    const deployment = new Seeded();
    const { emulator } = deployment;
    expect(emulator.clock.now()).toBe(START);
    expect(await (await deployment.requestToken()).json()).toMatchObject({
      revo: { tenant: "acme", roles },
    });
    expect((await requestAccountToken(emulator, account)).status).toBe(200);
    expect(emulator.launch(launched).url).toContain("opaque_code=");
  });

  const jwks = { keys: [pluginKey.privateKey.export({ format: "jwk" })] };
  const shared = { ...reporter, type: "service", jwks };
  const withFunction = { operators: [{ ...ada, roles: () => [] }, ada] };
  test.each([
    { name: "an unknown member", seed: { plugin: [] }, issue: /plugin/ },
    { name: "a function", seed: withFunction, issue: /^operators\.0: must be plain data$/ },
    { name: "a private key", seed: { plugins: [shared] }, issue: /^plugins\.0\.jwks\.keys\.0: / },
  ])("with $name is refused by the place of the mistake", ({ seed, issue }) => {
    expect(() => createEmulator({ seed: seed as unknown as EmulatorSeed })).toThrow(
      expect.objectContaining({ issues: [expect.stringMatching(issue)] }),
    );
  });
});

describe("reset", () => {
  test("restores the seed as it was given, even if the caller's objects changed", () => {
    const capabilities = ["devices:read"];
    const operators = [{ tenantId: "acme", userId: "bob", capabilities }];
    const status = { name: "status" as const, status: 503, body: { deep: [1] } };
    const clock = { at: new Date(START), frozen: true };
    const emulator = createEmulator({ seed: { operators, faults: [status], clock } });
    const eve = { tenantId: "acme", userId: "eve", capabilities };
    operators.push(eve);
    status.body.deep.push(2);
    clock.at.setTime(0);
    emulator.reset();
    expect(() => emulator.updateOperator(eve)).toThrow(/is not registered/);
    expect(emulator.faults.list()).toMatchObject([{ fault: { body: { deep: [1] } } }]);
    expect(emulator.clock.now()).toBe(START);
  });

  test("restores registrations, tokens, jti values, rate-limit windows, clock, rule switches and logs", async () => {
    const deployment = new Seeded({ rateLimit: { requests: 2, windowSeconds: 60 } });
    const { emulator } = deployment;
    const form = deployment.form();
    const headers = { authorization: `Bearer ${await accessTokenIn(deployment.postForm(form))}` };
    const call = () => emulator.fetch("/api/v1/acme/devices", { headers });
    expect((await call()).status).toBe(200);
    emulator.updatePlugin({ ...reporter, enabled: false });
    emulator.registerOperator({ ...ada, userId: "bob" });
    emulator.clock.advance(5_000);
    emulator.rules.enforce("assertion.audience", false);
    emulator.reset();
    expect(emulator.journal.entries()).toEqual([]);
    expect(emulator.rules.off()).toEqual([]);
    expect(emulator.clock.now()).toBe(START);
    expect((await call()).status).toBe(401);
    expect(() => emulator.launch({ ...launched, userId: "bob" })).toThrow();
    // The same assertion and test key are accepted again, in an empty window.
    expect((await deployment.postForm(form)).status).toBe(200);
    expect((await deployment.requestToken()).status).toBe(200);
    expect((await deployment.requestToken()).status).toBe(429);
  });

  test("lets requests in flight end on the state they began with", async () => {
    let release = (_: string) => {};
    const held = new Promise<string>((resolve) => {
      release = resolve;
    });
    const route = { operationId: "wait", method: "GET", path: "/api/v1/{tenantId}/wait" } as const;
    const routes = [{ ...route, scope: "devices:read", respond: () => held }];
    const plugin = new PluginClient({ routes });
    const token = await plugin.pluginToken();
    const { journal } = plugin.emulator;
    const inFlight = plugin.call(token, "/api/v1/acme/wait");
    plugin.emulator.reset();
    release("done");
    expect(await (await inFlight).json()).toBe("done");
    expect(journal.entries()).toEqual([]);
    expect((await plugin.call(token, "/api/v1/acme/wait")).status).toBe(401);
  });
});

describe("reset with options", () => {
  test("applies them, and the next reset keeps them", async () => {
    const deployment = new Seeded({ variants: ["A"] });
    const { emulator } = deployment;
    const { url, close } = await emulator.listen();
    onTestFinished(close);
    const statusOfB = async () => (await fetch(`${url}/v1/devices`)).status;
    expect(await statusOfB()).toBe(404);
    const { plugins } = seed;
    emulator.reset({ variants: ["A", "B"], tokenLifetimeSeconds: 7, seed: { plugins } });
    expect(await statusOfB()).toBe(401);
    emulator.reset();
    expect(await statusOfB()).toBe(401);
    expect(await (await deployment.requestToken()).json()).toMatchObject({ expires_in: 7 });
    expect(emulator.url).toBe(url);
    expect(() => emulator.launch(launched)).toThrow();
  });

  test("restores the default of an option that is undefined, and keeps one that is left out", async () => {
    const deployment = new Seeded({ variants: ["A"], tokenLifetimeSeconds: 7 });
    const { emulator } = deployment;
    emulator.reset({ rules: { "assertion.audience": false } });
    emulator.reset({ variants: undefined, tokenLifetimeSeconds: undefined });
    expect(emulator.rules.off()).toEqual(["assertion.audience"]);
    expect((await emulator.fetch("/v1/devices")).status).toBe(401);
    expect(await (await deployment.requestToken()).json()).toMatchObject({ expires_in: 3600 });
    const form = deployment.form();
    emulator.reset({ rules: undefined, seed: undefined });
    expect(emulator.rules.off()).toEqual([]);
    expect((await deployment.postForm(form)).status).toBe(400);
  });

  const conflict = { operationId: "x", method: "GET", path: "/v1/devices" };
  test.each([
    { publicUrl: "https://other.example" },
    { now: () => 0 },
    { randomSeed: 4 },
    { seed: { operators: [ada, ada] } },
    { routes: [conflict] },
  ])("refuses %o and changes nothing", async (changes: object) => {
    const deployment = new Seeded();
    const { emulator } = deployment;
    emulator.clock.advance(5);
    expect(() => emulator.reset(changes)).toThrow();
    expect(emulator.clock.now()).toBe(START + 5);
    expect((await deployment.requestToken()).status).toBe(200);
  });
});

test("a seed number makes codes, tokens and ids the same in every run; keys are, without one too", async () => {
  const run = async (randomSeed?: number) => {
    const deployment = new Seeded({ randomSeed });
    const { emulator } = deployment;
    const answer = await (await deployment.requestToken()).json();
    return { key: emulator.testKey(reporter), answer, url: emulator.launch(launched).url };
  };
  const [first, again, ...others] = await Promise.all([run(7), run(7), run(8), run(), run()]);
  expect(again).toEqual(first);
  for (const part of ["answer", "url"] as const)
    expect(new Set([first, ...others].map((made) => JSON.stringify(made[part]))).size).toBe(4);
  for (const { key } of others) expect(key).toEqual(first.key);
});

test("each plugin has a test key of its own, also beyond those that are part of the package", () => {
  const emulator = createEmulator();
  const keys = Array.from({ length: 10 }, (_, at) => {
    const plugin = { tenantId: "acme", clientId: `plugin-${at}` };
    emulator.registerPlugin({ ...plugin, type: "service" });
    return emulator.testKey(plugin).n;
  });
  expect(new Set(keys).size).toBe(10);
  for (const modulus of keys) expect(modulus).toHaveLength(342);
});

test("testKey has no key for a plugin that has a JWKS of its own", () => {
  const { emulator } = new PluginClient();
  const refused = expect.objectContaining({ code: "not_registered" });
  expect(() => emulator.testKey(reporter)).toThrow(refused);
});
