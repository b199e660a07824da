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
  const rows: { name: string; settings: object; issue: RegExp }[] = [
    { name: "a misspelt option", settings: { variant: "A" }, issue: /variant/ },
    { name: "a public URL that is a word", settings: { publicUrl: "acme" }, issue: /^publicUrl/ },
    {
      name: "a user in a URL",
      settings: { publicUrl: "https://u:hunter2@h.example" },
      issue: /^publicUrl/,
    },
    {
      name: "a limit of 0",
      settings: { rateLimit: { requests: 0, windowSeconds: 1 } },
      issue: /^rateLimit/,
    },
    { name: "a negative delay", settings: { narrowingDelayMs: -1 }, issue: /^narrowingDelayMs/ },
    {
      name: "a token lifetime of 0",
      settings: { tokenLifetimeSeconds: 0 },
      issue: /^tokenLifetime/,
    },
    {
      name: "a refresh path with a query",
      settings: { refreshPath: "/v1/r?x" },
      issue: /^refreshPath/,
    },
    {
      name: "a page as refresh path",
      settings: { refreshPath: "/host/acme" },
      issue: /^refreshPath/,
    },
    {
      name: "a login as refresh path",
      settings: { refreshPath: "/v1/auth/login" },
      issue: /^refreshPath/,
    },
    { name: "a bearer status of 200", settings: { bearerStatus: 200 }, issue: /^bearerStatus/ },
    { name: "an empty envelope member", settings: { envelope: { full: "" } }, issue: /^envelope/ },
    {
      name: "a token as extra",
      settings: { tokenResponseExtras: { access_token: "x" } },
      issue: /^tokenRe/,
    },
    {
      name: "a function as extra",
      settings: { tokenResponseExtras: { a: () => 1 } },
      issue: /^tokenRe/,
    },
    { name: "a success status of 300", settings: { successStatus: 300 }, issue: /^successStatus/ },
    {
      name: "a success status without body",
      settings: { successStatus: 204 },
      issue: /^successStatus/,
    },
    {
      name: "an error status of 500",
      settings: { clientErrorStatus: 500 },
      issue: /^clientErrorStatus/,
    },
    { name: "a function as body", settings: { bearerBody: () => 1 }, issue: /^bearerBody/ },
    {
      name: "a device without an id",
      settings: { devices: [{ name: "Door" }] },
      issue: /^devices/,
    },
    {
      name: "devices of an impossible tenant",
      settings: { devices: { "../x": [] } },
      issue: /^devices/,
    },
    {
      name: "a function in a device",
      settings: { devices: [{ id: "x", at: () => 0 }] },
      issue: /^devices/,
    },
    { name: "a clock that throws", settings: { now: throws }, issue: /^now: must not throw$/ },
    {
      name: "a clock that returns a string",
      settings: { now: () => "noon" },
      issue: /^now: must return/,
    },
    {
      name: "a getter that throws",
      settings: Object.defineProperty({}, "variants", { get: throws, enumerable: true }),
      issue: /^cannot be read$/,
    },
  ];
  test.each(rows)(
    "is refused, and the error does not quote its value: $name",
    ({ settings, issue }) => {
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
  const answers: { ask: Ask; settings: EmulatorOptions; status: number; body: unknown }[] = [
    {
      ask: launchedPlugin,
      settings: { successStatus: 201 },
      status: 201,
      body: found(/"access_token"/),
    },
    {
      ask: askAsAccount,
      settings: { successStatus: 202 },
      status: 202,
      body: found(/"access_token"/),
    },
    {
      ask: askWithWrongSecret,
      settings: {},
      status: 401,
      body: found(/^{"error":"invalid_client"/),
    },
    {
      ask: askWithWrongSecret,
      settings: { clientErrorBody: why },
      status: 401,
      body: JSON.stringify(why),
    },
    { ask: askWithWrongSecret, settings: { clientErrorBody: {} }, status: 401, body: "{}" },
    {
      ask: askWithWrongSecret,
      settings: { clientErrorStatus: 422 },
      status: 422,
      body: found(/"error"/),
    },
    { ask: callWithoutBearer, settings: { bearerBody: "no" }, status: 401, body: '"no"' },
    {
      ask: callWithoutBearer,
      settings: { bearerStatus: 403 },
      status: 403,
      body: found(/invalid_token/),
    },
    {
      ask: callWithoutBearer,
      settings: { bearerStatus: 403, bearerBody: [] },
      status: 403,
      body: "[]",
    },
    {
      ask: callClosedRoute,
      settings: { pluginTokenRefusedStatus: 404, bearerBody: why },
      status: 404,
      body: JSON.stringify(why),
    },
    {
      ask: callWithoutScope,
      settings: { bearerBody: why, missingCapabilityBody: why },
      status: 403,
      body: "",
    },
    { ask: callWithoutCapability, settings: { bearerBody: why }, status: 403, body: "" },
    { ask: callWithoutCapability, settings: { missingCapabilityBody: 7 }, status: 403, body: "7" },
  ];
  test.each(
    answers.map((row) => ({
      ...row,
      name: `${row.ask.name} with ${JSON.stringify(row.settings)}`,
    })),
  )(
    "chooses an answer that the description leaves open: $name",
    async ({ ask, settings, status, body }) => {
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

  const addresses = [
    { name: "a negative port", address: { port: -1 }, issue: /^port: / },
    { name: "a port above 65535", address: { port: 65_536 }, issue: /^port: / },
    { name: "half a port", address: { port: 1.5 }, issue: /^port: / },
    { name: "a port that is a word", address: { port: "x" }, issue: /^port: / },
    { name: "a host that is a number", address: { host: 5 }, issue: /^host: / },
    { name: "an empty host", address: { host: "" }, issue: /^host: / },
    { name: "a host that is null", address: { host: null }, issue: /^host: / },
    { name: "an unknown member", address: { hostname: "127.0.0.1" }, issue: /hostname/ },
    { name: "null", address: null, issue: /object/ },
  ];
  test.each(addresses)("of listen: $name is refused", async ({ address, issue }) => {
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
  const calls: { name: string; call: (emulator: Emulator) => unknown }[] = [
    { name: "launch: null", call: ({ launch }) => launch(wrong(null)) },
    {
      name: "launch: a number as user id",
      call: ({ launch }) => launch({ ...page, userId: wrong(7) }),
    },
    {
      name: "authorize: undefined",
      call: ({ launch }) => launch(launched).authorize(wrong(undefined)),
    },
    {
      name: "authorize: an opaque code that is a number",
      call: ({ launch }) => launch(launched).authorize({ codeChallenge: "", opaqueCode: wrong(7) }),
    },
    { name: "login: undefined", call: ({ login }) => login(wrong(undefined)) },
    { name: "login: a bad URL", call: ({ login }) => login({ url: "http://[", userId: "ada" }) },
    { name: "login: no user id", call: ({ login }) => login(wrong({ url })) },
    {
      name: "login: an unknown decision",
      call: ({ login }) => login({ url, userId: "ada", decision: wrong("x") }),
    },
    { name: "testKey: null", call: ({ testKey }) => testKey(wrong(null)) },
    { name: "clock.set: a bigint", call: ({ clock }) => clock.set(wrong(10n)) },
    { name: "clock.set: null", call: ({ clock }) => clock.set(wrong(null)) },
    { name: "clock.set: a boolean", call: ({ clock }) => clock.set(wrong(true)) },
    { name: "clock.set: an array", call: ({ clock }) => clock.set(wrong([2026])) },
    { name: "clock.set: NaN", call: ({ clock }) => clock.set(Number.NaN) },
    {
      name: "clock.set: an instant beyond Date's range",
      call: ({ clock }) => clock.set(8.64e15 + 1),
    },
    { name: "clock.set: no time zone", call: ({ clock }) => clock.set("2026-01-01T00:00:00") },
    { name: "clock.freeze: null", call: ({ clock }) => clock.freeze(wrong(null)) },
    { name: "clock.freeze: month 13", call: ({ clock }) => clock.freeze("2026-13-01T00:00:00Z") },
    { name: "clock.advance: a string", call: ({ clock }) => clock.advance(wrong("1")) },
    {
      name: "clock.advance: infinity",
      call: ({ clock }) => clock.advance(Number.POSITIVE_INFINITY),
    },
    { name: "reset: null", call: ({ reset }) => reset(wrong(null)) },
  ];
  test.each(calls)("of $name is refused and changes nothing", ({ call }) => {
    const emulator = createEmulator({ seed, now: () => START });
    const refused = expect.objectContaining({ name: "EmulatorError", code: "option_invalid" });
    expect(() => call(emulator)).toThrow(refused);
    expect(emulator.clock.now()).toBe(START);
    expect(emulator.customerLog.entries()).toEqual([]);
  });
});
