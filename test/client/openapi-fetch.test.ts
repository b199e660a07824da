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
  readonly method?: "GET" | "POST";
  readonly path?: string;
  readonly init: object;
}

const header = { "x-one": "1" };
const xml = { "content-type": "application/json; profile=xml" };
const arrays = { array: { style: "pipeDelimited", explode: false } };
const objects = { object: { style: "form", explode: true } };
const keysOf = (all: object) => `all=${Object.keys(all)}`;
const rows: readonly Row[] = [
  { name: "parameters", init: { params: { path, query: { tags: query.tags }, header } } },
  { name: "headers", init: { params: { path, header }, headers: { "x-two": "2" } } },
  { name: "a query serializer", init: { params: { path, query }, querySerializer: keysOf } },
  {
    name: "options of a query serializer",
    init: { params: { path, query }, querySerializer: { ...arrays, ...objects } },
  },
  { name: "a body", method: "POST", init: { params: { path }, body: { a: [1, null, "ä"] } } },
  {
    name: "bodySerializer",
    method: "POST",
    init: { params: { path }, body: { a: 1 }, bodySerializer: toXml, headers: xml },
  },
  {
    name: "the styles of a path",
    path: "/v1/styled/{.label}/{;ids*}",
    init: { params: { path: { label: "l", ids: [1, 2] } } },
  },
  { name: "parseAs", init: { params: { path }, parseAs: "blob" } },
];

async function shown(data: unknown): Promise<unknown> {
  return data instanceof Blob ? [data.type, await data.text()] : data;
}

test.each(rows)(
  "$name: the same init sends and reads the same",
  async ({ method = "GET", path = "/v1/things/{id}", init }) => {
    const headers = { "content-type": "application/json" };
    const server = await recordingServer(() => ({ status: 200, headers, body: '{"a":[1]}' }));
    const auth = numberedAuth({ variant: "B", baseUrl: server.url, now: Date.now });
    const api = { operations: { A: {}, B: operations } } as never;
    const service = createService(auth, { api, fetch });
    type Call = (path: string, init: object) => Promise<{ readonly data?: unknown }>;
    const ours = (service.paths as unknown as Record<string, Call>)[method];
    const theirs = createClient({ baseUrl: server.url }) as unknown as Record<string, Call>;
    const data = (await ours?.(path, init))?.data;
    const expected = (await theirs[method]?.(path, init))?.data;
    const [sent, wanted] = server.requests.map(({ method, path, body, headers }) => ({
      method,
      path: decodeURIComponent(path),
      body,
      type: headers["content-type"],
      own: [headers["x-one"], headers["x-two"]],
    }));
    expect(sent).toEqual(wanted);
    expect(await shown(data)).toEqual(await shown(expected));
    expect(data).toBeDefined();
  },
);
