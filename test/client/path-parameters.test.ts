// From a path template and parameters to a URL: nothing leads out of the path that the document shows.
import { describe, expect, test } from "vitest";
import { createAuth, createService } from "../../src/index.js";
import { credentialOf } from "../support/deployment.js";
import { scriptedFetch } from "../support/fetch.js";
import { rejectionOf } from "../support/wait.js";

const baseUrl = "https://service.example/prefix";
const operation = (path: string) => ({ method: "GET", path, success: [200], failure: [] });
const api = {
  operations: {
    A: {
      getDevice: operation("/api/v1/{tenantId}/devices/{deviceId}"),
      listLabels: operation("/api/v1/{tenantId}/labels/{.label}"),
      download: operation("/api/v1/{tenantId}/files/{name}.{extension}"),
    },
    B: {
      getDevice: operation("/v1/devices/{deviceId}"),
      listLabels: operation("/v1/labels/{.label}"),
      download: operation("/v1/files/{name}.{extension}"),
    },
  },
};

function client(variant: "A" | "B") {
  const token = () => Response.json({ access_token: "t" });
  const authFetch = scriptedFetch(token);
  const fetch = scriptedFetch(() => Response.json({}));
  const auth = createAuth({ baseUrl, tenantId: "acme", credential: credentialOf(variant), fetch: authFetch });
  const { call, paths } = createService(auth, { api, fetch });
  return {
    fetch,
    authFetch,
    call: call.bind({ variant }) as unknown as (id: string, init?: object) => Promise<unknown>,
    get: (paths as unknown as Record<string, (path: string, init?: object) => Promise<unknown>>).GET,
  };
}

describe.each([
  {
    variant: "A" as const,
    root: `${baseUrl}/api/v1/acme`,
    template: "/api/v1/{tenantId}/devices/{deviceId}",
  },
  { variant: "B" as const, root: `${baseUrl}/v1`, template: "/v1/devices/{deviceId}" },
])("Variant $variant", ({ variant, root, template }) => {
  const good = [
    { name: "a text", deviceId: "d-1", sent: "d-1" },
    { name: "a number", deviceId: 7, sent: "7" },
    { name: "zero", deviceId: 0, sent: "0" },
    { name: "false", deviceId: false, sent: "false" },
    { name: "three dots", deviceId: "...", sent: "..." },
    { name: "a slash is encoded", deviceId: "a/b", sent: "a%2Fb" },
    { name: "a question mark is encoded", deviceId: "a?b#c", sent: "a%3Fb%23c" },
    { name: "a percent sign is encoded", deviceId: "50%", sent: "50%25" },
    { name: "a letter beyond ASCII is encoded", deviceId: "ä", sent: "%C3%A4" },
    { name: "a list", deviceId: ["a", "b"], sent: "a,b" },
  ];
  test.each(good)("$name goes into the path", async ({ deviceId, sent }) => {
    const { call, get, fetch } = client(variant);
    await call("getDevice", { params: { path: { deviceId } } });
    await get?.(template, { params: { path: { deviceId } } });
    expect(fetch.calls.map(({ url }) => url)).toEqual([`${root}/devices/${sent}`, `${root}/devices/${sent}`]);
  });

  const missing = "path_parameter_missing";
  const invalid = "path_parameter_invalid";
  const bad: { name: string; path: Record<string, unknown> | undefined; code: string }[] = [
    { name: "no parameters at all", path: undefined, code: missing },
    { name: "a parameter left out", path: {}, code: missing },
    { name: "undefined", path: { deviceId: undefined }, code: missing },
    { name: "null", path: { deviceId: null }, code: missing },
    { name: "an empty text", path: { deviceId: "" }, code: missing },
    { name: "an empty list", path: { deviceId: [] }, code: missing },
    { name: "one dot", path: { deviceId: "." }, code: invalid },
    { name: "two dots", path: { deviceId: ".." }, code: invalid },
    { name: "encoded dots", path: { deviceId: "%2e%2E" }, code: invalid },
    { name: "a list of two dots", path: { deviceId: [".."] }, code: invalid },
    { name: "a function", path: { deviceId: () => "x" }, code: invalid },
    { name: "a list of lists", path: { deviceId: [["x"]] }, code: invalid },
  ];
  test.each(bad)("$name is refused, and nothing is sent, not even for a token", async ({ path, code }) => {
    const { call, get, fetch, authFetch } = client(variant);
    const init = path === undefined ? {} : { params: { path } };
    for (const attempt of [() => call("getDevice", init), () => get?.(template, init) ?? Promise.resolve()]) {
      const error = await rejectionOf(attempt());
      expect(error).toMatchObject({ name: "ConfigurationError", code, option: "params.path.deviceId" });
    }
    expect(fetch.calls).toHaveLength(0);
    expect(authFetch.calls).toHaveLength(0);
  });

  test("a dot that the label style makes two of is refused", async () => {
    const { call, fetch } = client(variant);
    const error = await rejectionOf(call("listLabels", { params: { path: { label: "." } } }));
    expect(error).toMatchObject({ code: invalid, option: "params.path.label" });
    await call("listLabels", { params: { path: { label: "red" } } });
    expect(fetch.calls.map(({ url }) => url)).toEqual([`${root}/labels/.red`]);
  });

  test("two parameters in one segment are filled each", async () => {
    const { call, fetch } = client(variant);
    await call("download", { params: { path: { name: "a", extension: "csv" } } });
    expect(fetch.calls[0]?.url).toBe(`${root}/files/a.csv`);
  });

  test("a forgotten parameter never goes out as an encoded placeholder", async () => {
    const { call, fetch } = client(variant);
    await rejectionOf(call("getDevice"));
    await call("getDevice", { params: { path: { deviceId: "d" }, query: { q: "{x}" } } });
    for (const { url } of fetch.calls) expect(url.split("?")[0]).not.toMatch(/%7B|\{/i);
  });
});

describe("tenantId in a path of Variant A", () => {
  test("is filled in, and the own one may be given", async () => {
    const { call, fetch } = client("A");
    await call("getDevice", { params: { path: { deviceId: "d" } } });
    await call("getDevice", { params: { path: { deviceId: "d", tenantId: "acme" } } });
    for (const { url } of fetch.calls) expect(url).toBe(`${baseUrl}/api/v1/acme/devices/d`);
  });

  test.each(["globex", "", "..", null])(
    "another one (%s) is refused: the token is for one tenant",
    async (tenantId) => {
      const { call, fetch } = client("A");
      const error = await rejectionOf(call("getDevice", { params: { path: { deviceId: "d", tenantId } } }));
      expect(error).toMatchObject({ code: "path_parameter_invalid", option: "params.path.tenantId" });
      expect(fetch.calls).toHaveLength(0);
    },
  );
});

describe("an operation that no document has", () => {
  test.each(["nope", "toString", "__proto__", "constructor", ""])("%s is refused", async (id) => {
    const { call, fetch } = client("A");
    expect(await rejectionOf(call(id))).toMatchObject({ code: "operation_unknown", variant: "A" });
    expect(fetch.calls).toHaveLength(0);
  });

  test("so is a path of the other variant", async () => {
    const { get } = client("A");
    expect(await rejectionOf(get?.("/v1/devices/{deviceId}") ?? Promise.resolve())).toMatchObject({
      code: "operation_unknown",
    });
  });
});

describe("headers", () => {
  test.each([
    { name: "a line feed", value: "a\nx-injected: 1" },
    { name: "a carriage return", value: "a\rb" },
    { name: "a NUL", value: "a\0b" },
  ])("with $name are refused, and the value is not shown", async ({ value }) => {
    const { call, fetch } = client("B");
    const init = { params: { path: { deviceId: "d" } }, headers: { "x-note": value } };
    const error = await rejectionOf(call("getDevice", init));
    expect(error).toMatchObject({ code: "option_invalid", option: "headers" });
    expect((error as Error).message).not.toContain("injected");
    expect(fetch.calls).toHaveLength(0);
  });

  test("params.header and headers are merged, and cannot replace the bearer", async () => {
    const { call, fetch } = client("B");
    await call("getDevice", {
      params: { path: { deviceId: "d" }, header: { "X-One": 1, "X-Two": "b" } },
      headers: { "x-two": "a", Authorization: "Bearer forged" },
    });
    const headers = fetch.calls[0]?.headers;
    expect([headers?.get("x-one"), headers?.get("x-two"), headers?.get("authorization")]).toEqual([
      "1",
      "b",
      "Bearer t",
    ]);
  });
});
