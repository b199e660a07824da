// Declared routes, served variants, methods and paths.
import { describe, expect, test } from "vitest";
import type { ApiRoute, EmulatorOptions } from "../../src/emulator/index.js";
import { createEmulator, EmulatorError } from "../../src/emulator/index.js";
import { PluginClient } from "./plugin-client.js";

const restart: ApiRoute = {
  operationId: "restartDevice",
  method: "POST",
  path: "/api/v1/{tenantId}/devices/{deviceId}/restart",
  scope: "devices:execute",
  deviceParameter: "deviceId",
};

describe("a declared route", () => {
  test("is guarded by its scope and device parameter and answers operationId and parameters", async () => {
    const plugin = new PluginClient(
      { routes: [restart] },
      { scopes: ["devices:execute"], devices: ["device-1"] },
    );
    const token = await plugin.accessToken();
    const allowed = await plugin.call(token, "/api/v1/acme/devices/device-1/restart", { method: "POST" });
    expect(await allowed.json()).toEqual({
      operationId: "restartDevice",
      parameters: { tenantId: "acme", deviceId: "device-1" },
    });
    const refused = await plugin.call(token, "/api/v1/acme/devices/device-2/restart", { method: "POST" });
    expect(refused.status).toBe(403);
  });

  test("may name devices in the query, every one of which must be permitted", async () => {
    const route = { ...restart, path: "/api/v1/{tenantId}/restarts", deviceParameter: "device" };
    const plugin = new PluginClient(
      { routes: [route] },
      { scopes: ["devices:execute"], devices: ["device-1"] },
    );
    const token = await plugin.accessToken();
    const statusOf = async (query: string) =>
      (await plugin.call(token, `/api/v1/acme/restarts${query}`, { method: "POST" })).status;
    expect(await statusOf("?device=device-1")).toBe(200);
    expect(await statusOf("?device=device-1&device=device-2")).toBe(403);
    expect(await statusOf("")).toBe(200);
  });

  const answers: { name: string; respond: ApiRoute["respond"]; status: number; body: string }[] = [
    {
      name: "a JSON value",
      respond: ({ clientId }) => ({ clientId }),
      status: 200,
      body: '{"clientId":"reporter"}',
    },
    { name: "nothing, as 204", respond: () => undefined, status: 204, body: "" },
    { name: "a Response", respond: () => new Response("made", { status: 201 }), status: 201, body: "made" },
    { name: "the request's body", respond: ({ request }) => request.text(), status: 200, body: '"sent"' },
  ];
  test.each(answers)("may answer $name", async ({ respond, status, body }) => {
    const route: ApiRoute = { operationId: "any", method: "POST", path: "/api/v1/{tenantId}/any", respond };
    const plugin = new PluginClient({ routes: [route] });
    const response = await plugin.call(await plugin.accessToken(), "/api/v1/acme/any", {
      method: "POST",
      body: "sent",
    });
    expect(response.status).toBe(status);
    expect(await response.text()).toBe(body);
  });

  test("takes the place of an invented one", async () => {
    const route: ApiRoute = {
      operationId: "getDevice",
      method: "GET",
      path: "/api/v1/{tenantId}/devices/{id}",
    };
    const plugin = new PluginClient({ routes: [route] }, { scopes: [] });
    const response = await plugin.call(await plugin.accessToken(), "/api/v1/acme/devices/device-1");
    expect(await response.json()).toMatchObject({ operationId: "getDevice" });
  });

  test("with a literal segment goes before one with a parameter, whatever the order of declaration", async () => {
    const route: ApiRoute = {
      operationId: "newest",
      method: "GET",
      path: "/api/v1/{tenantId}/devices/newest",
    };
    const plugin = new PluginClient({ routes: [route] });
    const response = await plugin.call(await plugin.accessToken(), "/api/v1/acme/devices/newest");
    expect(await response.json()).toMatchObject({ operationId: "newest" });
  });

  const wrong: { name: string; routes: ApiRoute[]; code: string }[] = [
    {
      name: "the path of a described route",
      routes: [{ ...restart, method: "GET", path: "/v1/devices" }],
      code: "route_conflict",
    },
    {
      name: "the path of a token endpoint",
      routes: [{ ...restart, path: "/v1/auth/token" }],
      code: "route_conflict",
    },
    {
      name: "the path of a login page",
      routes: [{ ...restart, path: "/v1/auth/consent" }],
      code: "route_conflict",
    },
    {
      name: "a described operationId",
      routes: [{ ...restart, operationId: "listDevices" }],
      code: "route_conflict",
    },
    {
      name: "one method and path twice",
      routes: [restart, { ...restart, operationId: "again" }],
      code: "route_conflict",
    },
    {
      name: "a path outside both variants",
      routes: [{ ...restart, path: "/v2/devices" }],
      code: "option_invalid",
    },
    {
      name: "a path without its tenant",
      routes: [{ ...restart, path: "/api/v1/acme/x" }],
      code: "option_invalid",
    },
    { name: "a path with a wildcard", routes: [{ ...restart, path: "/v1/*" }], code: "option_invalid" },
    { name: "a scope of no known form", routes: [{ ...restart, scope: "devices" }], code: "option_invalid" },
  ];
  test.each(wrong)("is refused for $name", ({ routes, code }) => {
    expect(() => createEmulator({ routes })).toThrow(
      expect.objectContaining({ name: "EmulatorError", code }),
    );
  });
});

describe("the served variants", () => {
  const probes = {
    A: ["POST /api/v1/acme/external-plugin/oauth/token", "GET /api/v1/acme/devices"],
    B: ["POST /v1/auth/token", "GET /v1/devices"],
  };
  const rows: { name: string; variants: ("A" | "B")[] }[] = [
    { name: "A only", variants: ["A"] },
    { name: "B only", variants: ["B"] },
    { name: "both", variants: ["A", "B"] },
    { name: "neither", variants: [] },
  ];
  test.each(rows)("$name: what is not served is 404 under every method", async ({ variants }) => {
    const emulator = createEmulator({ variants });
    for (const variant of ["A", "B"] as const) {
      for (const [method, path = ""] of probes[variant].map((probe) => probe.split(" "))) {
        const isServed = variants.includes(variant);
        expect((await emulator.fetch(path, { method: method ?? "" })).status === 404).toBe(!isServed);
        expect((await emulator.fetch(path, { method: "PUT" })).status).toBe(isServed ? 405 : 404);
      }
    }
  });

  const unserved = [
    "/",
    "/v1",
    "/v1/auth/token/",
    "/v1/auth/other",
    "/api/v1/acme",
    "/api/v1//devices",
    "/v1/devices/",
    "/V1/devices",
    "/%",
    "/api/v1/acme/devices/device-1/none",
  ];
  test.each(unserved)("%s is answered 404 in JSON", async (path) => {
    const response = await createEmulator().fetch(path);
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({ error: "not_found" });
  });

  test("HEAD is GET without a body, OPTIONS is 405 with Allow", async () => {
    const plugin = new PluginClient();
    const head = await plugin.call(await plugin.accessToken(), undefined, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    const options = await plugin.emulator.fetch("/api/v1/acme/devices", { method: "OPTIONS" });
    expect([options.status, options.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });
});

test("a public URL with a path serves every route under that path and demands it in aud", async () => {
  const plugin = new PluginClient({ publicUrl: "https://gateway.example/site/" });
  expect(plugin.emulator.publicUrl).toBe("https://gateway.example/site");
  const token = await plugin.accessToken();
  expect((await plugin.call(token, "https://gateway.example/site/api/v1/acme/devices")).status).toBe(200);
  expect((await plugin.call(token, "/api/v1/acme/devices")).status).toBe(404);
});

describe("an option that is not valid is refused", () => {
  const rows: { name: string; options: object; issue: RegExp }[] = [
    { name: "an unknown variant", options: { variants: ["C"] }, issue: /^variants\.0/ },
    { name: "a misspelt option", options: { variant: "A" }, issue: /variant/ },
    { name: "an invalid public URL", options: { publicUrl: "acme" }, issue: /^publicUrl/ },
    {
      name: "a public URL with credentials",
      options: { publicUrl: "https://u:hunter2@h.example" },
      issue: /^publicUrl/,
    },
    {
      name: "a public URL with a query",
      options: { publicUrl: "https://h.example/?a" },
      issue: /^publicUrl/,
    },
    {
      name: "a limit of no request",
      options: { rateLimit: { requests: 0, windowSeconds: 1 } },
      issue: /^rateLimit/,
    },
    { name: "a negative delay", options: { narrowingDelayMs: -1 }, issue: /^narrowingDelayMs/ },
    {
      name: "a token that never lives",
      options: { tokenLifetimeSeconds: 0 },
      issue: /^tokenLifetimeSeconds/,
    },
    { name: "a code that never lives", options: { codeLifetimeSeconds: 0 }, issue: /^codeLifetimeSeconds/ },
    {
      name: "a refresh token that never lives",
      options: { refreshTokens: { idleSeconds: 0 } },
      issue: /^refreshTokens\.idleSeconds/,
    },
    { name: "a refresh path with a query", options: { refreshPath: "/v1/r?x" }, issue: /^refreshPath/ },
    {
      name: "a refresh path that is a URL",
      options: { refreshPath: "https://h.example/r" },
      issue: /^refreshPath/,
    },
    { name: "a refresh path among the pages", options: { refreshPath: "/host/acme" }, issue: /^refreshPath/ },
    {
      name: "the login page as refresh path",
      options: { refreshPath: "/v1/auth/login" },
      issue: /^refreshPath/,
    },
    { name: "an unknown launch state", options: { launchState: "none" }, issue: /^launchState/ },
    { name: "a clock that is not a function", options: { now: 1 }, issue: /^now/ },
  ];
  test.each(rows)("$name", ({ options, issue }) => {
    const error = (() => {
      try {
        return createEmulator(options as EmulatorOptions);
      } catch (thrown) {
        return thrown;
      }
    })();
    if (!(error instanceof EmulatorError)) throw new Error("accepted");
    expect(error.code).toBe("option_invalid");
    expect(error.issues).toEqual([expect.stringMatching(issue)]);
    expect(error.message).not.toContain("hunter2");
  });
});
