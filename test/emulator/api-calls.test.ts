// Calls of API routes: bearer, scopes, operators, devices.
import { describe, expect, test } from "vitest";
import { createEmulator, type Devices } from "../../src/emulator/index.js";
import { ada, LaunchedPlugin } from "./launched-plugin.js";
import { PluginClient, pluginKey } from "./plugin-client.js";

describe("rules of a call", () => {
  const identity = { clientId: "reporter", tenantId: "acme" };

  test("the device list is a raw JSON array of three devices for any X-Envelope", async () => {
    const plugin = new PluginClient({}, { devices: ["device-1"] });
    const token = await plugin.accessToken();
    const headers: HeadersInit[] = [{}, { "x-envelope": "true" }, { "x-envelope": "\u00ff odd" }];
    for (const header of headers) {
      const response = await plugin.call(token, "/api/v1/acme/devices", { headers: header });
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual([
        { id: "device-1", name: "North gate" },
        { id: "device-2", name: "South gate" },
        { id: "device-3", name: "Loading bay" },
      ]);
    }
  });

  describe("a bearer that is not valid here is answered 401", () => {
    const rows: { name: string; header?: (token: string) => string; rule: string; challenge?: string }[] = [
      { name: "no Authorization header", rule: "bearer.present", challenge: "Bearer" },
      {
        name: "another scheme",
        header: (token) => `Basic ${token}`,
        rule: "bearer.present",
        challenge: "Bearer",
      },
      { name: "the bare token", header: (token) => token, rule: "bearer.present", challenge: "Bearer" },
      {
        name: "two tokens",
        header: (token) => `Bearer ${token}, Bearer ${token}`,
        rule: "bearer.present",
        challenge: "Bearer",
      },
      { name: "garbage", header: () => "Bearer garbage", rule: "bearer.known" },
      { name: "a token with a character more", header: (token) => `Bearer ${token}x`, rule: "bearer.known" },
      { name: "the client_id", header: () => "Bearer reporter", rule: "bearer.known" },
    ];
    test.each(rows)("$name", async ({ header, rule, challenge }) => {
      const plugin = new PluginClient();
      const token = await plugin.accessToken();
      const headers: HeadersInit = header === undefined ? {} : { authorization: header(token) };
      const response = await plugin.call(undefined, undefined, { headers });
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).toBe(challenge ?? 'Bearer error="invalid_token"');
      expect(await response.text()).toBe("");
      expect(plugin.lastRule()).toBe(rule);
    });

    test("the scheme's name is case-insensitive", async () => {
      const plugin = new PluginClient();
      const headers = { authorization: `bearer ${await plugin.accessToken()}` };
      expect((await plugin.call(undefined, undefined, { headers })).status).toBe(200);
    });

    test("a token in the query", async () => {
      const plugin = new PluginClient();
      const path = `/api/v1/acme/devices?access_token=${await plugin.accessToken()}`;
      expect((await plugin.call(undefined, path)).status).toBe(401);
    });

    test("a token of another tenant, both ways", async () => {
      const plugin = new PluginClient();
      const jwks = { keys: [pluginKey.publicJwk] };
      const scopes = ["devices:read"];
      plugin.emulator.registerPlugin({
        clientId: "reporter",
        tenantId: "globex",
        type: "service",
        jwks,
        scopes,
      });
      const acme = await plugin.accessToken();
      const globex = await plugin.accessToken({ tenantId: "globex" });
      expect((await plugin.call(globex, "/api/v1/globex/devices")).status).toBe(200);
      expect((await plugin.call(acme, "/api/v1/globex/devices")).status).toBe(401);
      expect((await plugin.call(globex, "/api/v1/acme/devices")).status).toBe(401);
      expect(plugin.lastRule()).toBe("bearer.tenant");
    });

    const lifetimes = [
      {
        name: "a token one millisecond before expires_in has passed is accepted",
        afterMs: 3_599_999,
        status: 200,
      },
      { name: "a token when expires_in has passed is refused", afterMs: 3_600_000, status: 401 },
    ];
    test.each(lifetimes)("$name", async ({ afterMs, status }) => {
      const plugin = new PluginClient();
      const token = await plugin.accessToken();
      plugin.now += afterMs;
      expect((await plugin.call(token)).status).toBe(status);
      expect(plugin.lastRule()).toBe(status === 401 ? "bearer.lifetime" : undefined);
    });

    test("a token of a disabled plugin, until it is enabled again", async () => {
      const plugin = new PluginClient();
      const token = await plugin.accessToken();
      plugin.emulator.updatePlugin({ ...identity, enabled: false });
      expect((await plugin.call(token)).status).toBe(401);
      expect(plugin.lastRule()).toBe("bearer.plugin-enabled");
      plugin.emulator.updatePlugin({ ...identity, enabled: true });
      expect((await plugin.call(token)).status).toBe(200);
    });

    test("a valid token on a route that takes no plugin tokens", async () => {
      const plugin = new PluginClient();
      expect((await plugin.call(await plugin.accessToken(), "/api/v1/acme/tenant-settings")).status).toBe(
        401,
      );
      expect(plugin.lastRule()).toBe("route.opt-in");
    });
  });

  describe("the three causes of 403, each with an empty body", () => {
    const execute = "/api/v1/acme/schedules/nightly/executions";
    const rows: {
      name: string;
      path?: string;
      method?: string;
      devices?: string[];
      narrow?: object;
      rule?: string;
    }[] = [
      { name: "the token lacks the scope of the route", path: execute, method: "POST", rule: "route.scope" },
      { name: "the scope was taken from the registration", narrow: { scopes: [] }, rule: "route.narrowed" },
      {
        name: "the device is outside the restriction",
        path: "/api/v1/acme/devices/device-2",
        devices: ["device-1"],
        rule: "route.device",
      },
      {
        name: "the device is outside, percent-encoded",
        path: "/api/v1/acme/devices/device%2D2",
        devices: ["device-1"],
        rule: "route.device",
      },
      {
        name: "no device is permitted at all",
        path: "/api/v1/acme/devices/device-2",
        devices: [],
        rule: "route.device",
      },
      {
        name: "the restriction came after the token",
        path: "/api/v1/acme/devices/device-2",
        narrow: { devices: ["device-1"] },
        rule: "route.device",
      },
      {
        name: "not so: the device is inside the restriction",
        path: "/api/v1/acme/devices/device-1",
        devices: ["device-1"],
      },
      {
        name: "not so: the restriction was lifted",
        path: "/api/v1/acme/devices/device-2",
        devices: ["device-1"],
        narrow: { devices: null },
      },
      { name: "not so: there is no restriction", path: "/api/v1/acme/devices/device-2" },
      { name: "not so: the device list names no device", devices: ["device-1"] },
    ];
    test.each(rows)("$name", async ({ path, method = "GET", devices, narrow, rule }) => {
      const plugin = new PluginClient({}, { devices });
      const token = await plugin.accessToken();
      if (narrow !== undefined) plugin.emulator.updatePlugin({ ...identity, ...narrow });
      const response = await plugin.call(token, path, { method });
      expect(response.status).toBe(rule === undefined ? 200 : 403);
      expect(plugin.lastRule()).toBe(rule);
      if (rule === undefined) return;
      expect(await response.text()).toBe("");
      expect(response.headers.get("content-type")).toBeNull();
      expect(response.headers.get("content-length")).toBe("0");
      expect(plugin.emulator.customerLog.entries(identity)).toHaveLength(1);
    });

    test("a device that does not exist but is permitted is answered 404", async () => {
      const plugin = new PluginClient();
      expect((await plugin.call(await plugin.accessToken(), "/api/v1/acme/devices/none")).status).toBe(404);
    });
  });

  describe("a change of the grant", () => {
    test("a scope granted after minting reaches only the next token", async () => {
      const plugin = new PluginClient({}, { scopes: [] });
      const old = await plugin.accessToken();
      plugin.emulator.updatePlugin({ ...identity, scopes: ["devices:read"] });
      expect((await plugin.call(old)).status).toBe(403);
      expect(plugin.lastRule()).toBe("route.scope");
      expect((await plugin.call(await plugin.accessToken())).status).toBe(200);
    });

    test("a scope taken and given back serves the old token again", async () => {
      const plugin = new PluginClient();
      const token = await plugin.accessToken();
      plugin.emulator.updatePlugin({ ...identity, scopes: [] });
      expect((await plugin.call(token)).status).toBe(403);
      plugin.emulator.updatePlugin({ ...identity, scopes: ["devices:read"] });
      expect((await plugin.call(token)).status).toBe(200);
    });

    const device2 = "/api/v1/acme/devices/device-2";
    const delayed: { name: string; change: object; path?: string; rule: string }[] = [
      { name: "a narrowing of scopes", change: { scopes: [] }, rule: "route.narrowed" },
      {
        name: "a restriction to devices",
        change: { devices: ["device-1"] },
        path: device2,
        rule: "route.device",
      },
    ];
    test.each(delayed)(
      "$name takes effect exactly narrowingDelayMs later",
      async ({ change, path, rule }) => {
        const plugin = new PluginClient({ narrowingDelayMs: 120_000 });
        const token = await plugin.accessToken();
        plugin.emulator.updatePlugin({ ...identity, ...change });
        plugin.now += 119_999;
        expect((await plugin.call(token, path)).status).toBe(200);
        plugin.now += 1;
        expect((await plugin.call(token, path)).status).toBe(403);
        expect(plugin.lastRule()).toBe(rule);
      },
    );

    test("a token minted during the delay carries the narrowed scopes already", async () => {
      const plugin = new PluginClient({ narrowingDelayMs: 120_000 });
      plugin.emulator.updatePlugin({ ...identity, scopes: [] });
      expect((await plugin.call(await plugin.accessToken())).status).toBe(403);
      expect(plugin.lastRule()).toBe("route.scope");
    });

    test("a disabling is not delayed", async () => {
      const plugin = new PluginClient({ narrowingDelayMs: 120_000 });
      const token = await plugin.accessToken();
      plugin.emulator.updatePlugin({ ...identity, enabled: false });
      expect((await plugin.call(token)).status).toBe(401);
    });
  });
});

describe("capabilities of the operator", () => {
  const EXECUTE = "/api/v1/acme/schedules/nightly/executions";

  describe("a route that needs schedules:execute", () => {
    const both = ["devices:read", "schedules:execute"];
    const rows = [
      {
        name: "takes who was granted it for an operator who can",
        scopes: both,
        capabilities: both,
        rule: undefined,
      },
      {
        name: "refuses an operator who cannot",
        scopes: both,
        capabilities: ["devices:read"],
        rule: "route.operator",
      },
      { name: "refuses an operator who can nothing", scopes: both, capabilities: [], rule: "route.operator" },
      {
        name: "refuses a plugin that was not granted it",
        scopes: ["devices:read"],
        capabilities: both,
        rule: "route.scope",
      },
    ];
    test.each(rows)("$name", async ({ scopes, capabilities, rule }) => {
      const plugin = new LaunchedPlugin({}, { scopes });
      plugin.emulator.updateOperator({ ...ada, capabilities });
      const response = await plugin.call(await plugin.launchedToken(), EXECUTE, { method: "POST" });
      expect(response.status).toBe(rule === undefined ? 200 : 403);
      if (rule !== undefined) expect(await response.text()).toBe("");
      expect(plugin.lastRule()).toBe(rule);
    });

    test("follows the operator's capabilities as they are at each call, and the plugin's grant", async () => {
      const plugin = new LaunchedPlugin({}, { scopes: both });
      const token = await plugin.launchedToken();
      const call = async () => (await plugin.call(token, EXECUTE, { method: "POST" })).status;
      expect(await call()).toBe(403);
      plugin.emulator.updateOperator({ ...ada, capabilities: both });
      expect(await call()).toBe(200);
      plugin.emulator.updatePlugin({ clientId: "reporter", tenantId: "acme", scopes: ["devices:read"] });
      expect(await call()).toBe(403);
      expect(plugin.lastRule()).toBe("route.narrowed");
    });
  });

  test("two operators of one plugin have each their own reach and their own revo.user", async () => {
    const plugin = new LaunchedPlugin();
    plugin.emulator.registerOperator({ tenantId: "acme", userId: "eve", capabilities: [] });
    const [hers, eves] = [await plugin.launchedToken(), await plugin.launchedToken({ userId: "eve" })];
    expect((await plugin.call(hers)).status).toBe(200);
    expect((await plugin.call(eves)).status).toBe(403);
    const response = await plugin.exchange(plugin.launchedCode({ userId: "eve" }));
    expect(((await response.json()) as { revo: object }).revo).toEqual({
      tenant: "acme",
      user: { userId: "eve" },
      roles: [{ name: "operator", group: "people" }],
    });
  });

  test("a route's own answer is told the person", async () => {
    const respond = ({ userId }: { userId?: string | undefined }) => ({ userId });
    const path = "/api/v1/{tenantId}/whoami";
    const plugin = new LaunchedPlugin({ routes: [{ operationId: "whoAmI", method: "GET", path, respond }] });
    const response = await plugin.call(await plugin.launchedToken(), "/api/v1/acme/whoami");
    expect(await response.json()).toEqual({ userId: "ada" });
  });
});

describe("the device list", () => {
  const acme = [{ id: "door", name: "Door", battery: { percent: 7 } }];

  const listed = async (devices: Devices | undefined, path = "/api/v1/acme/devices") => {
    const plugin = new PluginClient({ devices }, { scopes: ["devices:read"] });
    const response = await plugin.call(await plugin.accessToken(), path);
    return { status: response.status, body: await response.json() };
  };

  describe("the device list", () => {
    test("is three invented devices by default", async () => {
      expect((await listed(undefined)).body).toHaveLength(3);
    });

    test.each([
      { name: "one list for every tenant", devices: acme, body: acme },
      { name: "the tenant's own list", devices: { acme, umbrella: [] }, body: acme },
      { name: "empty for a tenant that is not named", devices: { umbrella: acme }, body: [] },
      { name: "empty where the list is", devices: [], body: [] },
    ])("is $name, as it is given", async ({ devices, body }) => {
      expect(await listed(devices)).toEqual({ status: 200, body });
    });

    test("of Variant B is that of the token's tenant", async () => {
      const emulator = createEmulator({ devices: { acme, umbrella: [] } });
      emulator.registerServiceAccount({ clientId: "account", clientSecret: "a secret", tenantId: "acme" });
      const fields = { grant_type: "client_credentials", client_id: "account", client_secret: "a secret" };
      const headers = { "content-type": "application/json" };
      const init = { method: "POST", headers, body: JSON.stringify(fields) };
      const { access_token } = await (await emulator.fetch("/v1/auth/token", init)).json();
      const authorization = `Bearer ${access_token}`;
      const response = await emulator.fetch("/v1/devices", { headers: { authorization } });
      expect(await response.json()).toEqual(acme);
    });

    test("is what the invented route for one device looks in, too", async () => {
      expect(await listed(acme, "/api/v1/acme/devices/door")).toEqual({ status: 200, body: acme[0] });
      expect((await listed(acme, "/api/v1/acme/devices/device-1")).status).toBe(404);
    });

    test.each([
      { name: "a device without an id", devices: [{ name: "Door" }] },
      { name: "a device that is not an object", devices: ["door"] },
      { name: "a tenant that could not be", devices: { "../x": [] } },
      { name: "a device that no JSON can hold", devices: [{ id: "door", seen: () => 0 }] },
      { name: "a number", devices: 3 },
    ])("is refused for $name", ({ devices }) => {
      expect(() => createEmulator({ devices: devices as unknown as Devices })).toThrow(
        expect.objectContaining({ code: "option_invalid", message: expect.stringContaining("devices") }),
      );
    });
  });
});
