// Tests of API calls that the table of negative requests does not cover: the device list, declared
// routes, and paths that are not served.
import { describe, expect, onTestFinished, test } from "vitest";
import { type ApiRoute, createEmulator, type Devices } from "../../src/emulator/index.js";
import {
  accessTokenIn,
  LaunchedPlugin,
  PluginClient,
  requestAccountToken,
} from "./plugin-client.js";

const DEVICE_2 = "/api/v1/acme/devices/device-2";

test("a bearer of another tenant is recorded under the path's tenant, whose log does not show the client", async () => {
  const plugin = new PluginClient();
  const { customerLog, journal } = plugin.emulator;
  await plugin.call(await plugin.accessToken(), "/api/v1/globex/devices");
  expect(journal.last()).toMatchObject({
    tenantId: "globex",
    clientId: "reporter",
    rule: "bearer.tenant",
  });
  expect(customerLog.last()).toMatchObject({ tenantId: "globex", rule: "bearer.tenant" });
  expect(customerLog.last()).not.toHaveProperty("clientId");
});

test("an X-Envelope with the name of a method of every object changes nothing", async () => {
  const plugin = new PluginClient();
  const headers = { "x-envelope": "toString" };
  const response = await plugin.call(await plugin.accessToken(), undefined, { headers });
  expect(await response.json()).toHaveLength(3);
});

describe("the option devices", () => {
  const acme = [{ id: "door", name: "Door", battery: { percent: 7 } }];
  const rows: [name: string, devices: Devices, body: unknown][] = [
    ["one list for every tenant", acme, acme],
    ["a list for the tenant", { acme, umbrella: [] }, acme],
    ["no list for the tenant", { umbrella: acme }, []],
    ["an empty list", [], []],
  ];
  test.each(rows)("serves %s in both variants", async (_, devices, body) => {
    const plugin = new PluginClient({ devices });
    const account = { clientId: "account", clientSecret: "a secret", tenantId: "acme" };
    plugin.emulator.registerServiceAccount(account);
    expect(await (await plugin.call(await plugin.accessToken())).json()).toEqual(body);
    const token = await accessTokenIn(requestAccountToken(plugin.emulator, account));
    expect(await (await plugin.call(token, "/v1/devices")).json()).toEqual(body);
  });

  test("also decides what the invented route for one device answers", async () => {
    const plugin = new PluginClient({ devices: acme });
    const token = await plugin.accessToken();
    expect(await (await plugin.call(token, "/api/v1/acme/devices/door")).json()).toEqual(acme[0]);
    expect((await plugin.call(token, DEVICE_2)).status).toBe(404);
  });
});

describe("a declared route", () => {
  const restart: ApiRoute = {
    operationId: "restartDevice",
    method: "POST",
    path: "/api/v1/{tenantId}/devices/{deviceId}/restart",
    scope: "devices:execute",
    deviceParameter: "deviceId",
  };
  const registration = { scopes: ["devices:execute"], devices: ["device-1"] };

  test("requires its scope and device, and answers operationId and parameters", async () => {
    const plugin = new PluginClient({ routes: [restart] }, registration);
    const token = await plugin.accessToken();
    const allowed = await plugin.call(token, "/api/v1/acme/devices/device-1/restart", {
      method: "POST",
    });
    expect(await allowed.json()).toEqual({
      operationId: "restartDevice",
      parameters: { tenantId: "acme", deviceId: "device-1" },
    });
    expect((await plugin.call(token, `${DEVICE_2}/restart`, { method: "POST" })).status).toBe(403);
  });

  test("may name devices in the query, and each must be permitted", async () => {
    const route = { ...restart, path: "/api/v1/{tenantId}/restarts", deviceParameter: "device" };
    const plugin = new PluginClient({ routes: [route] }, registration);
    const token = await plugin.accessToken();
    const statusOf = async (query: string) =>
      (await plugin.call(token, `/api/v1/acme/restarts${query}`, { method: "POST" })).status;
    expect(await statusOf("?device=device-1")).toBe(200);
    expect(await statusOf("?device=device-1&device=device-2")).toBe(403);
    expect(await statusOf("")).toBe(200);
  });

  test("may name devices in a JSON body, which its own answer can still read", async () => {
    const deviceParameter = { in: "body", name: "device" } as const;
    const respond: ApiRoute["respond"] = ({ request }) => request.json();
    const plugin = new PluginClient(
      { routes: [{ ...restart, deviceParameter, respond }] },
      registration,
    );
    const { url, close } = await plugin.emulator.listen();
    onTestFinished(close);
    const headers = { authorization: `Bearer ${await plugin.accessToken()}` };
    const send = (body: string) =>
      fetch(`${url}/api/v1/acme/devices/any/restart`, { method: "POST", headers, body });
    expect(await (await send('{"device":"device-1","at":7}')).json()).toEqual({
      device: "device-1",
      at: 7,
    });
    const refused = await send('{"device":"device-2"}');
    expect([refused.status, await refused.text()]).toEqual([403, ""]);
    await send(
      JSON.stringify({ device: Array.from({ length: 5000 }, (_, index) => `device-${index}`) }),
    );
    expect(plugin.emulator.customerLog.last()?.actual.length).toBeLessThan(1000);
  });

  test("that takes plugin tokens without a scope is refused, and the error names it and says what to do", () => {
    const { scope: _, ...route } = restart;
    const issue =
      "routes.0.scope: restartDevice (POST /api/v1/{tenantId}/devices/{deviceId}/restart) takes " +
      "plugin tokens, so it needs a scope (section 5.6). " +
      'Add scope, for example "devices:read", or takesPluginTokens: false.';
    expect(() => createEmulator({ routes: [route] })).toThrow(
      expect.objectContaining({ code: "option_invalid", issues: [issue] }),
    );
    expect(() =>
      createEmulator({ routes: [{ ...route, takesPluginTokens: false }] }),
    ).not.toThrow();
    expect(() => createEmulator({ routes: [{ ...route, path: "/v1/restarts" }] })).not.toThrow();
  });

  const answers: [name: string, respond: ApiRoute["respond"], status: number, body: string][] = [
    ["a value as JSON", ({ clientId }) => [clientId], 200, '["reporter"]'],
    ["undefined as 204", () => undefined, 204, ""],
    ["a Response", () => new Response("made", { status: 201 }), 201, "made"],
    ["what it read", ({ request }) => request.text(), 200, '"sent"'],
    ["the person's id", ({ userId }) => userId, 200, '"ada"'],
  ];
  test.each(answers)("answers %s", async (_, respond, status, body) => {
    const path = "/api/v1/{tenantId}/any";
    const plugin = new LaunchedPlugin({
      routes: [{ operationId: "any", method: "POST", path, scope: "devices:read", respond }],
    });
    const init = { method: "POST", body: "sent" };
    const response = await plugin.call(await plugin.launchedToken(), "/api/v1/acme/any", init);
    expect([response.status, await response.text()]).toEqual([status, body]);
  });

  const places = [
    {
      name: "replaces an invented one",
      operationId: "getDevice",
      path: "/api/v1/{tenantId}/devices/{id}",
    },
    { name: "with a literal precedes a parameter", path: "/api/v1/{tenantId}/devices/device-1" },
  ];
  test.each(places)("$name", async ({ operationId = "newest", path }) => {
    const plugin = new PluginClient({
      routes: [{ operationId, method: "GET", path, scope: "devices:read" }],
    });
    const response = await plugin.call(await plugin.accessToken(), "/api/v1/acme/devices/device-1");
    expect(await response.json()).toMatchObject({ operationId });
  });

  const header = { in: "header", name: "device" } as unknown as NonNullable<
    ApiRoute["deviceParameter"]
  >;
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
  const probes = {
    A: ["POST /api/v1/acme/external-plugin/oauth/token", "GET /api/v1/acme/devices"],
    B: ["POST /v1/auth/token", "GET /v1/devices"],
  };
  const rows: { variants: ("A" | "B")[] }[] = [
    { variants: ["A"] },
    { variants: ["B"] },
    { variants: [] },
  ];
  test.each(rows)(
    "$variants: every other path is answered 404 under every method",
    async ({ variants }) => {
      const emulator = createEmulator({ variants });
      const served: readonly string[] = variants;
      for (const variant of ["A", "B"] as const)
        for (const [method = "", path = ""] of probes[variant].map((probe) => probe.split(" "))) {
          const isServed = served.includes(variant);
          expect((await emulator.fetch(path, { method })).status === 404).toBe(!isServed);
          expect((await emulator.fetch(path, { method: "PUT" })).status).toBe(isServed ? 405 : 404);
        }
    },
  );

  test.each(["/", "/v1/auth/token/", "/v1/auth/other", "/api/v1//devices", "/V1/devices", "/%"])(
    "%s is answered 404 in JSON",
    async (path) => {
      const response = await createEmulator().fetch(path);
      expect([response.status, await response.json()]).toEqual([404, { error: "not_found" }]);
    },
  );

  test("HEAD is answered as GET without a body, OPTIONS with 405 and Allow", async () => {
    const plugin = new PluginClient();
    const head = await plugin.call(await plugin.accessToken(), undefined, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    const answer = await plugin.emulator.fetch("/api/v1/acme/devices", { method: "OPTIONS" });
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });
});
