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
const parameter = (name: string) => ({
  name,
  in: "path",
  required: true,
  schema: { type: "string" },
});
const Device = {
  type: "object",
  required: ["id", "title", "kind"],
  properties: {
    id: { type: "string", format: "uuid" },
    title: { type: "string" },
    kind: { enum: ["gate"] },
  },
  additionalProperties: false,
};
const list = { type: "array", items: { $ref: "#/components/schemas/Device" } };
const door = { id: "d-1", open: true };
const scoped = { security: [{ token: ["devices:execute"] }], parameters: [parameter("deviceId")] };
const starting = {
  parameters: [parameter("schedule-id")],
  responses: { 202: { description: "Started." } },
};

const named = { type: "object", properties: { deviceId: { type: "string" } } };
const restarting = {
  requestBody: { content: { "application/json": { schema: named } } },
  responses: { 204: { description: "Done." } },
};

/** The same operations under the base path of either variant. */
function document(base: string): object {
  const get = (path: string, operationId: string, operation: object) => ({
    [base + path]: { get: { operationId, ...operation } },
  });
  const paths = {
    ...get("/devices", "listDevices", answer({ schema: list })),
    ...get("/devices/{deviceId}", "getDevice", {
      ...scoped,
      ...answer({ examples: { one: { value: door } } }),
    }),
    ...get("/notes", "getNotes", answer({ schema: { "x-not-shown": [] } })),
    ...get("/status", "getStatus", { security: [], ...answer({ example: "up" }, 201) }),
    ...get("/export", "exportAll", answer({ example: "a;b" }, 200, "text/csv")),
    ...get("/settings", "getSettings", { "x-plugin-enabled": false, ...answer({}) }),
    [`${base}/restarts`]: { post: { operationId: "restart", ...restarting } },
    [`${base}/schedules/{schedule-id}/start`]: { post: { operationId: "start", ...starting } },
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
  const publicUrl = "https://customer.example";
  const emulator = createEmulator({ publicUrl, variants: [variant], api, seed, ...options });
  const privateKey = emulator.testKey(plugin);
  const credentials = [servicePlugin({ clientId: "reports", privateKey }), serviceAccount(account)];
  const { fetch } = emulator;
  const validate = validator("strict", generatedSchemas);
  const connected = connect({
    baseUrl: publicUrl,
    tenantId: "acme",
    credentials,
    fetch,
    api,
    validate,
  });
  const call = async (operationId: string, path: object = {}, body?: object) => {
    // The type of the generated module is not known here.
    const service = (await connected) as unknown as {
      call(id: string, init: object): Promise<Outcome>;
    };
    const { status, data, error } = await service.call(operationId, { params: { path }, body });
    return { status, data, body: error?.body };
  };
  const get = async (path: string) => {
    const { value } = await (await connected).auth.getAccessToken();
    return emulator.fetch(path, { headers: { authorization: `Bearer ${value}` } });
  };
  return { emulator, call, get };
}
type Outcome = { status: number; data?: unknown; error?: { body: unknown } };

describe.each(["A", "B"] as const)("documents of a consumer, Variant %s", (variant) => {
  const device = { id: expect.any(String), title: "text", kind: "gate" };
  const notShown = {
    operationId: "getNotes",
    parameters: variant === "A" ? { tenantId: "acme" } : {},
  };
  const rows: [name: string, id: string, path: object, status: number, data: unknown][] = [
    ["a value that strict validation accepts", "listDevices", {}, 200, [device]],
    ["an example", "getDevice", { deviceId: "d-1" }, 200, door],
    ["without a body", "start", { "schedule-id": "s" }, 202, undefined],
    ["its id and parameters if no body is shown", "getNotes", {}, 200, notShown],
    ["without a bearer if the document requires none", "getStatus", {}, 201, "up"],
  ];
  test.each(rows)("an operation answers %s", async (_, id, path, status, data) => {
    expect(await deployment(variant).call(id, path)).toMatchObject({ status, data });
  });

  test("the device list answers the option devices if it is given", async () => {
    const door = { id: "7f6f2a1e-6c0f-4f2b-9d0b-0e3c4d1a2b3c", title: "Door", kind: "gate" };
    const { call } = deployment(variant, {}, { devices: { acme: [door] } });
    expect((await call("listDevices")).data).toEqual([door]);
    const { get } = deployment(variant, {}, { devices: [] });
    const list = await get(variant === "A" ? "/api/v1/acme/devices" : "/v1/devices");
    expect(await list.json()).toEqual([]);
    const { call: callDefault } = deployment(variant, {}, { devices: undefined });
    expect((await callDefault("listDevices")).data).toEqual([device]);
  });

  test("an answer that is not JSON has its documented content type", async () => {
    const answer = await deployment(variant).get(
      variant === "A" ? "/api/v1/acme/export" : "/v1/export",
    );
    expect([answer.headers.get("content-type"), await answer.text()]).toEqual(["text/csv", "a;b"]);
  });

  test("a token without the scope in `security` gets an empty 403", async () => {
    const { emulator, call } = deployment(variant, { scopes: ["devices:read"] });
    expect(await call("getDevice", { deviceId: "d-1" })).toMatchObject({
      status: 403,
      body: undefined,
    });
    expect(emulator.customerLog.last()).toMatchObject({
      rule: "route.scope",
      expected: "devices:execute",
    });
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
    const base = variant === "A" ? "/api/v1/acme" : "/v1";
    const answers = [
      await emulator.fetch(`${base}/notes`),
      await emulator.fetch(`${base}/notes`, { method: "PUT" }),
      await emulator.fetch(`${base}/other`),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 405, 404]);
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
    expect((await call("restart", {}, { deviceId: "d-1" })).status).toBe(204);
    for (const refused of [
      await call("getDevice", { deviceId: "d-2" }),
      await call("restart", {}, { deviceId: "d-2" }),
    ]) {
      expect(refused).toMatchObject({ status: 403, body: undefined });
      expect(emulator.customerLog.last()?.rule).toBe("route.device");
    }
  });

  test("a route with `x-plugin-enabled: false` refuses plugin tokens, and every route those of another tenant", async () => {
    const { emulator, get } = deployment("A");
    const refused = async (path: string) => [
      (await get(path)).status,
      emulator.customerLog.last()?.rule,
    ];
    expect(await refused("/api/v1/acme/settings")).toEqual([401, "route.opt-in"]);
    expect(await refused("/api/v1/globex/notes")).toEqual([401, "bearer.tenant"]);
  });
});

describe("the option api", () => {
  test("with the module of this package changes nothing", async () => {
    for (const variant of ["A", "B"] as const) {
      const { get } = deployment(variant, {}, { api: shipped });
      const list = await get(variant === "A" ? "/api/v1/acme/devices" : "/v1/devices");
      expect(await list.json()).toEqual(emulatorOptions.devices.default);
      expect((await get(variant === "A" ? "/api/v1/acme/notes" : "/v1/notes")).status).toBe(404);
    }
  });

  const entry = { method: "GET", path: "/v1/things", success: [200], failure: [] };
  const of = (A: object, B: object) => ({ operations: { A, B } });
  const rows = [
    { name: "null", api: null, code: "option_invalid", says: "operations.ts" },
    {
      name: "another module",
      api: { schemas: {} },
      code: "option_invalid",
      says: "api.operations",
    },
  ];
  test.each(rows)("is refused with $code for $name", ({ api, code, says }) => {
    const create = () => createEmulator({ api: api as never });
    expect(create).toThrow(expect.objectContaining({ name: "EmulatorError", code }));
    expect(create).toThrow(says);
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
  const served = paths.map(([template], index) => [
    `op${index}`,
    { ...entry, path: template, anonymous: true },
  ]);
  const odd = of({}, Object.fromEntries(served));
  test.each(paths)("serves %s at %s", async (template, sent, parameters) => {
    const emulator = createEmulator({ api: odd });
    const answer = await emulator.fetch(`http://emulator.localhost${sent}`);
    const operationId = `op${paths.findIndex(([path]) => path === template)}`;
    expect([answer.status, await answer.json()]).toEqual([200, { operationId, parameters }]);
    expect(emulator.notServed).toEqual([]);
  });
  test.each(["/v1/things", "/v1/.json", "/v1/a...", "/v1/users('')"])(
    "serves nothing at %s but {id}",
    async (sent) => {
      const answer = await createEmulator({ api: odd }).fetch(`http://emulator.localhost${sent}`);
      expect(await answer.json()).toMatchObject({ operationId: "op3" });
    },
  );

  test("leaves out what no request can reach, with the reason", async () => {
    const left = [
      { ...entry, path: "/v1/{a}{b}" },
      { ...entry, path: "/v1/things#one" },
      { ...entry, path: "/v1/things?kind=one" },
      { ...entry, method: "TRACE" },
    ];
    const alike = { ...entry, path: "/v1/{name}/parts" };
    const table = { one: entry, two: { ...alike, path: "/v1/{id}/parts" }, three: alike, ...left };
    const emulator = createEmulator({ api: of({}, table) });
    const reasons = emulator.notServed.map(({ operationId, reason }) => [operationId, reason]);
    expect(Object.fromEntries(reasons)).toEqual({
      0: "its path has two parameters without a character between them",
      1: "its path has a fragment, which no request carries",
      2: "its path has a query, which is not a part of a path",
      3: "fetch does not send this method",
      three: "no request could tell it from two",
    });
    expect(createEmulator({ api: shipped }).notServed).toEqual([]);
    const both = createEmulator({ api: of({ one: entry }, { two: entry }) });
    expect(both.notServed).toMatchObject([{ variant: "B", operationId: "two" }]);
  });

  test("answers HEAD and OPTIONS as documented, and HEAD like GET where only that is documented", async () => {
    const row = { ...entry, anonymous: true };
    const api = of(
      {},
      {
        get: row,
        head: { ...row, method: "HEAD", success: [204] },
        options: { ...row, method: "OPTIONS", success: [202] },
        other: { ...row, path: "/v1/others" },
      },
    );
    const emulator = createEmulator({ api });
    const ask = (method: string, path: string) =>
      emulator.fetch(`http://emulator.localhost${path}`, { method });
    const statuses = ["GET", "HEAD", "OPTIONS"].map(
      async (method) => (await ask(method, "/v1/things")).status,
    );
    expect(await Promise.all(statuses)).toEqual([200, 204, 202]);
    expect((await ask("HEAD", "/v1/others")).status).toBe(200);
    expect(await (await ask("HEAD", "/v1/others")).text()).toBe("");
    expect((await ask("OPTIONS", "/v1/others")).headers.get("allow")).toBe("GET, HEAD");
  });
});
