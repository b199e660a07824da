// The request of a call: URL, headers and body. What no request can carry is rejected before
// anything is sent.
import { runInNewContext } from "node:vm";
import { Headers as UndiciHeaders } from "undici";
import { describe, expect, test } from "vitest";
import { createAuth, createService } from "../../src/index.js";
import { createVariantBClient } from "../../src/variant-b.js";
import { account, deployment, PLUGIN_ID, plugin } from "../support/deployment.js";
import { scriptedFetch } from "../support/fetch.js";
import { numberedAuth } from "../support/numbered-auth.js";
import { shown } from "../support/shown.js";
import { rejectionOf } from "../support/wait.js";
import { baseUrl, scriptedService } from "./scripted-service.js";

const operation = (path: string) => ({ method: "GET", path, success: [200], failure: [] });
const addNote = { ...operation("/v1/notes/{noteId}"), method: "POST" };
const addForm = { ...addNote, contentType: "application/x-www-form-urlencoded" };
const addTitle = { ...addNote, bodyRequired: true };
const operationsUnder = (root: string) => ({
  addNote,
  addForm,
  addTitle,
  getDevice: operation(`${root}/devices/{deviceId}`),
  download: operation(`${root}/files/{name}.{extension}`),
});
const api = { operations: { A: operationsUnder("/api/v1/{tenantId}"), B: operationsUnder("/v1") } };
const client = (variant: "A" | "B") => scriptedService(variant, undefined, { api: api as never });
const roots = { A: `${baseUrl}/api/v1/acme`, B: `${baseUrl}/v1` };
const getDevicePath = { A: "/api/v1/{tenantId}/devices/{deviceId}", B: "/v1/devices/{deviceId}" };

describe.each(["A", "B"] as const)("Variant %s", (variant) => {
  const root = roots[variant];

  test("listDevices is a GET with the bearer and no body, and fetch gets a string and a RequestInit", async () => {
    const { call, fetch } = scriptedService(variant);
    await call("listDevices");
    const [sent] = fetch.calls;
    const init = { redirect: "manual" };
    expect(sent).toMatchObject({ url: `${root}/devices`, method: "GET", body: "", init });
    expect(sent?.headers.get("authorization")).toBe("Bearer token-1");
    for (const absent of ["content-type", "x-envelope"])
      expect(sent?.headers.has(absent)).toBe(false);
  });

  test("envelope is sent as X-Envelope", async () => {
    const { call, fetch } = scriptedService(variant);
    await call("listDevices", { envelope: "wrapped" });
    expect(fetch.calls[0]?.headers.get("x-envelope")).toBe("wrapped");
  });

  test("a global fetch that is replaced later is used", async () => {
    const before = globalThis.fetch;
    const service = createService(numberedAuth({ variant, now: Date.now }));
    const replaced = scriptedFetch(() => Response.json({}));
    globalThis.fetch = replaced as typeof fetch;
    try {
      await service.call("listDevices");
    } finally {
      globalThis.fetch = before;
    }
    expect(replaced.calls).toHaveLength(1);
  });

  test.each([
    { name: "a text", deviceId: "d-1", sent: "d-1" },
    { name: "a number", deviceId: 7, sent: "7" },
    { name: "false", deviceId: false, sent: "false" },
    { name: "a slash, encoded", deviceId: "a/b", sent: "a%2Fb" },
    { name: "a question mark, encoded", deviceId: "a?b#c", sent: "a%3Fb%23c" },
    { name: "a list", deviceId: ["a", "b"], sent: "a,b" },
  ])("a path parameter may be $name", async ({ deviceId, sent }) => {
    const { call, get, fetch } = client(variant);
    await call("getDevice", { params: { path: { deviceId } } });
    await get(getDevicePath[variant], { params: { path: { deviceId } } });
    const url = `${root}/devices/${sent}`;
    expect(fetch.calls).toMatchObject([{ url }, { url }]);
  });

  const missing = "path_parameter_missing";
  const invalid = "path_parameter_invalid";
  test.each<{ name: string; path: Record<string, unknown>; code: string }>([
    { name: "left out", path: {}, code: missing },
    { name: "null", path: { deviceId: null }, code: missing },
    { name: "an empty text", path: { deviceId: "" }, code: missing },
    { name: "a function", path: { deviceId: () => "x" }, code: invalid },
    { name: "a list of lists", path: { deviceId: [["x"]] }, code: invalid },
  ])("a path parameter that is $name is $code, and nothing is sent", async ({ path, code }) => {
    const { call, get, fetch } = client(variant);
    const init = { params: { path } };
    for (const sending of [call("getDevice", init), get(getDevicePath[variant], init)]) {
      const refused = { name: "ConfigurationError", code, option: "params.path.deviceId" };
      expect(await rejectionOf(sending)).toMatchObject(refused);
    }
    expect(fetch.calls).toHaveLength(0);
  });

  test("a body that the document requires is option_invalid when it is missing, and nothing is sent", async () => {
    const { call, fetch } = client(variant);
    const init = { params: { path: { noteId: "n" } } };
    const message = expect.stringContaining("addTitle");
    const refused = { name: "ConfigurationError", code: "option_invalid", option: "body", message };
    expect(await rejectionOf(call("addTitle", init))).toMatchObject(refused);
    expect(fetch.calls).toHaveLength(0);
    await call("addTitle", { ...init, body: null });
    await call("addNote", init);
    expect(fetch.calls.map(({ body }) => body)).toEqual(["null", ""]);
  });

  test("two parameters in one path segment are both filled in, and no placeholder stays", async () => {
    const { call, fetch } = client(variant);
    const path = { name: "a", extension: "csv" };
    await call("download", { params: { path, query: { q: "{x}" } } });
    expect(fetch.calls[0]?.url.split("?")[0]).toBe(`${root}/files/a.csv`);
  });

  const ways = (headers: unknown) => {
    const scripted = scriptedService(variant);
    const { service, call } = scripted;
    const init = { headers: headers as Record<string, string> };
    const sends = [() => call("listDevices", init), () => service.fetch("v1/devices", init)];
    return { ...scripted, sends };
  };

  test.each<{ name: string; headers: unknown }>([
    { name: "a record", headers: { "X-Mine": "1" } },
    { name: "Headers", headers: new Headers({ "x-mine": "1" }) },
    { name: "the Headers of the undici package", headers: new UndiciHeaders({ "x-mine": "1" }) },
    { name: "a Map", headers: new Map([["x-mine", "1"]]) },
    { name: "a list of pairs", headers: [["x-mine", "1"]] },
    { name: "a list of another realm", headers: runInNewContext('[["x-mine", "1"]]') },
    { name: "a record with a number as its value", headers: { "x-mine": 1 } },
  ])("headers may be $name, for call and fetch", async ({ headers }) => {
    const { fetch, sends } = ways(headers);
    for (const send of sends) await send();
    expect(fetch.calls.map((sent) => sent.headers.get("x-mine"))).toEqual(["1", "1"]);
  });

  test("a header that a list has twice is joined as the global fetch does, for call and fetch", async () => {
    const pairs = [
      ["X-Tag", "1"],
      ["cookie", "a=1"],
      ["x-tag", "2"],
      ["Cookie", "b=2"],
    ];
    const { fetch, sends } = ways(pairs);
    for (const send of sends) await send();
    const sent = fetch.calls.map(({ headers }) => [headers.get("x-tag"), headers.get("cookie")]);
    expect(sent).toEqual([
      ["1, 2", "a=1; b=2"],
      ["1, 2", "a=1; b=2"],
    ]);
  });

  test.each<{ name: string; headers: unknown }>([
    { name: "a name with a space", headers: { "x planted-in-header": "1" } },
    { name: "a value with a line break", headers: { "x-mine": "planted-in-header\r\ny: z" } },
    { name: "a value with a control character", headers: { "x-mine": "planted-in-header\u0000" } },
    { name: "a name that a fetch replaces", headers: { Host: "planted-in-header" } },
    { name: "a name of the connection", headers: { "Keep-Alive": "planted-in-header" } },
    { name: "a name that a record loses", headers: [["__proto__", "planted-in-header"]] },
    { name: "a character beyond a byte", headers: { "x-mine": "planted-in-header \u20ac" } },
    { name: "the form of a text", headers: "x-mine: planted-in-header" },
    { name: "the form of a list of names", headers: ["planted-in-header"] },
    { name: "a list entry without a value", headers: [["planted-in-header"]] },
  ])(
    "headers with $name are rejected before anything is sent, and not shown",
    async ({ headers }) => {
      const { fetch, sends } = ways(headers);
      for (const send of sends) {
        const error = await rejectionOf(send());
        const refused = { name: "ConfigurationError", code: "option_invalid", option: "headers" };
        expect(error).toMatchObject(refused);
        expect(shown(error)).not.toContain("planted-in-header");
      }
      expect(fetch.calls).toHaveLength(0);
    },
  );

  test("params.header and headers are merged, and neither replaces the bearer", async () => {
    const { call, fetch } = client(variant);
    await call("getDevice", {
      params: { path: { deviceId: "d" }, header: { "X-One": 1, "X-Two": "b" } },
      headers: { "x-two": "a", Authorization: "Bearer forged" },
    });
    const names = ["x-one", "x-two", "authorization"];
    const sent = names.map((name) => fetch.calls[0]?.headers.get(name));
    expect(sent).toEqual(["1", "b", "Bearer token-1"]);
  });

  const planted = "planted-in-request";
  const circle: Record<string, unknown> = { [planted]: planted };
  circle.itself = circle;
  const params = { path: { noteId: "n", deviceId: "d" } };
  const query = (of: unknown) => ({ params: { ...params, query: { of } }, body: {} });
  const envelope = (value: unknown) => ({ params, body: {}, envelope: value });
  const row = (name: string, init: object, option: string, id?: string) => {
    return { name, init, option, id };
  };
  test.each([
    row("a body with a bigint", { params, body: { [planted]: 1n } }, "body"),
    row("a body that contains itself", { params, body: circle }, "body"),
    row("a Blob for JSON", { params, body: new Blob([planted]) }, "body"),
    row("a form that contains itself", { params, body: circle }, "body.itself", "addForm"),
    row("a form that is a number", { params, body: 7 }, "body", "addForm"),
    row("a body of a GET", { params, body: { planted } }, "body", "getDevice"),
    row("a query of nested objects", query({ a: { b: planted } }), "params.query.of"),
    row(
      "params.header that is text",
      { params: { ...params, header: planted }, body: {} },
      "headers",
    ),
    row("an envelope with a line break", envelope(`${planted}\r\nx: y`), "headers"),
    row("an envelope that is null", envelope(null), "envelope"),
    row("an empty envelope", envelope(""), "envelope"),
  ])(
    "$name is rejected before anything is sent, and not shown",
    async ({ id = "addNote", init, option }) => {
      const { call, fetch } = client(variant);
      const error = await rejectionOf(call(id, init));
      expect(error).toMatchObject({ name: "ConfigurationError", code: "option_invalid", option });
      expect(shown(error)).not.toContain(planted);
      expect(fetch.calls).toHaveLength(0);
    },
  );

  test.each([undefined, { "x-mine": undefined }, { "x-mine": null }])(
    "a signal and an envelope that are undefined, and headers %j, count as left out",
    async (headers) => {
      const { call, fetch } = scriptedService(variant);
      const init = { signal: undefined, headers: headers as undefined, envelope: undefined };
      expect(await call("listDevices", init)).toMatchObject({ ok: true });
      expect(fetch.calls[0]?.headers.has("x-mine")).toBe(false);
    },
  );

  test("an unknown operationId, or a path of the other variant, is operation_unknown", async () => {
    const { call, get, fetch } = client(variant);
    const unknown = { code: "operation_unknown", variant };
    for (const id of ["nope", "toString", "__proto__", "constructor", ""])
      expect(await rejectionOf(call(id)), id).toMatchObject(unknown);
    const otherPath = getDevicePath[variant === "A" ? "B" : "A"];
    expect(await rejectionOf(get(otherPath))).toMatchObject(unknown);
    expect(fetch.calls).toHaveLength(0);
  });

  test("the error of an unknown operationId names at most 20 of the known ones", async () => {
    const ids = Array.from({ length: 1_200 }, (_, index) => `operation-${index}`);
    const table = Object.fromEntries(ids.map((id) => [id, operation(`/${id}`)]));
    const api = { operations: { A: table, B: table } };
    const { call } = scriptedService(variant, undefined, { api: api as never });
    const message = expect.stringMatching(/^.{1,400} operation-19 and 1180 more\.$/);
    expect(await rejectionOf(call("nope"))).toMatchObject({ code: "operation_unknown", message });
  });
});

describe("tenantId in a path of Variant A", () => {
  test("may be given if it is that of the Auth", async () => {
    const { call, fetch } = client("A");
    await call("getDevice", { params: { path: { deviceId: "d", tenantId: "acme" } } });
    expect(fetch.calls[0]?.url).toBe(`${baseUrl}/api/v1/acme/devices/d`);
  });

  test.each(["globex", "", null])("is rejected if it is another (%s)", async (tenantId) => {
    const { call, fetch } = client("A");
    const path = { deviceId: "d", tenantId };
    const error = await rejectionOf(call("getDevice", { params: { path } }));
    expect(error).toMatchObject({ code: "path_parameter_invalid", option: "params.path.tenantId" });
    expect(fetch.calls).toHaveLength(0);
  });
});

describe("an anonymous operation", () => {
  test("of Variant A is sent as a form, without a bearer and without asking for one", async () => {
    const emulator = deployment({ variants: ["A"] });
    const noToken = scriptedFetch(() => new Response(null, { status: 500 }));
    const fetch = scriptedFetch(({ url, init }) => emulator.fetch(url, init));
    const target = { baseUrl: emulator.publicUrl, tenantId: "acme" };
    const auth = createAuth({ ...target, credential: plugin(), fetch: noToken });
    const body = { grant_type: "refresh_token", client_id: PLUGIN_ID, extra: 7, none: undefined };
    const service = createService(auth, { fetch });
    const result = await service.call("requestToken", { body: body as never });
    expect(result).toMatchObject({ ok: false, status: 400, error: { code: "api_refused" } });
    expect(result.error?.body).toMatchObject({ error: "unsupported_grant_type" });
    const [sent] = fetch.calls;
    expect(sent?.headers.get("content-type")).toBe("application/x-www-form-urlencoded");
    expect(sent?.body).toBe(`grant_type=refresh_token&client_id=${PLUGIN_ID}&extra=7`);
    expect(sent?.headers.has("authorization")).toBe(false);
    expect(noToken.calls).toHaveLength(0);
  });

  test.each([
    { name: "under the base URL keeps its headers", to: `${baseUrl}/token/`, own: "own" },
    { name: "elsewhere loses its headers", to: "https://other.example/", status: 302, own: null },
  ])("that is redirected $name", async ({ to, status = 307, own }) => {
    const redirect = () => new Response(null, { status, headers: { location: to } });
    const { call, fetch } = scriptedService("B", (_call, index) =>
      index ? Response.json({}) : redirect(),
    );
    const body = { grant_type: "client_credentials", client_id: "x" };
    await call("requestToken", { body, headers: { "x-own": "own" } });
    const headersOf = (index: number, name: string) => fetch.calls[index]?.headers.get(name);
    expect(headersOf(1, "x-own")).toBe(own);
    expect(headersOf(1, "content-type")).toBe(status === 307 ? headersOf(0, "content-type") : null);
    expect(headersOf(1, "authorization")).toBeNull();
  });

  test("of Variant B is sent as JSON, without a bearer", async () => {
    const { call, fetch } = scriptedService("B", () => Response.json({ access_token: "t" }));
    const body = { grant_type: "client_credentials", client_id: "x" };
    await call("requestToken", { body });
    const [sent] = fetch.calls;
    expect(sent).toMatchObject({ body: JSON.stringify(body) });
    expect(sent?.headers.get("content-type")).toBe("application/json");
    expect(sent?.headers.has("authorization")).toBe(false);
  });
});

test("calls use the fetch that the Auth was given, unless they are given another", async () => {
  const emulator = deployment({ variants: ["B"] });
  const { publicUrl: baseUrl, fetch } = emulator;
  const auth = createAuth({ baseUrl, tenantId: "acme", credential: account(), fetch });
  expect((await createService(auth).call("listDevices")).ok).toBe(true);
  expect((await createService(auth, { fetch: undefined }).call("listDevices")).ok).toBe(true);
  expect((await createVariantBClient(auth).GET("/v1/devices")).ok).toBe(true);
  const own = createService(auth, { fetch: async () => Response.json([]) });
  expect(await own.call("listDevices")).toMatchObject({ ok: true, data: [] });
  expect(emulator.journal.entries({ operation: "listDevices" })).toHaveLength(3);
});

test("a service reads the table of operations only when a path is called, so that one per request is cheap", async () => {
  let listings = 0;
  const table = new Proxy(api.operations.B, {
    ownKeys(target) {
      listings++;
      return Reflect.ownKeys(target);
    },
  });
  const own = { operations: { A: {}, B: table } } as never;
  const { call, get } = scriptedService("B", undefined, { api: own });
  await call("getDevice", { params: { path: { deviceId: "d" } } });
  expect(listings).toBe(0);
  for (const _call of [1, 2]) await get(getDevicePath.B, { params: { path: { deviceId: "d" } } });
  expect(listings).toBe(1);
});

test("a validate that is not a function is rejected when the service is made", () => {
  const refusal = expect.objectContaining({ code: "option_invalid", option: "validate" });
  const options = { validate: true as never };
  const auth = numberedAuth({ variant: "B", now: Date.now });
  expect(() => createService(auth, options)).toThrow(refusal);
  expect(() => createVariantBClient(auth, options)).toThrow(refusal);
});

test.each([null, { api: null }, { api: { operations: { A: null, B: {} } } }])(
  "createService with the options %j is option_invalid",
  (options) => {
    const auth = numberedAuth({ variant: "B", now: Date.now });
    const making = () => createService(auth, options as never);
    expect(making).toThrow(expect.objectContaining({ code: "option_invalid" }));
  },
);

test("a method that was read from the paths of a service calls for the tenant of that service", async () => {
  const fetch = scriptedFetch(() => Response.json({}));
  const pathsOf = (tenantId: string) =>
    createService(numberedAuth({ variant: "A", baseUrl, tenantId, now: Date.now }), { fetch })
      .paths;
  const { GET: getOfAcme } = pathsOf("acme");
  const { GET: getOfGlobex } = pathsOf("globex");
  await getOfAcme("/api/v1/{tenantId}/devices");
  await getOfGlobex("/api/v1/{tenantId}/devices");
  const tenants = ["acme", "globex"].map((tenantId) => `${baseUrl}/api/v1/${tenantId}/devices`);
  expect(fetch.calls.map(({ url }) => url)).toEqual(tenants);
});

const methods = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"] as const;

test("the paths of a service have the eight methods of OpenAPI, which cannot be replaced", () => {
  const { paths } = scriptedService("B").service;
  for (const method of methods) {
    expect(paths[method], method).toBeTypeOf("function");
    expect(() => Object.assign(paths, { [method]: () => {} }), method).toThrow(TypeError);
  }
});

test("a copy of the paths of a service has all methods, so that a test can replace one of them", async () => {
  const { paths } = scriptedService("B", () => Response.json(["served"])).service;
  type Methods = Record<string, (path: string) => unknown>;
  const mocked = { ...(paths as object), POST: () => "mocked" } as unknown as Methods;
  expect(Object.keys(mocked).toSorted()).toEqual([...methods].toSorted());
  expect(await mocked.GET?.("/v1/devices")).toMatchObject({ ok: true, data: ["served"] });
  expect(mocked.POST?.("/v1/devices")).toBe("mocked");
});
