// Measures calls whose parameters and bodies have other forms than text and JSON.
import createClient from "openapi-fetch";
import { type Build, compare, type Row, repeat } from "../measure.js";
import { startScript } from "../script.js";

const usual = { method: "GET", success: [200], failure: [] };

/** Calls of one operation, with a fixed token. */
async function callOf(
  { main }: Build,
  row: object,
  baseUrl: string,
  fetch?: typeof globalThis.fetch,
) {
  const { createService } = (await import(main)) as typeof import("../../../src/index.js");
  const token = { value: "token", issuedAt: Date.now(), expiresAt: Date.now() + 3_600_000 };
  const auth = {
    variant: "B",
    baseUrl,
    tenantId: "t",
    getAccessToken: async () => token,
    invalidate() {},
  };
  const api = { operations: { A: {}, B: { own: { ...usual, ...row } } } };
  const service = createService(auth as never, {
    api: api as never,
    ...(fetch && { fetch: fetch as never }),
  });
  const call = service.call.bind(service) as unknown as (
    id: string,
    init: object,
  ) => Promise<{ ok: boolean }>;
  return async (init: object) => {
    if (!(await call("own", init)).ok) throw new Error("the call was refused");
  };
}

const STYLED = {
  path: "/v1/areas/{area}/devices",
  parameters: [
    { in: "path", name: "area", style: "matrix" },
    { in: "query", name: "tags", style: "pipeDelimited" },
    { in: "query", name: "filter", style: "deepObject", explode: true },
  ],
};
const PARAMS = {
  path: { area: [1, 2] },
  query: { tags: ["a", "b c"], filter: { state: "on", page: 2 } },
};
const SENT = "/v1/areas/;area=1,2/devices?tags=a%7Cb%20c&filter%5Bstate%5D=on&filter%5Bpage%5D=2";

interface Paths {
  "/v1/areas/{area}/devices": {
    get: {
      parameters: typeof PARAMS;
      responses: { 200: { content: { "application/json": unknown } } };
    };
  };
}

export const styledCall: Row = {
  name: "styled-call",
  title:
    "a warm call with three styled parameters against openapi-fetch with serializers by hand, " +
    "over a stub",
  unit: "times",
  aim: 1,
  seconds: 8,
  async measure(build, limit) {
    const stub = async (input: string | URL | Request, init?: RequestInit) => {
      const { url } = new Request(input, init);
      if (!url.endsWith(SENT)) throw new Error(`other parameters were sent: ${url}`);
      return new Response("[]", { headers: { "content-type": "application/json" } });
    };
    const baseUrl = "https://service.example";
    const call = await callOf(build, STYLED, baseUrl, stub);
    const encode = encodeURIComponent;
    const client = createClient<Paths>({
      baseUrl,
      headers: { authorization: "Bearer token" },
      fetch: stub,
      pathSerializer: (path, { area }) =>
        path.replace("{area}", `;area=${(area as number[]).map((one) => encode(one)).join(",")}`),
      querySerializer: (query) => {
        const { tags, filter } = query as typeof PARAMS.query;
        const pairs = Object.entries(filter).map(
          ([of, one]) => `filter%5B${encode(of)}%5D=${encode(one)}`,
        );
        return [`tags=${tags.map(encode).join("%7C")}`, ...pairs].join("&");
      },
    });
    const ours = repeat(() => call({ params: PARAMS }));
    const theirs = repeat(() => client.GET("/v1/areas/{area}/devices", { params: PARAMS }));
    return compare({ ours, theirs, by: "cpu", ...limit });
  },
};

const MEGABYTE = 1_000_000;

export const multipartCall: Row = {
  name: "multipart-call",
  title:
    "a call with 1 MB of multipart body against a plain fetch of the same FormData, over HTTP " +
    "on loopback",
  unit: "times",
  aim: 1.05,
  seconds: 12,
  async measure(build, limit) {
    const { answer, stop } = await startScript(build, "device-server", {});
    try {
      const row = { method: "POST", path: "/v1/files", contentType: "multipart/form-data" };
      const call = await callOf(build, row, String(answer));
      const file = new File([new Uint8Array(MEGABYTE)], "data.bin", {
        type: "application/octet-stream",
      });
      const form = new FormData();
      form.set("title", "Roof");
      form.set("file", file);
      const ours = repeat(() => call({ body: { title: "Roof", file } }));
      const theirs = repeat(async () => {
        const headers = { authorization: "Bearer token" };
        const response = await fetch(`${answer}/v1/files`, { method: "POST", headers, body: form });
        await response.json();
      });
      return await compare({ ours, theirs, by: "cpu", ...limit });
    } finally {
      await stop();
    }
  },
};
