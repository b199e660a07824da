// Tests of API calls that the table of negative requests does not cover: the device list, declared
// routes, and paths that are not served.
import { describe, expect, onTestFinished, test } from "vitest";
import { type ApiRoute, createEmulator, type Devices } from "../../src/emulator/index.js";
import { LaunchedPlugin, PluginClient } from "./deployment.js";

test("a bearer of another tenant is recorded under the path's tenant, whose log does not show the client", async () => {
  const plugin = new PluginClient();
  const { customerLog, journal } = plugin.emulator;
  await plugin.call(await plugin.pluginToken(), "/api/v1/globex/devices");
  const entry = { tenantId: "globex", rule: "bearer.tenant" };
  expect(journal.last()).toMatchObject({ ...entry, clientId: "reporter" });
  expect(customerLog.last()).toMatchObject(entry);
  expect(customerLog.last()).not.toHaveProperty("clientId");
});

test("an X-Envelope with the name of a method of every object changes nothing", async () => {
  const plugin = new PluginClient();
  const headers = { "x-envelope": "toString" };
  const response = await plugin.call(await plugin.pluginToken(), undefined, { headers });
  expect(await response.json()).toHaveLength(3);
});

test("the option devices has one list for all tenants or one each, also for the route of one device", async () => {
  const acme = [{ id: "door", name: "Door", battery: { percent: 7 } }];
  const rows: [devices: Devices, body: object[]][] = [
    [acme, acme],
    [{ acme, umbrella: [] }, acme],
    [{ umbrella: acme }, []],
    [[], []],
  ];
  for (const [devices, body] of rows) {
    const plugin = new PluginClient({ devices });
    const token = await plugin.pluginToken();
    expect(await (await plugin.call(token)).json()).toEqual(body);
    const door = await plugin.call(token, "/api/v1/acme/devices/door");
    expect(door.status).toBe(body.length === 0 ? 404 : 200);
    if (door.ok) expect(await door.json()).toEqual(acme[0]);
  }
});

describe("a declared route", () => {
  const restart: ApiRoute = {
    operationId: "restartDevice",
    method: "POST",
    path: "/api/v1/{tenantId}/devices/{deviceId}/restart",
    scope: "devices:execute",
    deviceParameter: "deviceId",
  };

  function restarting(route: ApiRoute) {
    const registration = { scopes: ["devices:execute"], devices: ["device-1"] };
    const plugin = new PluginClient({ routes: [route] }, registration);
    const post = async (path: string) =>
      plugin.call(await plugin.pluginToken(), `/api/v1/acme${path}`, { method: "POST" });
    return { plugin, post };
  }

  test("requires its scope and device, and answers operationId and parameters", async () => {
    const { post } = restarting(restart);
    expect(await (await post("/devices/device-1/restart")).json()).toEqual({
      operationId: "restartDevice",
      parameters: { tenantId: "acme", deviceId: "device-1" },
    });
    expect((await post("/devices/device-2/restart")).status).toBe(403);
  });

  test("may name devices in the query, and each must be permitted", async () => {
    const path = "/api/v1/{tenantId}/restarts";
    const { post } = restarting({ ...restart, path, deviceParameter: "device" });
    expect((await post("/restarts?device=device-1")).status).toBe(200);
    expect((await post("/restarts?device=device-1&device=device-2")).status).toBe(403);
    expect((await post("/restarts")).status).toBe(200);
  });

  test("may name devices in a JSON body, which its own answer can still read over HTTP", async () => {
    const deviceParameter = { in: "body", name: "device" } as const;
    const respond: ApiRoute["respond"] = ({ request }) => request.json();
    const { plugin } = restarting({ ...restart, deviceParameter, respond });
    const { url, close } = await plugin.emulator.listen();
    onTestFinished(close);
    const headers = { authorization: `Bearer ${await plugin.pluginToken()}` };
    const send = (device: unknown) => {
      const init = { method: "POST", headers, body: JSON.stringify({ device, at: 7 }) };
      return fetch(`${url}/api/v1/acme/devices/any/restart`, init);
    };
    expect(await (await send("device-1")).json()).toEqual({ device: "device-1", at: 7 });
    const many = Array.from({ length: 5000 }, (_, index) => `device-${index}`);
    expect((await send(many)).status).toBe(403);
    expect(plugin.emulator.customerLog.last()?.actual.length).toBeLessThan(1000);
  });

  test("that takes plugin tokens without a scope is refused, and the error names it and says what to do", () => {
    const { scope: _, ...route } = restart;
    const issue =
      "routes.0.scope: restartDevice (POST /api/v1/{tenantId}/devices/{deviceId}/restart) takes " +
      "plugin tokens, so it needs a scope (section 5.6). " +
      'Add scope, for example "devices:read", or takesPluginTokens: false.';
    const refused = expect.objectContaining({ code: "option_invalid", issues: [issue] });
    const creating = (route: ApiRoute) => () => createEmulator({ routes: [route] });
    expect(creating(route)).toThrow(refused);
    expect(creating({ ...route, takesPluginTokens: false })).not.toThrow();
    expect(creating({ ...route, path: "/v1/restarts" })).not.toThrow();
  });

  const answers: [name: string, respond: ApiRoute["respond"], status: number, body: string][] = [
    ["a value as JSON", (call) => [call.tenantId, call.clientId], 200, '["acme","reporter"]'],
    ["undefined as 204", () => undefined, 204, ""],
    ["a Response", () => new Response("made", { status: 201 }), 201, "made"],
    ["what it read", ({ request }) => request.text(), 200, '"sent"'],
    ["the person's id", ({ userId }) => userId, 200, '"ada"'],
  ];
  test.each(answers)("answers %s", async (_, respond, status, body) => {
    const route = { operationId: "any", method: "POST", path: "/api/v1/{tenantId}/any" } as const;
    const plugin = new LaunchedPlugin({ routes: [{ ...route, scope: "devices:read", respond }] });
    const init = { method: "POST", body: "sent" };
    const response = await plugin.call(await plugin.launchedToken(), "/api/v1/acme/any", init);
    expect([response.status, await response.text()]).toEqual([status, body]);
  });

  test.each([
    { operationId: "getDevice", path: "/api/v1/{tenantId}/devices/{id}" },
    { operationId: "newest", path: "/api/v1/{tenantId}/devices/device-1" },
  ])("replaces or precedes an invented one at $path", async ({ operationId, path }) => {
    const route = { operationId, method: "GET", path, scope: "devices:read" } as const;
    const plugin = new PluginClient({ routes: [route] });
    const response = await plugin.call(await plugin.pluginToken(), "/api/v1/acme/devices/device-1");
    expect(await response.json()).toMatchObject({ operationId });
  });

  const header = { in: "header", name: "device" } as never;
  const wrong: [name: string, route: Partial<ApiRoute>, code: string][] = [
    ["a described route", { method: "GET", path: "/v1/devices" }, "route_conflict"],
    ["a token endpoint", { path: "/v1/auth/token" }, "route_conflict"],
    ["a login page", { path: "/v1/auth/consent" }, "route_conflict"],
    ["a described operationId", { operationId: "listDevices" }, "route_conflict"],
    ["the path of another one", { path: "/v1/earlier" }, "route_conflict"],
    ["a path outside both variants", { path: "/v2/devices" }, "option_invalid"],
    ["a path without {tenantId}", { path: "/api/v1/acme/x" }, "option_invalid"],
    ["a wildcard", { path: "/v1/*" }, "option_invalid"],
    ["devices in a header", { deviceParameter: header }, "option_invalid"],
    ["a scope in another form", { scope: "devices" }, "option_invalid"],
  ];
  test.each(wrong)("with %s is refused", (_, route, code) => {
    const refused = expect.objectContaining({ name: "EmulatorError", code });
    const earlier = { ...restart, operationId: "earlier", path: "/v1/earlier" };
    expect(() => createEmulator({ routes: [earlier, { ...restart, ...route }] })).toThrow(refused);
  });
});

describe("the served variants", () => {
  test.each([{ variants: ["A"] as const }, { variants: ["B"] as const }, { variants: [] }])(
    "$variants: every other path is answered 404 under every method",
    async ({ variants }) => {
      const { fetch } = createEmulator({ variants });
      const endpoints = { A: "/api/v1/acme/external-plugin/oauth/token", B: "/v1/auth/token" };
      const lists = { A: "/api/v1/acme/devices", B: "/v1/devices" };
      for (const variant of ["A", "B"] as const) {
        const isServed = (variants as readonly string[]).includes(variant);
        const statuses = [
          (await fetch(endpoints[variant])).status,
          (await fetch(lists[variant])).status,
          (await fetch(lists[variant], { method: "PUT" })).status,
        ];
        expect(statuses).toEqual(isServed ? [405, 401, 405] : [404, 404, 404]);
      }
    },
  );

  test("every other path is answered 404 in JSON", async () => {
    for (const path of ["/", "/v1/auth/token/", "/api/v1//devices", "/V1/devices", "/%"]) {
      const response = await createEmulator().fetch(path);
      expect([response.status, await response.json()]).toEqual([404, { error: "not_found" }]);
    }
  });
});
