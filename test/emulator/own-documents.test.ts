// The option api: documents of a consumer are generated, and the same module is given to the client
// and the emulator.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as shipped from "../../generated/operations.js";
import { createEmulator, type EmulatorOptions, emulatorOptions } from "../../src/emulator/index.js";
import { connect, serviceAccount, servicePlugin } from "../../src/index.js";
import { type ValidationSchemas, validator } from "../../src/validate.js";
import { type CompiledSample, compiledSample, openapi } from "../generate/sample-documents.js";

const answer = (media: object, status = 200, type = "application/json") => ({
  responses: { [status]: { description: "Answer.", content: { [type]: media } } },
});
const text = { type: "string" };
const parameter = (name: string) => ({ name, in: "path", required: true, schema: text });
const Device = {
  type: "object",
  required: ["id", "title", "kind"],
  properties: { id: { type: "string", format: "uuid" }, title: text, kind: { enum: ["gate"] } },
  additionalProperties: false,
};
const list = { type: "array", items: { $ref: "#/components/schemas/Device" } };
const door = { id: "d-1", open: true };
const scoped = { security: [{ token: ["devices:execute"] }], parameters: [parameter("deviceId")] };
const started = { responses: { 202: { description: "Started." } } };
const named = { type: "object", properties: { deviceId: text } };
const body = { requestBody: { content: { "application/json": { schema: named } } } };
const form = {
  requestBody: { content: { "application/x-www-form-urlencoded": { schema: named } } },
};
const marked = (more: object) => ({
  parameters: [{ name: "ids", schema: { type: "array", items: text }, "x-device": true, ...more }],
  ...started,
});

/** The same operations under the base path of either variant. */
function document(base: string): object {
  const get = (path: string, operationId: string, operation: object) => ({
    [base + path]: { get: { operationId, ...operation } },
  });
  const example = answer({ examples: { one: { value: door } } });
  const start = { operationId: "start", parameters: [parameter("schedule-id")], ...started };
  const paths = {
    ...get("/devices", "listDevices", answer({ schema: list })),
    ...get("/devices/{deviceId}", "getDevice", { ...scoped, ...example }),
    ...get("/notes", "getNotes", answer({ schema: { "x-not-shown": [] } })),
    ...get("/status", "getStatus", { security: [], ...answer({ example: "up" }, 201) }),
    ...get("/export", "exportAll", answer({ example: "a;b" }, 200, "text/csv")),
    ...get("/settings", "getSettings", { "x-plugin-enabled": false, ...answer({}) }),
    [`${base}/restarts`]: { post: { operationId: "restart", ...body, ...started } },
    [`${base}/forms`]: { post: { operationId: "sendForm", ...form, ...started } },
    ...get("/of-header", "ofHeader", marked({ in: "header", name: "X-Target", schema: text })),
    ...get("/of-query", "ofQuery", marked({ in: "query", explode: false })),
    ...get("/of-path/{ids}", "ofPath", marked({ in: "path", required: true, style: "label" })),
    [`${base}/schedules/{schedule-id}/start`]: { post: start },
  };
  return openapi(paths, { schemas: { Device } });
}

// biome-ignore lint/suspicious/noExplicitAny: the module is generated while the test runs
let api: any;
let generatedSchemas: { schemas: ValidationSchemas };
let compiled: CompiledSample;
beforeAll(async () => {
  compiled = await compiledSample(document("/api/v1/{tenantId}"), document("/v1"));
  api = await compiled.load("operations");
  generatedSchemas = await compiled.load("schemas");
});
afterAll(() => compiled.remove());

const plugin = { tenantId: "acme", clientId: "reports" };
const account = { clientId: "worker", clientSecret: "not a real secret" };
const baseOf = (variant: "A" | "B") => (variant === "A" ? "/api/v1/acme" : "/v1");

function deployment(
  variant: "A" | "B",
  granted: { scopes?: string[]; devices?: string[] } = {},
  options: EmulatorOptions = {},
) {
  const { scopes = ["devices:read", "devices:execute"] } = granted;
  const seed = {
    plugins: [{ ...plugin, type: "service" as const, ...granted, scopes }],
    serviceAccounts: [{ ...account, tenantId: "acme", scopes }],
  };
  const baseUrl = "https://customer.example";
  const served = { publicUrl: baseUrl, variants: [variant], api, seed };
  const emulator = createEmulator({ ...served, ...options });
  const privateKey = emulator.testKey(plugin);
  const credentials = [servicePlugin({ clientId: "reports", privateKey }), serviceAccount(account)];
  const { fetch } = emulator;
  const validate = validator("strict", generatedSchemas);
  const settings = { baseUrl, tenantId: "acme", credentials, fetch, api, validate };
  // biome-ignore lint/suspicious/noExplicitAny: the type of the generated module is not known here
  const connected = connect(settings) as Promise<any>;
  const call = async (operationId: string, path: object = {}, body?: object) => {
    const outcome = await (await connected).call(operationId, { params: { path }, body });
    return { status: outcome.status, data: outcome.data, body: outcome.error?.body };
  };
  const get = async (path: string, init: RequestInit = {}) => {
    const { value } = await (await connected).auth.getAccessToken();
    const headers = { authorization: `Bearer ${value}`, ...init.headers };
    return emulator.fetch(baseOf(variant) + path, { ...init, headers });
  };
  return { emulator, call, get };
}

describe.each(["A", "B"] as const)("documents of a consumer, Variant %s", (variant) => {
  const device = { id: expect.any(String), title: "text", kind: "gate" };
  const parameters = variant === "A" ? { tenantId: "acme" } : {};

  test("operations answer schemas that strict validation accepts, examples, or what the document leaves", async () => {
    const { call, get } = deployment(variant);
    expect(await call("listDevices")).toMatchObject({ status: 200, data: [device] });
    expect(await call("getDevice", { deviceId: "d-1" })).toMatchObject({ data: door });
    expect(await call("start", { "schedule-id": "s" })).toMatchObject({ status: 202 });
    const notShown = { operationId: "getNotes", parameters };
    expect(await call("getNotes")).toMatchObject({ status: 200, data: notShown });
    const csv = await get("/export");
    expect([csv.headers.get("content-type"), await csv.text()]).toEqual(["text/csv", "a;b"]);
  });

  test("the device list answers the option devices if it is given", async () => {
    const door = { id: "7f6f2a1e-6c0f-4f2b-9d0b-0e3c4d1a2b3c", title: "Door", kind: "gate" };
    const listOf = async (devices: EmulatorOptions["devices"]) =>
      (await deployment(variant, {}, { devices }).get("/devices")).json();
    expect(await listOf({ acme: [door] })).toEqual([door]);
    expect(await listOf([])).toEqual([]);
    expect(await listOf(undefined)).toEqual([device]);
  });

  test("a token without the scope in `security` gets an empty 403", async () => {
    const { emulator, call } = deployment(variant, { scopes: ["devices:read"] });
    const refused = await call("getDevice", { deviceId: "d-1" });
    expect(refused).toMatchObject({ status: 403, body: undefined });
    const entry = { rule: "route.scope", expected: "devices:execute" };
    expect(emulator.customerLog.last()).toMatchObject(entry);
    expect((await call("listDevices")).status).toBe(200);
  });

  test("a route of the option routes replaces an operation, also the device list", async () => {
    const base = variant === "A" ? "/api/v1/{tenantId}" : "/v1";
    const route = { method: "GET", scope: "devices:read", respond: () => [] } as const;
    const routes = [
      { ...route, operationId: "own", path: `${base}/devices/{id}` },
      { ...route, operationId: "listDevices", path: `${base}/devices` },
    ];
    const { call } = deployment(variant, {}, { routes });
    expect((await call("getDevice", { deviceId: "d-1" })).data).toEqual([]);
    expect((await call("listDevices")).data).toEqual([]);
  });

  test("a call without a bearer, with another method or at an unknown path is refused", async () => {
    const { emulator } = deployment(variant);
    const base = baseOf(variant);
    expect((await emulator.fetch(`${base}/status`)).status).toBe(201);
    expect((await emulator.fetch(`${base}/notes`)).status).toBe(401);
    expect((await emulator.fetch(`${base}/notes`, { method: "PUT" })).status).toBe(405);
    expect((await emulator.fetch(`${base}/other`)).status).toBe(404);
    const { rule, expected, remedy } = emulator.customerLog.last() ?? {};
    expect(rule).toBe("path.known");
    expect(expected).toMatch(/^GET \/[^,]+(, [A-Z]+ \/[^,]+){4} and \d+ more$/);
    expect(remedy).toContain("`api`");
  });
});

describe("documents of a consumer in Variant A", () => {
  test("a parameter or a member of the body named deviceId must be in the plugin's device restriction", async () => {
    const { emulator, call } = deployment("A", { devices: ["d-1"] });
    expect((await call("getDevice", { deviceId: "d-1" })).status).toBe(200);
    expect((await call("restart", {}, { deviceId: "d-1" })).status).toBe(202);
    for (const refused of [
      await call("getDevice", { deviceId: "d-2" }),
      await call("restart", {}, { deviceId: "d-2" }),
    ]) {
      expect(refused).toMatchObject({ status: 403, body: undefined });
      expect(emulator.customerLog.last()?.rule).toBe("route.device");
    }
  });

  test.each<[name: string, send: (device: string) => [path: string, init?: RequestInit]]>([
    ["a header", (device) => ["/of-header", { headers: { "x-target": device } }]],
    ["a list in the query", (device) => [`/of-query?ids=d-1,${device}`]],
    ["a path in another style", (device) => [`/of-path/.d-1,${device}`]],
    [
      "a form",
      (deviceId) => ["/forms", { method: "POST", body: new URLSearchParams({ deviceId }) }],
    ],
  ])("a device in %s is read as the document writes it", async (_, send) => {
    const { emulator, get } = deployment("A", { devices: ["d-1"] });
    expect((await get(...send("d-1"))).status).toBe(202);
    expect((await get(...send("d-2"))).status).toBe(403);
    expect(emulator.customerLog.last()?.rule).toBe("route.device");
  });

  test("a route with `x-plugin-enabled: false` refuses plugin tokens", async () => {
    const { emulator, get } = deployment("A");
    expect((await get("/settings")).status).toBe(401);
    expect(emulator.customerLog.last()?.rule).toBe("route.opt-in");
  });
});

describe("the option api", () => {
  test("with the module of this package changes nothing", async () => {
    for (const variant of ["A", "B"] as const) {
      const { get } = deployment(variant, {}, { api: shipped });
      expect(await (await get("/devices")).json()).toEqual(emulatorOptions.devices.default);
      expect((await get("/notes")).status).toBe(404);
    }
  });

  const entry = { method: "GET", path: "/v1/things", success: [200], failure: [], anonymous: true };
  const ofB = (B: object, A: object = {}) =>
    createEmulator({ api: { operations: { A, B } } as never });
  test("is refused if it is not the generated module", () => {
    for (const [api, says] of [
      [null, "operations.ts"],
      [{ schemas: {} }, "api.operations"],
    ] as const) {
      const refused = { code: "option_invalid", message: expect.stringContaining(says) };
      const create = () => createEmulator({ api: api as never });
      expect(create).toThrow(expect.objectContaining(refused));
    }
  });

  const paths: [template: string, sent: string, parameters: object][] = [
    ["/v1/", "/v1/", {}],
    ["/v1/things/", "/v1/things/", {}],
    ["/v1/{id}.json", "/v1/a.b.json", { id: "a.b" }],
    ["/v1/{id}", "/v1/a.xml", { id: "a.xml" }],
    ["/v1/users('{id}')", "/v1/users('7')", { id: "7" }],
    ["/v1/{base}...{head}", "/v1/v1.0...v2.0", { base: "v1.0", head: "v2.0" }],
    ["/v1/{schedule-id}/a b", "/v1/x%2Fy/a%20b", { "schedule-id": "x/y" }],
    ["/", "/", {}],
    ["/v1/[x]/{a}", "/v1/[x]/%F0", { a: "%F0" }],
  ];
  test("serves paths with odd templates, each by the template that fits best", async () => {
    const served = paths.map(([path]) => [path, { ...entry, path }]);
    const { fetch, notServed } = ofB(Object.fromEntries(served));
    expect(notServed).toEqual([]);
    const sentTo = async (path: string) => (await fetch(`http://emulator.localhost${path}`)).json();
    for (const [operationId, sent, parameters] of paths)
      expect(await sentTo(sent)).toEqual({ operationId, parameters });
    for (const sent of ["/v1/things", "/v1/.json", "/v1/a...", "/v1/users('')"])
      expect(await sentTo(sent)).toMatchObject({ operationId: "/v1/{id}" });
  });

  test("leaves out what no request can reach, with the reason", async () => {
    const emulator = ofB({
      one: entry,
      two: { ...entry, path: "/v1/{id}/parts" },
      three: { ...entry, path: "/v1/{name}/parts" },
      adjacent: { ...entry, path: "/v1/{a}{b}" },
      fragment: { ...entry, path: "/v1/things#one" },
      query: { ...entry, path: "/v1/things?kind=one" },
      trace: { ...entry, method: "TRACE" },
    });
    const reasons = emulator.notServed.map(({ operationId, reason }) => [operationId, reason]);
    expect(Object.fromEntries(reasons)).toEqual({
      adjacent: "its path has two parameters without a character between them",
      fragment: "its path has a fragment, which no request carries",
      query: "its path has a query, which is not a part of a path",
      trace: "fetch does not send this method",
      three: "no request could tell it from two",
    });
    expect(createEmulator({ api: shipped }).notServed).toEqual([]);
    const both = ofB({ two: entry }, { one: entry });
    expect(both.notServed).toMatchObject([{ variant: "B", operationId: "two" }]);
  });

  test("answers HEAD and OPTIONS as documented, and HEAD like GET where only that is documented", async () => {
    const { fetch } = ofB({
      get: entry,
      head: { ...entry, method: "HEAD", success: [204] },
      options: { ...entry, method: "OPTIONS", success: [202] },
      other: { ...entry, path: "/v1/others" },
    });
    const ask = (method: string, path = "/v1/things") => fetch(path, { method });
    expect((await ask("HEAD")).status).toBe(204);
    expect((await ask("OPTIONS")).status).toBe(202);
    const head = await ask("HEAD", "/v1/others");
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect((await ask("OPTIONS", "/v1/others")).headers.get("allow")).toBe("GET, HEAD");
  });
});
