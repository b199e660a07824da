// The table "What is supported" of src/generate/documents.md: a document with every construct of it
// is generated, its types are compiled, each operation is called, and an answer that its document
// does not allow is refused by the validator.
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { createEmulator } from "../../src/emulator/index.js";
import { type CreateServiceOptions, createService } from "../../src/index.js";
import { type ValidationSchemas, validator } from "../../src/validate.js";
import { numberedAuth } from "../support/numbered-auth.js";
import { type CompiledSample, compiledSample, json, openapi } from "./sample-documents.js";

interface Call {
  readonly init: object | undefined;
  /** Method, path and query, then what `shown` adds of headers and body. */
  readonly sent: string;
  /** What the emulator answered, as `received` shows it. */
  readonly data: unknown;
}

interface Construct {
  readonly paths: object;
  /** TypeScript that must compile, with the types of the operations in scope. */
  readonly types?: string;
  /** By operationId. */
  readonly calls?: Readonly<Record<string, Call>>;
  /** JSON that the strict validator must refuse as the answer of an operation. */
  readonly wrong?: Readonly<Record<string, unknown>>;
}

const string = { type: "string" };
const integers = { type: "array", items: { type: "integer" } };
const point = { type: "object", properties: { x: { type: "integer" }, y: { type: "integer" } } };
const DONE = { 204: { description: "Done." } };
const answered = (content: object, status = 200) => ({
  [status]: { description: "Answer.", content },
});
const get = (id: string, more: object = {}) => ({
  get: { operationId: id, responses: DONE, ...more },
});
const post = (id: string, content: object, responses: object = DONE) => ({
  post: { operationId: id, requestBody: { required: true, content }, responses },
});
const parameter = (place: string, name: string, schema: object, more: object = {}) => ({
  name,
  in: place,
  required: true,
  schema,
  ...more,
});
const file = { ...string, contentMediaType: "image/png" };

const BESIDE = {
  $ref: "#/components/schemas/Member",
  properties: { region: string },
  required: ["region", "team"],
};
const ACCOUNTS = {
  type: "object",
  required: ["all"],
  properties: { all: { type: "array", items: { $ref: "#/components/schemas/Account" } } },
};

const call = (sent: string, init?: object, data?: unknown): Call => ({ sent, init, data });
const by = (place: string, values: object) => ({ params: { [place]: values } });
const taking = (...parameters: object[]) => ({ parameters });
const answering = (content: object) => ({ responses: answered(content) });

const CONSTRUCTS: Readonly<Record<string, Construct>> = {
  "parameter in `path`: `simple`, `label`, `matrix`": {
    paths: {
      "/simple/{a}": get("simple", taking(parameter("path", "a", integers))),
      "/label/{a}": get("label", taking(parameter("path", "a", point, { style: "label" }))),
      "/matrix/{a}": get("matrix", taking(parameter("path", "a", integers, { style: "matrix" }))),
    },
    types: 'const init: InitsA["matrix"] = { params: { path: { a: [1, 2] } } };',
    calls: {
      simple: call("GET /simple/1,2", by("path", { a: [1, 2] })),
      label: call("GET /label/.x,1,y,2", by("path", { a: { x: 1, y: 2 } })),
      matrix: call("GET /matrix/;a=1,2", by("path", { a: [1, 2] })),
    },
  },
  "parameter in `query`: `form`, `spaceDelimited`, `pipeDelimited`, `deepObject`, `allowReserved`":
    {
      paths: {
        "/query": get(
          "query",
          taking(
            parameter("query", "form", integers, { explode: false }),
            parameter("query", "space", integers, { style: "spaceDelimited", explode: false }),
            parameter("query", "pipe", integers, { style: "pipeDelimited", explode: false }),
            parameter("query", "deep", point, { style: "deepObject", explode: true }),
            parameter("query", "url", string, { allowReserved: true }),
          ),
        ),
      },
      types: `const query: NonNullable<InitsA["query"]["params"]>["query"] =
      { form: [1], space: [1], pipe: [1], deep: { x: 1 }, url: "" };`,
      calls: {
        query: call(
          "GET /query?form=1,2&space=1%202&pipe=1%7C2&deep%5Bx%5D=1&url=a/b?c",
          by("query", { form: [1, 2], space: [1, 2], pipe: [1, 2], deep: { x: 1 }, url: "a/b?c" }),
        ),
      },
    },
  "parameter in `header`": {
    paths: { "/header": get("header", taking(parameter("header", "X-Ids", integers))) },
    types: 'const init: InitsA["header"] = { params: { header: { "X-Ids": [1, 2] } } };',
    calls: { header: call("GET /header X-Ids: 1,2", by("header", { "X-Ids": [1, 2] })) },
  },
  "parameter in `cookie`": {
    paths: { "/cookie": get("cookie", taking(parameter("cookie", "theme", string))) },
    types: 'const init: InitsA["cookie"] = { params: { cookie: { theme: "dark" } } };',
    calls: { cookie: call("GET /cookie Cookie: theme=dark", by("cookie", { theme: "dark" })) },
  },
  "parameter with `content`": {
    paths: {
      "/content": get("content", taking({ name: "at", in: "query", content: json(point) })),
    },
    types: 'const init: InitsA["content"] = { params: { query: { at: { x: 1 } } } };',
    calls: { content: call("GET /content?at=%7B%22x%22%3A1%7D", by("query", { at: { x: 1 } })) },
  },
  "body: JSON, `+json`": {
    paths: {
      "/json": post("json", json(point)),
      "/merge": post("merge", { "application/merge-patch+json": { schema: point } }),
    },
    types: 'const init: InitsA["merge"] = { body: { x: 1 } };',
    calls: {
      json: call('POST /json application/json {"x":1}', { body: { x: 1 } }),
      merge: call('POST /merge application/merge-patch+json {"x":1}', { body: { x: 1 } }),
    },
  },
  "body: form, with `encoding`": {
    paths: {
      "/form": post("form", {
        "application/x-www-form-urlencoded": {
          schema: { type: "object", properties: { ids: integers, at: point } },
          encoding: { ids: { style: "pipeDelimited", explode: false } },
        },
      }),
    },
    types: 'const init: InitsA["form"] = { body: { ids: [1], at: { x: 1 } } };',
    calls: {
      form: call("POST /form application/x-www-form-urlencoded ids=1%7C2&at=%7B%22x%22%3A1%7D", {
        body: { ids: [1, 2], at: { x: 1 } },
      }),
    },
  },
  "body: multipart, with files and `encoding`": {
    paths: {
      "/multipart": post("multipart", {
        "multipart/form-data": {
          schema: { type: "object", required: ["file"], properties: { file, at: point } },
          encoding: { file: { contentType: "image/png" } },
        },
      }),
    },
    types: 'const init: InitsA["multipart"] = { body: { file: new Uint8Array(1), at: { x: 1 } } };',
    calls: {
      multipart: call(
        "POST /multipart multipart/form-data file a.png image/png PNG; " +
          'at application/json {"x":1}',
        { body: { file: new File(["PNG"], "a.png", { type: "image/png" }), at: { x: 1 } } },
      ),
    },
  },
  "body: text, XML": {
    paths: {
      "/text": post("text", { "text/plain": { schema: string } }),
      "/xml": post("xml", { "application/xml": { schema: point } }),
    },
    types: 'const init: InitsA["xml"] = { body: "<root/>" };',
    calls: {
      text: call("POST /text text/plain ä", { body: "ä" }),
      xml: call("POST /xml application/xml <root/>", { body: "<root/>" }),
    },
  },
  "body: any other media type": {
    paths: { "/bytes": post("bytes", { "application/octet-stream": {} }) },
    types: 'const init: InitsA["bytes"] = { body: new Blob([]) };',
    calls: {
      bytes: call("POST /bytes application/octet-stream AB", {
        body: new TextEncoder().encode("AB"),
      }),
    },
  },
  "several media types of one body": {
    paths: {
      "/either": post("either", {
        "*/*": { schema: point },
        "application/x-www-form-urlencoded": { schema: point },
        "text/csv": { schema: string },
      }),
    },
    types: `const usual: InitsA["either"] = { body: { x: 1 } };
      const chosen: InitsA["either"] = { body: "x", headers: { "content-type": "text/csv" } };`,
    calls: {
      either: call("POST /either application/x-www-form-urlencoded x=1", { body: { x: 1 } }),
    },
  },
  "answer: JSON, `+json`": {
    paths: { "/point": get("point", answering({ "application/hal+json": { schema: point } })) },
    types: 'const x: number | undefined = {} as OperationsA["point"]["success"][200]["x"];',
    calls: { point: call("GET /point", undefined, { x: 0, y: 0 }) },
    wrong: { point: { x: "1" } },
  },
  "answer: text, XML": {
    paths: { "/page": get("page", answering({ "application/xml": { schema: point } })) },
    types: 'const text: OperationsA["page"]["success"][200] = "<root/>";',
    calls: {
      page: call("GET /page", undefined, '<?xml version="1.0"?>\n<root><x>0</x><y>0</y></root>'),
    },
  },
  "answer: event stream, JSON lines": {
    paths: {
      "/events": get("events", answering({ "text/event-stream": { schema: point } })),
      "/lines": get("lines", answering({ "application/jsonl": { schema: point } })),
    },
    types: `const events: AsyncIterable<ServerSentEvent> = {} as OperationsA["events"]["success"][200];
      const lines: AsyncIterable<{ x?: number }> = {} as OperationsA["lines"]["success"][200];`,
    calls: {
      events: call("GET /events", undefined, [expect.objectContaining({ data: '{"x":0,"y":0}' })]),
      lines: call("GET /lines", undefined, [{ x: 0, y: 0 }]),
    },
  },
  "answer: any other media type": {
    paths: { "/image": get("image", answering({ "image/png": { example: "PNG" } })) },
    types: 'const image: Blob = {} as OperationsA["image"]["success"][200];',
    calls: { image: call("GET /image", undefined, "Blob PNG") },
  },
  "no `responses`, or no 2xx": {
    paths: {
      "/none": { get: { operationId: "none" } },
      "/default": get("onlyDefault", {
        responses: { default: { description: "Any.", content: json(point) } },
      }),
      "/missing": get("no2xx", { responses: { 404: { description: "None." } } }),
    },
    types: `const data: OperationsA["none"]["success"][200] = Symbol();
      const same: AnySuccess = {} as OperationsA["onlyDefault"]["success"];`,
    calls: {
      none: call("GET /none", undefined, { operationId: "none", parameters: {} }),
      onlyDefault: call("GET /default", undefined, { operationId: "onlyDefault", parameters: {} }),
      no2xx: call("GET /missing", undefined, { operationId: "no2xx", parameters: {} }),
    },
  },
  "range of statuses, `default`": {
    paths: {
      "/range": get("range", {
        responses: {
          "2XX": answered(json(point))[200],
          404: { description: "None.", content: json(string) },
          default: { description: "Any.", content: json(integers) },
        },
      }),
    },
    types: `const x: number | undefined = {} as OperationsA["range"]["success"][207]["x"];
      const failure: string = {} as OperationsA["range"]["failure"][404];
      const other: number[] = {} as OperationsA["range"]["otherBody"];`,
    calls: { range: call("GET /range", undefined, { x: 0, y: 0 }) },
    wrong: { range: { x: "1" } },
  },
  "content of a 204, 205, 304 or of an answer to HEAD": {
    paths: {
      "/empty": {
        get: { operationId: "empty", responses: answered(json(point), 204) },
        head: { operationId: "emptyHead", responses: answered(json(point)) },
      },
    },
    types: `const none: undefined = undefined as OperationsA["empty"]["success"][204];
      const head: undefined = undefined as OperationsA["emptyHead"]["success"][200];`,
    calls: { empty: call("GET /empty"), emptyHead: call("HEAD /empty") },
  },
  "header of an answer": {
    paths: {
      "/headers": get("headers", {
        responses: {
          204: { description: "Done.", headers: { "X-Total": { required: true, schema: string } } },
        },
      }),
    },
    types: 'const total: string = {} as OperationsA["headers"]["headers"][204]["X-Total"];',
  },
  "operation without `operationId`": {
    paths: {
      "/unnamed/{id}": { get: { parameters: [parameter("path", "id", string)], responses: DONE } },
    },
    types: 'const init: InitsA["getUnnamedById"] = { params: { path: { id: "1" } } };',
    calls: { getUnnamedById: call("GET /unnamed/1", by("path", { id: "1" })) },
  },
  "path item by `$ref`, used twice": {
    paths: {
      "/first": { $ref: "#/components/pathItems/Shared" },
      "/second": { $ref: "#/components/pathItems/Shared" },
    },
    types: 'const ids: (keyof OperationsA)[] = ["shared", "getSecond"];',
    calls: { shared: call("GET /first"), getSecond: call("GET /second") },
  },
  "two equal path templates": {
    paths: {
      "/same/{a}": get("sameA", taking(parameter("path", "a", string))),
      "/same/{b}": get("sameB", taking(parameter("path", "b", string))),
    },
    types: 'const init: InitsA["sameB"] = { params: { path: { b: "1" } } };',
    calls: {
      sameA: call("GET /same/1", by("path", { a: "1" })),
      sameB: call("GET /same/1", by("path", { b: "1" })),
    },
  },
  "webhook, callback, link": {
    paths: {
      "/hooked": get("hooked", {
        callbacks: { done: { "{$request.query.url}": post("called", json(point)) } },
      }),
    },
    types:
      "const x: number | undefined = {} as " +
      'webhooks["hook"]["post"]["requestBody"]["content"]["application/json"]["x"];',
  },
  "`enum`, `const`, `null`, `required`, limits, formats": {
    paths: { "/plain": get("plain", answering(json({ $ref: "#/components/schemas/Plain" }))) },
    types: `const kind: "a" | "b" | null = {} as components["schemas"]["Plain"]["kind"];
      const fixed: 7 = {} as components["schemas"]["Plain"]["fixed"];`,
    calls: {
      plain: call("GET /plain", undefined, {
        kind: "a",
        fixed: 7,
        size: 3,
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      }),
    },
    wrong: { plain: { kind: "c", fixed: 7, size: 3, at: "2026-01-01T00:00:00Z" } },
  },
  "`allOf`, `anyOf`, `oneOf`, `discriminator`": {
    paths: { "/animal": get("animal", answering(json({ $ref: "#/components/schemas/Animal" }))) },
    types: `const animal: components["schemas"]["Animal"] = { kind: "dog", bark: 1 };
      const held: components["schemas"]["Held"] = { animal, choice: { a: "1" }, puppy: animal };
      const kind: "cat" | "dog" = held.animal.kind;
      const young: boolean | undefined = held.puppy.young;
      const choice: string | undefined = held.choice.b;
      const boss: string = {} as components["schemas"]["Head"]["boss"];
      const rank: number = {} as components["schemas"]["Head"]["rank"];`,
    calls: { animal: call("GET /animal", undefined, { kind: "cat", meow: "text" }) },
    wrong: { animal: { kind: "cat", meow: 1 } },
  },
  "keywords beside a `$ref`": {
    paths: {
      "/beside": get("beside", answering(json({ type: "array", items: BESIDE }))),
    },
    types: `const [head] = {} as OperationsA["beside"]["success"][200];
      const names: (string | undefined)[] = [head?.region, head?.boss, head?.team];
      const all: OperationsA["beside"]["success"][200] = [{ region: "", team: "" }];`,
    calls: {
      beside: call("GET /beside", undefined, [{ boss: "text", team: "text", region: "text" }]),
    },
    wrong: { beside: [{ region: "north" }] },
  },
  "`readOnly`, `writeOnly`": {
    paths: {
      "/account": post("account", json(ACCOUNTS), answered(json(ACCOUNTS))),
    },
    types: `const init: InitsA["account"] = { body: { all: [{ name: "Ann", pin: "1" }] } };
      const answer: OperationsA["account"]["success"][200] = { all: [{ id: "1", name: "Ann" }] };
      const account: components["schemas"]["Account"] = { id: "1", name: "Ann", pin: "1" };
      const sent: InitsA["account"] = { body: { all: [account] } };`,
    calls: {
      account: call(
        'POST /account application/json {"all":[{"name":"Ann","pin":"1"}]}',
        { body: { all: [{ name: "Ann", pin: "1" }] } },
        { all: [{ id: "text", name: "text", pin: "text" }] },
      ),
    },
    wrong: { account: { all: [{ name: "Ann" }] } },
  },
  "`if`, `not`, `dependentRequired`, `unevaluatedProperties`": {
    paths: { "/ruled": get("ruled", answering(json({ $ref: "#/components/schemas/Ruled" }))) },
    types: 'const ruled: components["schemas"]["Ruled"] = { size: 1 };',
    calls: {
      ruled: call("GET /ruled", undefined, expect.objectContaining({ size: expect.any(Number) })),
    },
    wrong: { ruled: { size: 1, unit: "m", other: 1 } },
  },
  recursion: {
    paths: { "/tree": get("tree", answering(json({ $ref: "#/components/schemas/Tree" }))) },
    types: 'const tree: components["schemas"]["Tree"] = { nodes: [{ nodes: [] }] };',
    calls: { tree: call("GET /tree", undefined, { nodes: [] }) },
    wrong: { tree: { nodes: [{}] } },
  },
  "integer beyond 2^53 (`int64`)": {
    paths: {
      "/large": get("large", {
        parameters: [parameter("query", "id", { type: "integer", format: "int64" })],
        responses: answered(json({ type: "integer", format: "int64" })),
      }),
    },
    types: 'const init: InitsA["large"] = { params: { query: { id: 1 } } };',
    calls: {
      large: call("GET /large?id=9007199254740993", by("query", { id: 9007199254740993n }), 0),
    },
    wrong: { large: "9007199254740993" },
  },
};

const SCHEMAS = parse(`
Plain:
  type: object
  required: [kind, fixed, size, at]
  properties:
    kind: { enum: [a, b, null] }
    fixed: { const: 7 }
    size: { type: integer, minimum: 3, maximum: 3 }
    at: { type: string, format: date-time }
  additionalProperties: false
Ruled:
  type: object
  required: [size]
  properties: { size: { type: integer, not: { const: 0 } }, unit: { type: string } }
  dependentRequired: { unit: [size] }
  if: { required: [unit] }
  then: { properties: { size: { minimum: 1 } } }
  unevaluatedProperties: false
Cat:
  type: object
  required: [kind, meow]
  properties: { kind: { type: string, const: cat }, meow: { type: string } }
Dog:
  type: object
  required: [kind, bark]
  properties: { kind: { type: string, const: dog }, bark: { type: integer } }
Animal:
  oneOf: [{ $ref: "#/components/schemas/Cat" }, { $ref: "#/components/schemas/Dog" }]
  discriminator: { propertyName: kind, mapping: { cat: Cat, dog: Dog } }
Member: { type: object, properties: { boss: { type: string }, team: { type: string } } }
Ranked: { allOf: [{ $ref: "#/components/schemas/Member" }, { properties: { rank: { type: integer } } }] }
Head: { allOf: [{ $ref: "#/components/schemas/Ranked" }, { required: [boss, rank] }] }
Held:
  type: object
  required: [animal, choice, puppy]
  properties:
    animal: { description: Any., allOf: [{ $ref: "#/components/schemas/Animal" }, true] }
    puppy: { $ref: "#/components/schemas/Animal", properties: { young: { type: boolean } } }
    choice:
      type: object
      properties: { a: { type: string }, b: { type: string } }
      anyOf: [{ required: [a] }, { required: [b] }]
Account:
  type: object
  required: [id, name, pin]
  properties:
    id: { type: string, readOnly: true }
    name: { type: string }
    pin: { type: string, writeOnly: true }
Tree:
  type: object
  required: [nodes]
  properties: { nodes: { type: array, items: { $ref: "#/components/schemas/Tree" } } }
`);

const rows = Object.entries(CONSTRUCTS);
const paths = Object.assign({}, ...rows.map(([, { paths: own }]) => own));
const DOCUMENT = {
  ...openapi(paths, { schemas: SCHEMAS, pathItems: { Shared: get("shared") } }),
  webhooks: { hook: post("hook", json(point)) },
  security: [],
};

/** The cells of the table, by construct: types, wire, validator, emulator. */
async function tableCells(): Promise<Map<string, readonly string[]>> {
  const page = await readFile("src/generate/documents.md", "utf8");
  const [, section = ""] = page.split("\n## What is supported\n");
  const lines = section.split("\n## ")[0]?.split("\n") ?? [];
  const cells = lines
    .filter((line) => line.startsWith("| ") && !line.startsWith("| Construct "))
    .map((line) => line.slice(2, -2).split(" | "));
  return new Map(cells.map(([name = "", ...others]) => [name, others] as const));
}

let compiled: CompiledSample;
let calling: (id: string, init?: object) => Promise<{ ok: boolean; data?: unknown }>;
let sent: string[];
let answer: ((request: Request) => Response) | undefined;

beforeAll(async () => {
  compiled = await compiledSample(DOCUMENT);
  const api = await compiled.load<{ operations: never }>("operations");
  const schemas = await compiled.load<{ schemas: ValidationSchemas }>("schemas");
  const emulator = createEmulator({ variants: ["A"], api });
  const fetch = async (url: string | URL | Request, init?: RequestInit) => {
    const request = new Request(url, {
      ...init,
      ...(init?.body != null && { duplex: "half" }),
    } as RequestInit);
    sent.push(await shown(request.clone()));
    return answer === undefined ? emulator.fetch(request) : answer(request);
  };
  const auth = numberedAuth({ variant: "A", baseUrl: emulator.publicUrl, now: Date.now });
  const options = { api, fetch, maxRetries: 0, validate: validator("strict", schemas) };
  const service = createService(auth, options as unknown as CreateServiceOptions);
  calling = service.call as never;
});
afterAll(() => compiled?.remove());

/** The request as a row names it. */
async function shown(request: Request): Promise<string> {
  const { pathname, search } = new URL(request.url);
  const [mediaType = ""] = (request.headers.get("content-type") ?? "").split(/;| charset/);
  const named = ["X-Ids", "Cookie"].flatMap((name) => {
    const value = request.headers.get(name);
    return value === null ? [] : [`${name}: ${value}`];
  });
  const body = mediaType === "multipart/form-data" ? await partsOf(request) : await request.text();
  return [request.method, pathname + search, ...named, mediaType, body]
    .filter((one) => one !== "")
    .join(" ");
}

/**
 * The form reader of the runtime shows a part with a media type but without a file name as a file
 * named "blob".
 */
async function partsOf(request: Request): Promise<string> {
  const text = await request.text();
  const parts = [
    ...text.matchAll(
      /name="(\w+)"(?:; filename="([^"]*)")?\r\nContent-Type: (\S+)\r\n\r\n(.*)\r\n/gi,
    ),
  ];
  return parts.map(([, ...found]) => found.filter((one) => one !== undefined).join(" ")).join("; ");
}

async function received(data: unknown): Promise<unknown> {
  if (data instanceof Blob) return `Blob ${await data.text()}`;
  if (typeof data !== "object" || data === null || !(Symbol.asyncIterator in data)) return data;
  const items: unknown[] = [];
  for await (const item of data as AsyncIterable<unknown>) items.push(item);
  return items;
}

test("the table lists the constructs that are tried here, in the same order", async () => {
  expect([...(await tableCells()).keys()]).toEqual(rows.map(([name]) => name));
});

test.each(rows)(
  "%s: a cell begins with yes if and only if it is tried",
  async (name, { types, calls, wrong }) => {
    const cells = (await tableCells()).get(name) ?? [];
    const tried = [types, calls, wrong, calls].map((one) => one !== undefined);
    expect(cells.map((cell) => /^yes\b/.test(cell))).toEqual(tried);
  },
);

test("the types of all constructs compile", () => {
  const snippets = rows.map(([, { types = "" }]) => `{\n${types}\n}\n`).join("");
  const use = `import type { InitsA, OperationsA } from "./operations.js";
    import type { AnySuccess, ServerSentEvent } from "./operations.js";
    import type { components, webhooks } from "./variant-a.js";\n${snippets}`;
  const unused = /is declared but its value is never read/;
  // CI compiles with the oldest TypeScript that is supported, which takes three times as long.
  const compiler = process.env.CI ? "typescript" : "typescript-7";
  const found = compiled.diagnostics(`${use}\nconst wrong: string = 1;`, compiler);
  expect(found.filter((line) => !unused.test(line))).toEqual([expect.stringContaining("TS2322")]);
});

const calls = rows.flatMap(([name, { calls: own = {} }]) =>
  Object.entries(own).map(([id, one]) => ({ name, id, ...one })),
);
test.each(calls)(
  "$name: $id is sent as documented, and answered by the emulator",
  async ({ id, init, ...row }) => {
    sent = [];
    answer = undefined;
    const outcome = await calling(id, init);
    expect(sent).toEqual([row.sent]);
    expect(outcome).toMatchObject({ ok: true });
    expect(await received(outcome.data)).toEqual(row.data);
  },
);

const wrong = rows.flatMap(([name, one]) =>
  Object.entries(one.wrong ?? {}).map(([id, value]) => ({ name, id, value })),
);
test.each(wrong)(
  "$name: the strict validator refuses a wrong answer of $id",
  async ({ name, id, value }) => {
    sent = [];
    const type = id === "point" ? "application/hal+json" : "application/json";
    answer = () => new Response(JSON.stringify(value), { headers: { "content-type": type } });
    const init = CONSTRUCTS[name]?.calls?.[id]?.init;
    await expect(calling(id, init)).rejects.toMatchObject({ code: "response_shape" });
  },
);
