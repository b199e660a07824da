// Options and arguments: each choice is in the option table with its real default, data is copied,
// and a wrong value is refused at once with a typed error that changes nothing.
import { describe, expect, onTestFinished, test } from "vitest";
import { deploymentSettings } from "../../src/contract/learning/settings.js";
import {
  createEmulator,
  type Emulator,
  type EmulatorOptions,
  emulatorOptions,
} from "../../src/emulator/index.js";
import { apiClient, connect, serviceAccount } from "../../src/index.js";
import {
  accessTokenIn,
  ada,
  LaunchedPlugin,
  PluginClient,
  reporter,
  requestAccountToken,
  START,
} from "./plugin-client.js";

const wrong = <Wrong>(value: unknown) => value as Wrong;
const circular: Record<string, unknown> = {};
circular.self = circular;

describe("the option table", () => {
  test("has a section, a sentence and a default for each", () => {
    for (const { section, says, default: value } of Object.values(emulatorOptions)) {
      expect(section).toMatch(/^(\d|not shown)/);
      expect(says).toMatch(/\.$/);
      expect(value).not.toBeUndefined();
    }
  });

  test("has the real defaults: an emulator with them as options answers like one without options", async () => {
    const given: Record<string, unknown> = { refreshTokens: {} };
    for (const [id, { default: value }] of Object.entries(emulatorOptions)) {
      const [name = "", part] = id.split(".");
      if (part === undefined) given[name] = value;
      else if (name === "refreshTokens")
        Object.assign(given.refreshTokens as object, { [part]: value });
    }
    const answers = async (settings: object) => {
      const plugin = new PluginClient(settings);
      const refused = await plugin.requestToken({ claims: { aud: "x" } });
      const body = (await (await plugin.requestToken()).json()) as object;
      const { publicUrl } = plugin.emulator;
      return { refused: await refused.text(), body: { ...body, access_token: "" }, publicUrl };
    };
    expect(await answers(given)).toEqual(await answers({}));
  });

  test("has the names of a settings file, which connect and apiClient take too, and five that are not the deployment's", async () => {
    const names = Object.keys(emulatorOptions).map((id) => id.split(".")[0] ?? "");
    const own = ["admin", "api", "publicUrl", "respond", "routes"];
    const settings: Record<string, unknown> = {
      refreshTokens: { idleSeconds: 60 },
      unauthorizedStatuses: [403],
    };
    for (const [id, { default: value }] of Object.entries(emulatorOptions))
      if (!id.includes(".") && !own.includes(id)) settings[id] = value;
    expect(Object.keys(deploymentSettings.parse(settings)).sort()).toEqual(
      [...new Set(names), "unauthorizedStatuses"].filter((name) => !own.includes(name)).sort(),
    );
    for (const name of own)
      expect(deploymentSettings.safeParse({ [name]: null }).success).toBe(false);
    const { fetch, publicUrl: baseUrl, ...emulator } = createEmulator(settings);
    emulator.registerServiceAccount({
      tenantId: "acme",
      clientId: "worker",
      clientSecret: "not a secret",
    });
    const credentials = [serviceAccount({ clientId: "worker", clientSecret: "not a secret" })];
    const service = await connect({ ...settings, baseUrl, tenantId: "acme", credentials, fetch });
    expect(await service.call("listDevices")).toMatchObject({ status: 200 });
    const addresses = {
      redirectUri: "https://portal.example/",
      authorizationEndpoint: "/v1/auth/authorize",
    };
    expect(() => apiClient({ ...settings, ...addresses, clientId: "portal" })).not.toThrow();
  });
});

describe("an option", () => {
  const throws = () => {
    throw new Error("broken");
  };
  const rows: [name: string, settings: object, issue: RegExp][] = [
    ["a misspelt option", { variant: "A" }, /variant/],
    ["a public URL that is a word", { publicUrl: "acme" }, /^publicUrl/],
    ["a user in a URL", { publicUrl: "https://u:hunter2@h.example" }, /^publicUrl/],
    ["a limit of 0", { rateLimit: { requests: 0, windowSeconds: 1 } }, /^rateLimit/],
    ["a negative delay", { narrowingDelayMs: -1 }, /^narrowingDelayMs/],
    ["a token lifetime of 0", { tokenLifetimeSeconds: 0 }, /^tokenLifetime/],
    ["a refresh path with a query", { refreshPath: "/v1/r?x" }, /^refreshPath/],
    ["a page as refresh path", { refreshPath: "/host/acme" }, /^refreshPath/],
    ["a login as refresh path", { refreshPath: "/v1/auth/login" }, /^refreshPath/],
    ["a bearer status of 200", { bearerStatus: 200 }, /^bearerStatus/],
    ["an empty envelope member", { envelope: { full: "" } }, /^envelope/],
    ["a token as extra", { tokenResponseExtras: { access_token: "x" } }, /^tokenRe/],
    ["a function as extra", { tokenResponseExtras: { a: () => 1 } }, /^tokenRe/],
    ["a success status of 300", { successStatus: 300 }, /^successStatus/],
    ["a success status without body", { successStatus: 204 }, /^successStatus/],
    ["an error status of 500", { clientErrorStatus: 500 }, /^clientErrorStatus/],
    ["a function as body", { bearerBody: () => 1 }, /^bearerBody/],
    ["a device without an id", { devices: [{ name: "Door" }] }, /^devices/],
    ["devices of an impossible tenant", { devices: { "../x": [] } }, /^devices/],
    ["a function in a device", { devices: [{ id: "x", at: () => 0 }] }, /^devices/],
    ["a clock that throws", { now: throws }, /^now: must not throw$/],
    ["a clock that returns a string", { now: () => "noon" }, /^now: must return/],
    [
      "a getter that throws",
      Object.defineProperty({}, "variants", { get: throws, enumerable: true }),
      /^cannot be read$/,
    ],
  ];
  test.each(rows)(
    "is refused, and the error does not quote its value: %s",
    (_, settings, issue) => {
      expect(() => createEmulator(settings)).toThrow(
        expect.objectContaining({
          name: "EmulatorError",
          code: "option_invalid",
          issues: [expect.stringMatching(issue)],
          message: expect.not.stringContaining("hunter2"),
        }),
      );
    },
  );

  test("that is data is copied: later changes to the caller's object have no effect", async () => {
    const tokenResponseExtras = { deep: { list: [1] } };
    const devices = [{ id: "door", tags: ["a"] }];
    const bearerBody = { why: ["a"] };
    const account = { clientId: "worker", clientSecret: "not a secret", tenantId: "acme" };
    const seed = { serviceAccounts: [account] };
    const emulator = createEmulator({ tokenResponseExtras, devices, bearerBody, seed });
    devices[0]?.tags.push("b");
    bearerBody.why.push("b");
    tokenResponseExtras.deep.list.push(2);
    emulator.reset();
    const answer = await requestAccountToken(emulator, account);
    expect(await answer.clone().json()).toMatchObject({ deep: { list: [1] } });
    const authorization = `Bearer ${await accessTokenIn(answer)}`;
    const list = await emulator.fetch("/v1/devices", { headers: { authorization } });
    expect(await list.json()).toEqual([{ id: "door", tags: ["a"] }]);
    expect(await (await emulator.fetch("/v1/devices")).json()).toEqual({ why: ["a"] });
  });

  const account = { clientId: "worker", clientSecret: "not a secret", tenantId: "acme" };
  type Ask = (plugin: LaunchedPlugin) => Promise<Response>;
  const launchedPlugin: Ask = (plugin) => plugin.exchange(plugin.launchedCode());
  const askAsAccount: Ask = ({ emulator }) => requestAccountToken(emulator, account);
  const askWithWrongSecret: Ask = ({ emulator }) =>
    requestAccountToken(emulator, { ...account, clientSecret: "x" });
  const callWithoutBearer: Ask = (plugin) => plugin.call(undefined);
  const callClosedRoute: Ask = async (plugin) =>
    plugin.call(await plugin.launchedToken(), "/api/v1/acme/tenant-settings");
  const callWithoutScope: Ask = async (plugin) => {
    const token = await plugin.launchedToken();
    plugin.emulator.updatePlugin({ ...reporter, scopes: [] });
    return plugin.call(token);
  };
  const callWithoutCapability: Ask = async (plugin) => {
    const token = await plugin.launchedToken();
    plugin.emulator.updateOperator({ ...ada, capabilities: [] });
    return plugin.call(token);
  };
  const why = { why: "not shown" };
  const found = (pattern: RegExp) => expect.stringMatching(pattern);
  const answers: [ask: Ask, settings: EmulatorOptions, status: number, body: unknown][] = [
    [launchedPlugin, { successStatus: 201 }, 201, found(/"access_token"/)],
    [askAsAccount, { successStatus: 202 }, 202, found(/"access_token"/)],
    [askWithWrongSecret, {}, 401, found(/^{"error":"invalid_client"/)],
    [askWithWrongSecret, { clientErrorBody: why }, 401, JSON.stringify(why)],
    [askWithWrongSecret, { clientErrorBody: {} }, 401, "{}"],
    [askWithWrongSecret, { clientErrorStatus: 422 }, 422, found(/"error"/)],
    [callWithoutBearer, { bearerBody: "no" }, 401, '"no"'],
    [callWithoutBearer, { bearerStatus: 403 }, 403, found(/invalid_token/)],
    [callWithoutBearer, { bearerStatus: 403, bearerBody: [] }, 403, "[]"],
    [callClosedRoute, { pluginTokenRefusedStatus: 404, bearerBody: why }, 404, JSON.stringify(why)],
    [callWithoutScope, { bearerBody: why, missingCapabilityBody: why }, 403, ""],
    [callWithoutCapability, { bearerBody: why }, 403, ""],
    [callWithoutCapability, { missingCapabilityBody: 7 }, 403, "7"],
  ];
  test.each(
    answers.map(([ask, settings, ...answer]) => ({
      ...{ name: `${ask.name} with ${JSON.stringify(settings)}`, ask, settings, answer },
    })),
  )(
    "chooses an answer that the description leaves open: $name",
    async ({ ask, settings, answer: [status, body] }) => {
      const plugin = new LaunchedPlugin(settings);
      plugin.emulator.registerServiceAccount(account);
      const response = await ask(plugin);
      expect({ status: response.status, body: await response.text() }).toEqual({ status, body });
      if (status === 401)
        expect(response.headers.get("www-authenticate") === null).toBe(ask === askWithWrongSecret);
      if (ask === askWithWrongSecret)
        expect(plugin.emulator.customerLog.last()?.outcome).toMatchObject({ status });
    },
  );

  test.each([
    { userIdType: "number" as const, userId: "7", sent: 7 },
    { userIdType: "number" as const, userId: "007", sent: "007" },
    { userIdType: "number" as const, userId: "7a", sent: "7a" },
    { userIdType: "string" as const, userId: "7", sent: "7" },
  ])(
    "userIdType $userIdType sends the user id $userId as $sent",
    async ({ userIdType, userId, sent }) => {
      const plugin = new LaunchedPlugin({ userIdType });
      plugin.emulator.registerOperator({ ...ada, userId });
      const answer = await plugin.exchange(plugin.launchedCode({ userId }));
      expect(await answer.json()).toMatchObject({ revo: { user: { userId: sent } } });
    },
  );

  test.each([
    { rateLimitedAttemptSpendsCode: true, later: 400 },
    { rateLimitedAttemptSpendsCode: false, later: 200 },
  ])(
    "rateLimitedAttemptSpendsCode $rateLimitedAttemptSpendsCode: the code of an exchange that was answered 429 is later answered $later",
    async ({ later, ...settings }) => {
      const plugin = new LaunchedPlugin({
        ...settings,
        rateLimit: { requests: 1, windowSeconds: 60 },
      });
      const code = plugin.launchedCode();
      await plugin.requestToken();
      expect((await plugin.exchange(code)).status).toBe(429);
      plugin.now += 60_000;
      expect((await plugin.exchange(code)).status).toBe(later);
    },
  );

  test("unauthorizedStatuses is that of connect: it changes nothing here, so that one object serves both", async () => {
    const plugin = new PluginClient({ unauthorizedStatuses: [403] });
    expect((await plugin.call(undefined)).status).toBe(401);
    expect(Object.keys(emulatorOptions)).not.toContain("unauthorizedStatuses");
  });

  test("that is a clock and breaks later is reported by its name", () => {
    let now: unknown = START;
    const { clock } = createEmulator({ now: () => now as number });
    now = undefined;
    expect(() => clock.now()).toThrow(expect.objectContaining({ code: "option_invalid" }));
  });
});

describe("an argument", () => {
  test.each([{ input: undefined }, { input: null }, { input: 5 }])(
    "of fetch: $input",
    async ({ input }) => {
      const error = new TypeError("fetch takes a URL or a Request");
      await expect(createEmulator().fetch(wrong(input))).rejects.toThrow(error);
    },
  );

  const addresses: [name: string, address: unknown, issue: RegExp][] = [
    ["a negative port", { port: -1 }, /^port: /],
    ["a port above 65535", { port: 65_536 }, /^port: /],
    ["half a port", { port: 1.5 }, /^port: /],
    ["a port that is a word", { port: "x" }, /^port: /],
    ["a host that is a number", { host: 5 }, /^host: /],
    ["an empty host", { host: "" }, /^host: /],
    ["a host that is null", { host: null }, /^host: /],
    ["an unknown member", { hostname: "127.0.0.1" }, /hostname/],
    ["null", null, /object/],
  ];
  test.each(addresses)("of listen: %s is refused", async (_, address, issue) => {
    const emulator = createEmulator();
    await expect(emulator.listen(wrong(address))).rejects.toMatchObject({
      name: "EmulatorError",
      code: "option_invalid",
      issues: [expect.stringMatching(issue)],
    });
  });

  test("of listen: an undefined host is 127.0.0.1, and never every interface", async () => {
    const { url, close } = await createEmulator().listen({ port: 0, host: wrong(undefined) });
    onTestFinished(close);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:/);
  });

  const page = { tenantId: "acme", clientId: "planner" };
  const launched = { ...page, userId: "ada" };
  const seed = {
    plugins: [{ ...page, type: "user_interface" as const, scopes: ["devices:read"] }],
    operators: [{ tenantId: "acme", userId: "ada", capabilities: ["devices:read"] }],
  };
  const url = "/v1/auth/authorize";
  const calls: [name: string, call: (emulator: Emulator) => unknown][] = [
    ["launch: null", ({ launch }) => launch(wrong(null))],
    ["launch: a number as user id", ({ launch }) => launch({ ...page, userId: wrong(7) })],
    ["authorize: undefined", ({ launch }) => launch(launched).authorize(wrong(undefined))],
    [
      "authorize: an opaque code that is a number",
      ({ launch }) => launch(launched).authorize({ codeChallenge: "", opaqueCode: wrong(7) }),
    ],
    ["login: undefined", ({ login }) => login(wrong(undefined))],
    ["login: a bad URL", ({ login }) => login({ url: "http://[", userId: "ada" })],
    ["login: no user id", ({ login }) => login(wrong({ url }))],
    [
      "login: an unknown decision",
      ({ login }) => login({ url, userId: "ada", decision: wrong("x") }),
    ],
    ["testKey: null", ({ testKey }) => testKey(wrong(null))],
    ["clock.set: a bigint", ({ clock }) => clock.set(wrong(10n))],
    ["clock.set: null", ({ clock }) => clock.set(wrong(null))],
    ["clock.set: a boolean", ({ clock }) => clock.set(wrong(true))],
    ["clock.set: an array", ({ clock }) => clock.set(wrong([2026]))],
    ["clock.set: NaN", ({ clock }) => clock.set(Number.NaN)],
    ["clock.set: an instant beyond Date's range", ({ clock }) => clock.set(8.64e15 + 1)],
    ["clock.set: no time zone", ({ clock }) => clock.set("2026-01-01T00:00:00")],
    ["clock.freeze: null", ({ clock }) => clock.freeze(wrong(null))],
    ["clock.freeze: month 13", ({ clock }) => clock.freeze("2026-13-01T00:00:00Z")],
    ["clock.advance: a string", ({ clock }) => clock.advance(wrong("1"))],
    ["clock.advance: infinity", ({ clock }) => clock.advance(Number.POSITIVE_INFINITY)],
    ["reset: null", ({ reset }) => reset(wrong(null))],
  ];
  test.each(calls)("of %s is refused and changes nothing", (_, call) => {
    const emulator = createEmulator({ seed, now: () => START });
    const refused = expect.objectContaining({ name: "EmulatorError", code: "option_invalid" });
    expect(() => call(emulator)).toThrow(refused);
    expect(emulator.clock.now()).toBe(START);
    expect(emulator.customerLog.entries()).toEqual([]);
  });
});
