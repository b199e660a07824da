// Options and arguments: the table has real defaults, data is copied, wrong values change nothing.
import { describe, expect, onTestFinished, test } from "vitest";
import { deploymentSettings } from "../../src/contract/learning/settings.js";
import { createEmulator, type Emulator, emulatorOptions } from "../../src/emulator/index.js";
import { apiClient, connect, serviceAccount } from "../../src/index.js";
import {
  accessTokenIn,
  ada,
  LaunchedPlugin,
  PluginClient,
  reporter,
  requestAccountToken,
  START,
} from "./deployment.js";

const wrong = <Wrong>(value: unknown) => value as Wrong;
const account = { clientId: "worker", clientSecret: "not a secret", tenantId: "acme" };

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
    emulator.registerServiceAccount(account);
    const { tenantId, ...secret } = account;
    const credentials = [serviceAccount(secret)];
    const service = await connect({ ...settings, baseUrl, tenantId, credentials, fetch });
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
  test.each<[settings: object, issue: RegExp]>([
    [{ admin: "localhost" }, /^admin/],
    [{ publicUrl: "acme" }, /^publicUrl/],
    [{ publicUrl: "https://u:hunter2@h.example" }, /^publicUrl/],
    [{ rateLimit: { requests: 0, windowSeconds: 1 } }, /^rateLimit/],
    [{ narrowingDelayMs: -1 }, /^narrowingDelayMs/],
    [{ tokenLifetimeSeconds: 0 }, /^tokenLifetime/],
    [{ refreshPath: "/v1/r?x" }, /^refreshPath/],
    [{ refreshPath: "/host/acme" }, /^refreshPath/],
    [{ refreshPath: "/v1/auth/login" }, /^refreshPath/],
    [{ bearerStatus: 200 }, /^bearerStatus/],
    [{ envelope: { full: "" } }, /^envelope/],
    [{ tokenResponseExtras: { access_token: "x" } }, /^tokenRe/],
    [{ successStatus: 300 }, /^successStatus/],
    [{ successStatus: 204 }, /^successStatus/],
    [{ clientErrorStatus: 500 }, /^clientErrorStatus/],
    [{ bearerBody: () => 1 }, /^bearerBody/],
    [{ devices: [{ name: "Door" }] }, /^devices/],
    [{ devices: { "../x": [] } }, /^devices/],
    [{ devices: [{ id: "x", at: () => 0 }] }, /^devices/],
    [{ now: throws }, /^now: must not throw$/],
    [{ now: () => "noon" }, /^now: must return/],
  ])("is refused, and the error does not quote its value: %o", (settings, issue) => {
    expect(() => createEmulator(settings)).toThrow(
      expect.objectContaining({
        name: "EmulatorError",
        code: "option_invalid",
        issues: [expect.stringMatching(issue)],
        message: expect.not.stringContaining("hunter2"),
      }),
    );
  });

  test("that cannot be read is refused", () => {
    const settings = Object.defineProperty({}, "variants", { get: throws, enumerable: true });
    const refused = expect.objectContaining({ issues: ["cannot be read"] });
    expect(() => createEmulator(settings)).toThrow(refused);
  });

  test("that is data is copied: later changes to the caller's object have no effect", async () => {
    const tokenResponseExtras = { deep: { list: [1] } };
    const devices = [{ id: "door", tags: ["a"] }];
    const seed = { serviceAccounts: [account] };
    const emulator = createEmulator({ tokenResponseExtras, devices, seed });
    devices[0]?.tags.push("b");
    tokenResponseExtras.deep.list.push(2);
    emulator.reset();
    const answer = await requestAccountToken(emulator, account);
    expect(await answer.clone().json()).toMatchObject({ deep: { list: [1] } });
    const authorization = `Bearer ${await accessTokenIn(answer)}`;
    const list = await emulator.fetch("/v1/devices", { headers: { authorization } });
    expect(await list.json()).toEqual([{ id: "door", tags: ["a"] }]);
  });

  test("for a body is answered as it is where it belongs, and never to a missing scope", async () => {
    const why = { why: ["not shown"] };
    const bodies = { clientErrorBody: why, bearerBody: "no", missingCapabilityBody: 7 };
    const plugin = new LaunchedPlugin(bodies);
    const { emulator } = plugin;
    const shown = async (asked: Promise<Response>) => {
      const answer = await asked;
      return [answer.status, await answer.text()];
    };
    const unknown = requestAccountToken(emulator, account);
    expect(await shown(unknown)).toEqual([401, '{"why":["not shown"]}']);
    expect((await unknown).headers.has("www-authenticate")).toBe(false);
    const token = await plugin.launchedToken();
    expect(await shown(plugin.call(undefined))).toEqual([401, '"no"']);
    expect(await shown(plugin.call(token, "/api/v1/acme/tenant-settings"))).toEqual([401, '"no"']);
    emulator.updateOperator({ ...ada, capabilities: [] });
    expect(await shown(plugin.call(token))).toEqual([403, "7"]);
    emulator.updateOperator(ada);
    emulator.updatePlugin({ ...reporter, scopes: [] });
    expect(await shown(plugin.call(token))).toEqual([403, ""]);
  });

  test.each(["007", "7a"])("userIdType number sends the user id %s as text", async (userId) => {
    const plugin = new LaunchedPlugin({ userIdType: "number" });
    plugin.emulator.registerOperator({ ...ada, userId });
    const answer = await plugin.exchange(plugin.launchedCode({ userId }));
    expect(await answer.json()).toMatchObject({ revo: { user: { userId } } });
  });
});

describe("an argument", () => {
  test("of fetch must be a URL or a Request", async () => {
    const error = new TypeError("fetch takes a URL or a Request");
    for (const input of [undefined, null, 5])
      await expect(createEmulator().fetch(wrong(input))).rejects.toThrow(error);
  });

  test.each<[address: unknown, issue: RegExp]>([
    [{ port: -1 }, /^port: /],
    [{ port: 65_536 }, /^port: /],
    [{ port: 1.5 }, /^port: /],
    [{ host: "" }, /^host: /],
    [{ host: null }, /^host: /],
    [null, /object/],
  ])("of listen is refused: %o", async (address, issue) => {
    await expect(createEmulator().listen(wrong(address))).rejects.toMatchObject({
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

  const launched = { tenantId: "acme", clientId: "reporter", userId: "ada" };
  const url = "/v1/auth/authorize";
  test.each<[name: string, call: (emulator: Emulator) => unknown]>([
    ["launch: null", ({ launch }) => launch(wrong(null))],
    ["launch: a number as user id", ({ launch }) => launch({ ...launched, userId: wrong(7) })],
    ["authorize: undefined", ({ launch }) => launch(launched).authorize(wrong(undefined))],
    ["login: undefined", ({ login }) => login(wrong(undefined))],
    ["login: a bad URL", ({ login }) => login({ url: "http://[", userId: "ada" })],
    ["login: no user id", ({ login }) => login(wrong({ url }))],
    ["login: a decision", ({ login }) => login(wrong({ url, userId: "ada", decision: "x" }))],
    ["testKey: null", ({ testKey }) => testKey(wrong(null))],
    ["clock.set: a bigint", ({ clock }) => clock.set(wrong(10n))],
    ["clock.set: null", ({ clock }) => clock.set(wrong(null))],
    ["clock.set: NaN", ({ clock }) => clock.set(Number.NaN)],
    ["clock.set: an instant beyond Date's range", ({ clock }) => clock.set(8.64e15 + 1)],
    ["clock.set: no time zone", ({ clock }) => clock.set("2026-01-01T00:00:00")],
    ["clock.freeze: month 13", ({ clock }) => clock.freeze("2026-13-01T00:00:00Z")],
    ["clock.advance: a string", ({ clock }) => clock.advance(wrong("1"))],
    ["reset: null", ({ reset }) => reset(wrong(null))],
  ])("of %s is refused and changes nothing", (_, call) => {
    const { emulator } = new LaunchedPlugin();
    const refused = expect.objectContaining({ name: "EmulatorError", code: "option_invalid" });
    expect(() => call(emulator)).toThrow(refused);
    expect(emulator.clock.now()).toBe(START);
    expect(emulator.customerLog.entries()).toEqual([]);
  });
});
