// `paths` takes the init of openapi-fetch: both send the same requests for it, and read the same
// data.
import createClient from "openapi-fetch";
import { expect, test } from "vitest";
import { createService } from "../../src/index.js";
import { numberedAuth } from "../support/numbered-auth.js";
import { recordingServer } from "../support/recording-server.js";

const usual = { success: [200], failure: [404] };
const operations = {
  get: { method: "GET", path: "/v1/things/{id}", ...usual },
  post: { method: "POST", path: "/v1/things/{id}", contentType: "application/json", ...usual },
  styled: { method: "GET", path: "/v1/styled/{.label}/{;ids*}", ...usual },
};
const path = { id: "a b" };
const query = { tags: ["x", "y z"], filter: { state: "on" }, none: undefined };
const toXml = (body: unknown) => `<a>${(body as { a: number }).a}</a>`;

interface Row {
  readonly name: string;
  readonly method: "GET" | "POST";
  readonly path?: string;
  readonly init: object;
}

const rows: readonly Row[] = [
  {
    name: "parameters and headers",
    method: "GET",
    init: {
      params: { path, query: { tags: query.tags }, header: { "x-one": "1" } },
      headers: { "x-two": "2" },
    },
  },
  {
    name: "querySerializer as a function",
    method: "GET",
    init: { params: { path, query }, querySerializer: (all: object) => `all=${Object.keys(all)}` },
  },
  {
    name: "querySerializer as options",
    method: "GET",
    init: {
      params: { path, query },
      querySerializer: {
        array: { style: "pipeDelimited", explode: false },
        object: { style: "form", explode: true },
      },
    },
  },
  { name: "a body", method: "POST", init: { params: { path }, body: { a: [1, null, "ä"] } } },
  {
    name: "bodySerializer",
    method: "POST",
    init: {
      params: { path },
      body: { a: 1 },
      bodySerializer: toXml,
      headers: { "content-type": "application/json; profile=xml" },
    },
  },
  {
    name: "the styles of a path",
    method: "GET",
    path: "/v1/styled/{.label}/{;ids*}",
    init: { params: { path: { label: "l", ids: [1, 2] } } },
  },
  { name: "parseAs blob", method: "GET", init: { params: { path }, parseAs: "blob" } },
];

async function shown(data: unknown): Promise<unknown> {
  return data instanceof Blob ? [data.type, await data.text()] : data;
}

test.each(rows)(
  "$name: the same init sends and reads the same",
  async ({ method, path = "/v1/things/{id}", init }) => {
    const headers = { "content-type": "application/json" };
    const server = await recordingServer(() => ({ status: 200, headers, body: '{"a":[1]}' }));
    const auth = numberedAuth({ variant: "B", baseUrl: server.url, now: Date.now });
    const service = createService(auth, {
      api: { operations: { A: {}, B: operations } } as never,
      fetch,
    });
    type Call = (path: string, init: object) => Promise<{ readonly data?: unknown }>;
    const ours = (service.paths as unknown as Record<string, Call>)[method];
    const theirs = createClient<Record<string, never>>({
      baseUrl: server.url,
    }) as unknown as Record<string, Call>;
    const [data, expected] = [await ours?.(path, init), await theirs[method]?.(path, init)].map(
      (one) => one?.data,
    );
    const [sent, wanted] = server.requests.map(({ method, path, body, headers }) => ({
      ...{ method, path: decodeURIComponent(path), body, type: headers["content-type"] },
      own: [headers["x-one"], headers["x-two"]],
    }));
    expect(sent).toEqual(wanted);
    expect(await shown(data)).toEqual(await shown(expected));
    expect(data).toBeDefined();
  },
);
