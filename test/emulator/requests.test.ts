// Requests are read as the document of the option `api` says, from what is sent over HTTP by hand.
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { createEmulator, type Emulator, type EmulatorOptions } from "../../src/emulator/index.js";
import { readApi } from "../../src/generate/emit/emulation.js";
import { generate } from "../../src/generate/index.js";
import { connect, serviceAccount } from "../../src/index.js";
import { openapi, sample } from "../generate/sample-documents.js";
import { blockWith, bundleProgram, cacheFolder, compile } from "../readme/pages.js";

const answer = { 200: { description: "What was read." } };

const worker = { clientId: "worker", clientSecret: "not a real secret" };

/** An emulator of a document in Variant B, whose operations answer what they read. */
async function served(paths: object, components: object = {}, options: EmulatorOptions = {}) {
  const { documents } = await sample(openapi({}), openapi(paths, components));
  const api = await readApi({ B: documents.B });
  const echo = ({ params, body }: { params: object; body: unknown }) => ({
    ...params,
    body: body ?? null,
  });
  const respond = Object.fromEntries(Object.keys(api.operations.B).map((id) => [id, echo]));
  const seed = { serviceAccounts: [{ ...worker, tenantId: "acme" }] };
  const emulator = createEmulator({ variants: ["B"], api, respond, seed, ...options });
  const { url, close } = await emulator.listen();
  onTestFinished(close);
  /** Calls with the client of this package. */
  const call = async (operationId: string, init: object) => {
    const credentials = [serviceAccount(worker)];
    const service = await connect({
      baseUrl: url,
      tenantId: "acme",
      credentials,
      api: api as never,
    });
    // biome-ignore lint/suspicious/noExplicitAny: the documents are made while the tests run
    return (service as any).call(operationId, init) as Promise<{ status: number; data: any }>;
  };
  return { emulator, url, call };
}

interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
}

/** Sends the text of the path as it is, which fetch would change. */
function send(url: string, path: string, { method = "GET", headers = {}, body }: Sent = {}) {
  const { hostname, port } = new URL(url);
  // biome-ignore lint/suspicious/noExplicitAny: the tests know what is echoed
  return new Promise<{ status: number; read: any }>((resolve, reject) => {
    const sending = httpRequest({ hostname, port, path, method, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk) => chunks.push(chunk));
      answer.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        resolve({
          status: answer.statusCode ?? 0,
          read: text === "" ? undefined : JSON.parse(text),
        });
      });
    });
    sending.on("error", reject);
    sending.end(body);
  });
}

type Place = "path" | "query" | "header" | "cookie";
const empty = { type: "string" };
const schemas = {
  empty,
  string: { type: "string" },
  array: { type: "array", items: { type: "string" } },
  object: {
    type: "object",
    properties: { R: { type: "integer" }, G: { type: "integer" }, B: { type: "integer" } },
    required: ["R", "G", "B"],
  },
};
const values = {
  empty: "",
  string: "blue",
  array: ["blue", "black", "brown"],
  object: { R: 100, G: 200, B: 150 },
};
const na = undefined;
type Cell = string | undefined;
type Row = readonly [
  place: Place,
  style: string,
  explode: boolean,
  ...texts: [Cell, Cell, Cell, Cell],
];
/**
 * Of the table "Style Examples" of OpenAPI 3.1.1 those that no library in witness/requests.test.ts
 * writes, with forms that other clients send; undefined is n/a.
 */
const styles: readonly Row[] = [
  ["header", "simple", false, "", "blue", "blue,black,brown", "R,100,G,200,B,150"],
  ["header", "simple", true, "", "blue", "blue, black, brown", "R=100,G=200,B=150"],
  [
    "cookie",
    "form",
    false,
    "color=",
    "color=blue",
    "color=blue,black,brown",
    "color=R,100,G,200,B,150",
  ],
  [
    "cookie",
    "form",
    true,
    "color=",
    "color=blue",
    "color=blue&color=black&color=brown",
    "R=100&G=200&B=150",
  ],
  ["cookie", "form", true, na, na, "color=blue; color=black; color=brown", "R=100; G=200; B=150"],
  [
    "query",
    "spaceDelimited",
    false,
    na,
    na,
    "color=blue+black+brown",
    "color=R%20100%20G%20200%20B%20150",
  ],
  [
    "query",
    "pipeDelimited",
    false,
    na,
    na,
    "color=blue|black|brown",
    "color=R%7C100%7CG%7C200%7CB%7C150",
  ],
  ["query", "deepObject", true, na, na, na, "color[R]=100&color[G]=200&other=1&color[B]=150"],
  [
    "query",
    "form",
    true,
    "color",
    "x=1&color=blue&y",
    "c%6Flor=blue&color=black&color=brown",
    "B=150&R=100&G=200&x=1",
  ],
];

function parameterPath(kind: string, place: Place, form: object, schema: object) {
  const path = place === "path" ? `/v1/${kind}/x{color}` : `/v1/${kind}`;
  const parameter = { name: "color", in: place, required: true, ...form, schema };
  return [
    path,
    { get: { operationId: kind, security: [], parameters: [parameter], responses: answer } },
  ];
}

describe("the style examples of OpenAPI 3.1.1", () => {
  test.each(styles)("%s %s, explode %s, is read as the values of the table", async (...row) => {
    const [place, style, explode, ...texts] = row;
    const kinds = ["empty", "string", "array", "object"] as const;
    const { url, call } = await served(
      Object.fromEntries(
        kinds.map((kind) => parameterPath(kind, place, { style, explode }, schemas[kind])),
      ),
    );
    for (const [column, kind] of kinds.entries()) {
      const text = texts[column];
      if (text === undefined) continue;
      const path = `/v1/${kind}${place === "path" ? `/x${text}` : place === "query" ? `?${text}` : ""}`;
      const headers: Record<string, string> =
        place === "header" ? { color: text } : place === "cookie" ? { cookie: text } : {};
      const { status, read } = await send(url, path, { headers });
      expect([kind, status]).toEqual([kind, 200]);
      const color =
        text.includes("x=1") && kind === "object" ? { ...values.object, x: "1" } : values[kind];
      expect(read[place]).toEqual({ color });
      const sent = await call(kind, { params: { [place]: { color } } });
      expect(sent).toMatchObject({ status: 200, data: { [place]: { color } } });
    }
  });
});

const operation = (more: object) => ({
  operationId: "own",
  security: [],
  responses: answer,
  ...more,
});
const get = (...parameters: object[]) => ({ "/v1/own": { get: operation({ parameters }) } });
const query = (schema: object, more: object = {}) => ({ name: "q", in: "query", schema, ...more });
const post = (content: object, more: object = {}) => ({
  "/v1/own": { post: operation({ requestBody: { content, ...more } }) },
});
const type = (name: string) => ({ type: name });

describe("parameters", () => {
  const list = { type: "array", items: type("integer") };
  const jsonFilter = {
    name: "q",
    in: "query",
    content: { "application/json": { schema: { type: "object" } } },
  };
  const nested = {
    type: "object",
    properties: { a: { type: "object", properties: { b: type("integer") } }, c: list },
  };
  const either = { anyOf: [{ type: "integer" }, { type: "string", pattern: "^x" }] };
  test.each<[name: string, parameter: object, sent: string, read: unknown]>([
    [
      "an encoded comma is not a delimiter",
      query({ type: "array" }, { explode: false }),
      "q=a%2Cb,c",
      ["a,b", "c"],
    ],
    ["a boolean", query(type("boolean")), "q=false", false],
    ["the type of a reference", query({ $ref: "#/components/schemas/Count" }), "q=3", 3],
    ["the type of an allOf", query({ allOf: [{ $ref: "#/components/schemas/Count" }] }), "q=3", 3],
    ["the types of an enum", query({ enum: [1, "b"] }), "q=1", 1],
    ["the first of two types that fits", query(either), "q=x1", "x1"],
    ["an empty list", query(list), "q=", []],
    [
      "a list or a value",
      query({ oneOf: [type("string"), { type: "array", items: type("string") }] }),
      "q=a&q=b",
      ["a", "b"],
    ],
    ["a plus sign as a space", query(type("string")), "q=a+b%2B", "a b+"],
    ["JSON", jsonFilter, "q=%7B%22a%22:1%7D", { a: 1 }],
    ["an empty value that is allowed", query(type("integer"), { allowEmptyValue: true }), "q", ""],
    [
      "a deep object beyond the specification",
      query(nested, { style: "deepObject", explode: true }),
      "q[a][b]=1&q[c][]=2&q[c][]=3",
      { a: { b: 1 }, c: [2, 3] },
    ],
    ["a schema that cannot be checked", query({ type: "string", pattern: "(?<!" }), "q=a", "a"],
    [
      "a URL, of any form",
      query({ type: "string", format: "url" }),
      `q=http://a.${"a-".repeat(5000)}!`,
      `http://a.${"a-".repeat(5000)}!`,
    ],
    ["an undocumented parameter not at all", query(type("string")), "other=%zz&q=a", "a"],
  ])("are read: %s", async (_name, parameter, sent, read) => {
    const { url } = await served(get(parameter), { schemas: { Count: type("integer") } });
    const answered = await send(url, `/v1/own?${sent}`);
    expect(answered).toMatchObject({ status: 200, read: { query: { q: read } } });
    expect(Object.keys(answered.read.query)).toEqual(["q"]);
  });

  test("in a path that names the style are read by the names of the document", async () => {
    const parameter = {
      name: "id",
      in: "path",
      required: true,
      schema: type("integer"),
      style: "matrix",
    };
    const { url } = await served({
      "/v1/own{;id}": { get: operation({ parameters: [parameter] }) },
    });
    expect(await send(url, "/v1/own;id=7")).toMatchObject({
      status: 200,
      read: { path: { id: 7 } },
    });
  });

  const secret = "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4";
  test.each<[name: string, parameter: object, sent: string, expected: string, actual: string]>([
    ["a required one is missing", query({}, { required: true }), "", "query q", "absent"],
    [
      "nothing for an integer",
      query(type("integer")),
      "q=",
      'query q with {"type":"integer"}',
      "a string of length 0",
    ],
    [
      "a value beyond the enum",
      query({ enum: ["a", "b"] }),
      `q=${secret}`,
      'query q with {"enum":["a","b"]}',
      "a string of length 48",
    ],
    [
      "an item of another type",
      query(list),
      "q=1&q=x",
      'query q/1 with {"type":"integer"}',
      "a string of length 1",
    ],
    [
      "malformed percent-encoding",
      query(type("string")),
      "q=%zz",
      "query q, written as form",
      "malformed percent-encoding",
    ],
    [
      "a value that is sent twice",
      query(type("string")),
      "q=a&q=b",
      "query q, written as form",
      "sent 2 times",
    ],
    [
      "a name without a value",
      query({ type: "object" }, { explode: false }),
      "q=a,b,c",
      "query q, written as form",
      "a name without a value",
    ],
    [
      "broken JSON",
      jsonFilter,
      "q=%7B",
      "query q, written as application/json",
      "text that is not JSON",
    ],
    [
      "a member that is not allowed",
      query(
        { type: "object", properties: { a: {} }, additionalProperties: false },
        { explode: false },
      ),
      "q=a,1,b,2",
      'query q with {"additionalProperties":false}',
      "an object",
    ],
  ])("are refused: %s", async (_name, parameter, sent, expected, actual) => {
    const { url, emulator } = await served(get(parameter));
    expect(await send(url, `/v1/own?${sent}`)).toEqual({
      status: 400,
      read: { error: "invalid_request" },
    });
    expect(emulator.customerLog.last()).toMatchObject({
      rule: "request.parameters",
      expected,
      actual,
    });
    expect(emulator.journal.last()).toMatchObject({
      rule: "request.parameters",
      status: 400,
      operation: "own",
    });
    emulator.rules.enforce("request.parameters", false);
    expect((await send(url, `/v1/own?${sent}`)).status).toBe(200);
  });

  test("of a path, a header and a cookie are refused too", async () => {
    const named = (place: Place, schema = type("integer"), style?: string) => ({
      name: "id",
      in: place,
      required: true,
      schema,
      ...(style && { style }),
    });
    const { url, emulator } = await served({
      "/v1/plain/{id}": {
        get: { ...operation({}), operationId: "plain", parameters: [named("path")] },
      },
      "/v1/label/x{id}": {
        get: {
          ...operation({}),
          operationId: "label",
          parameters: [named("path", undefined, "label")],
        },
      },
      "/v1/header": {
        get: { ...operation({}), operationId: "header", parameters: [named("header")] },
      },
      "/v1/cookie": {
        get: { ...operation({}), operationId: "cookie", parameters: [named("cookie")] },
      },
    });
    for (const [path, headers, actual] of [
      ["/v1/plain/abc", {}, "a string of length 3"],
      ["/v1/plain/%zz", {}, "malformed percent-encoding"],
      ["/v1/label/x7", {}, "text that does not start with a dot"],
      ["/v1/header", {}, "absent"],
      ["/v1/header", { id: "x" }, "a string of length 1"],
      ["/v1/cookie", { cookie: "other=1" }, "absent"],
      ["/v1/cookie", { cookie: "id=1; id=2" }, "sent 2 times"],
    ] as const) {
      expect((await send(url, path, { headers })).status).toBe(400);
      expect([path, emulator.customerLog.last()?.actual]).toEqual([path, actual]);
    }
  });

  test("are read after the bearer is checked, and of the documents of this package none is refused", async () => {
    const parameters = [query(type("integer"))];
    const { url, emulator } = await served({
      "/v1/own": { get: { ...operation({ parameters }), security: [] } },
      "/v1/other": { get: { operationId: "other", responses: answer, parameters } },
    });
    expect((await send(url, "/v1/other?q=x")).status).toBe(401);
    expect(emulator.customerLog.last()?.rule).toBe("bearer.present");
  });
});

const multipart = (parts: readonly string[], end = "--edge--\r\n") => ({
  method: "POST",
  headers: { "content-type": "multipart/form-data; boundary=edge" },
  body: parts.map((part) => `--edge\r\nContent-Disposition: form-data; ${part}\r\n`).join("") + end,
});
const sentAs = (contentType: string, body: string | Buffer): Sent => ({
  method: "POST",
  headers: { "content-type": contentType },
  body,
});
const FORM = "application/x-www-form-urlencoded";
const thing = {
  type: "object",
  required: ["name"],
  properties: {
    name: type("string"),
    count: type("integer"),
    tags: { type: "array", items: type("string") },
    meta: { type: "object", properties: { deep: type("boolean") } },
    id: { type: "string", readOnly: true },
  },
};
const allTypes = {
  "application/json": { schema: thing },
  [FORM]: { schema: thing, encoding: { tags: { style: "pipeDelimited", explode: false } } },
  "multipart/form-data": {
    schema: {
      ...thing,
      properties: { ...thing.properties, file: {}, files: { type: "array", items: {} } },
    },
    encoding: { file: { contentType: "image/png, image/jpeg" } },
  },
  "text/plain": { schema: { type: "string", maxLength: 5 } },
  "application/xml": { schema: thing },
  "application/x-ndjson": { schema: { type: "object", required: ["n"] } },
  "image/*": {},
};

describe("bodies", () => {
  test.each<[name: string, sent: Sent, read: unknown]>([
    [
      "JSON",
      sentAs("application/json; charset=utf-8", '{"name":"a","count":1,"extra":[]}'),
      { name: "a", count: 1, extra: [] },
    ],
    [
      "a form",
      sentAs(FORM, "name=a+b&count=2&tags=x%7Cy&meta=%7B%22deep%22%3Atrue%7D&extra=1"),
      { name: "a b", count: 2, tags: ["x", "y"], meta: { deep: true }, extra: "1" },
    ],
    [
      "a multipart body",
      multipart([
        'name="name"\r\n\r\na',
        'name="count"\r\n\r\n3',
        'name="tags"\r\n\r\nx',
        'name="tags"\r\n\r\ny',
        'name="meta"\r\nContent-Type: application/json\r\n\r\n{"deep":false}',
      ]),
      { name: "a", count: 3, tags: ["x", "y"], meta: { deep: false } },
    ],
    [
      "JSON in a file, as a FormData sends it",
      multipart([
        'name="name"\r\n\r\na',
        'name="meta"; filename="blob"\r\nContent-Type: application/json\r\n\r\n{"deep":true}',
      ]),
      { name: "a", meta: { deep: true } },
    ],
    ["text", sentAs("text/plain;charset=iso-8859-1", Buffer.from([0xe9])), "é"],
    ["XML, as text", sentAs("application/xml", "<a/>"), "<a/>"],
    ["JSON lines", sentAs("application/x-ndjson", '{"n":1}\n\n{"n":2}\n'), [{ n: 1 }, { n: 2 }]],
    ["no body", { method: "POST" }, null],
  ])("are read: %s", async (_name, sent, read) => {
    const { url } = await served(post(allTypes));
    expect(await send(url, "/v1/own", sent)).toMatchObject({ status: 200, read: { body: read } });
  });

  test.each<[mediaType: string, body: unknown, read?: unknown]>([
    ["application/json", { name: "a", meta: { deep: true } }],
    [FORM, { name: "a b&c=", count: 2, tags: ["x", "y"], meta: { deep: true } }],
    ["multipart/form-data", { name: "é", count: 3, tags: ["x", "y,z"], meta: { deep: false } }],
    ["text/plain", "é\n"],
    ["application/xml", "<a/>"],
    ["application/x-ndjson", '{"n":1}\n{"n":2}\n', [{ n: 1 }, { n: 2 }]],
  ])("of the client arrive as they were passed: %s", async (mediaType, body, read = body) => {
    const { call } = await served(post(allTypes));
    const sent = await call("own", { headers: { "content-type": mediaType }, body });
    expect(sent).toMatchObject({ status: 200, data: { body: read } });
  });

  test("of files arrive byte for byte, with their names and types, also those of several megabytes", async () => {
    const received: unknown[] = [];
    const respond = { own: ({ body }: { body: unknown }) => void received.push(body) };
    const { url } = await served(post(allTypes), {}, { respond });
    const large = Buffer.alloc(6_000_000, 7);
    const form = new FormData();
    form.set("name", "a");
    form.set("file", new File([large], "café.png", { type: "image/png" }));
    form.append("files", new File(["1"], "1.txt", { type: "text/plain" }));
    form.append("files", new File(["2"], "2.txt", { type: "text/plain" }));
    const sent = await fetch(`${url}/v1/own`, { method: "POST", body: form });
    expect(sent.status).toBe(200);
    const [read] = received as [{ file: File; files: File[] }];
    expect([read.file.name, read.file.type, read.file.size]).toEqual([
      "café.png",
      "image/png",
      6_000_000,
    ]);
    expect(Buffer.from(await read.file.arrayBuffer()).equals(large)).toBe(true);
    expect(read.files.map(({ name }) => name)).toEqual(["1.txt", "2.txt"]);
    await fetch(`${url}/v1/own`, {
      method: "POST",
      body: large,
      headers: { "content-type": "image/gif" },
    });
    const [, bytes] = received as [object, Blob];
    expect([bytes.type, bytes.size]).toEqual(["image/gif", 6_000_000]);
  });

  const named = 'name="name"\r\n\r\na';
  test.each<[name: string, sent: Sent, status: number, actual: string]>([
    ["a body that is required is missing", { method: "POST" }, 400, "absent"],
    ["the body is empty", sentAs("application/json", ""), 400, "absent"],
    ["broken JSON", sentAs("application/json", '{"name":'), 400, "text that is not JSON"],
    ["JSON with a member of another type", sentAs("application/json", '{"name":1}'), 400, "number"],
    ["another media type", sentAs("application/pdf", "x"), 415, "another content-type"],
    ["no media type", { method: "POST", body: "{}" }, 415, "no content-type"],
    ["a form without a required member", sentAs(FORM, "count=1"), 400, "an object"],
    [
      "a form with a member twice",
      sentAs(FORM, "name=a&name=b"),
      400,
      "a member that is sent 2 times",
    ],
    [
      "a form with a member that is not JSON",
      sentAs(FORM, "name=a&meta=x"),
      400,
      "text that is not JSON",
    ],
    [
      "multipart that is cut off",
      multipart([named], "--ed"),
      400,
      "parts that cannot be told apart, or are cut off",
    ],
    [
      "a file of another type",
      multipart([named, 'name="file"; filename="a"\r\nContent-Type: text/html\r\n\r\nx']),
      400,
      "a file of another media type",
    ],
    [
      "a line that is not JSON",
      sentAs("application/x-ndjson", '{"n":1}\nx'),
      400,
      "text that is not JSON",
    ],
  ])("are refused: %s", async (_name, sent, status, actual) => {
    const { url, emulator } = await served(post(allTypes, { required: true }));
    expect(await send(url, "/v1/own", sent)).toEqual({
      status,
      read: { error: "invalid_request" },
    });
    expect(emulator.customerLog.last()).toMatchObject({
      rule: "request.body",
      actual,
      outcome: { status },
    });
    expect(emulator.journal.last()).toMatchObject({ rule: "request.body", status });
    emulator.rules.enforce("request.body", false);
    expect((await send(url, "/v1/own", sent)).status).toBe(200);
  });

  test("of forms that the document describes as a text are read as one", async () => {
    const described = { schema: { type: "string", maxLength: 9 } };
    const { url } = await served(post({ [FORM]: described, "multipart/form-data": described }));
    const form = sentAs(FORM, "a=1&b=2");
    expect(await send(url, "/v1/own", form)).toMatchObject({
      status: 200,
      read: { body: "a=1&b=2" },
    });
    expect((await send(url, "/v1/own", sentAs(FORM, "a=1&b=2&c=3"))).status).toBe(400);
    const parts = multipart(['name="a"\r\n\r\n1']);
    expect(await send(url, "/v1/own", parts)).toMatchObject({
      status: 200,
      read: { body: { a: "1" } },
    });
  });

  test("of more than 32 MiB are refused with 413", async () => {
    const { emulator } = await served(post(allTypes));
    const chunk = new Uint8Array(1024 * 1024);
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += chunk.byteLength;
        controller.enqueue(chunk);
      },
    });
    const headers = { "content-type": "image/png" };
    const init = { method: "POST", headers, body: endless, duplex: "half" } as RequestInit;
    expect((await emulator.fetch("/v1/own", init)).status).toBe(413);
    expect(sent).toBeLessThan(40 * chunk.byteLength);
    expect(emulator.customerLog.last()).toMatchObject({
      rule: "request.body",
      actual: "a larger one",
    });
  });

  test("neither parameters nor bodies put what was sent into the log", async () => {
    const { url, emulator } = await served(
      post({ "application/json": { schema: { ...thing, additionalProperties: false } } }),
    );
    const secret = "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4";
    for (const body of [
      { name: { [secret]: 1 } },
      { name: "a", [secret]: secret },
      { name: "a", tags: [{ [secret]: 1 }] },
    ])
      await send(url, "/v1/own", sentAs("application/json", JSON.stringify(body)));
    expect(emulator.customerLog.entries()).toHaveLength(3);
    expect(JSON.stringify(emulator.customerLog.entries())).not.toContain(secret);
  });

  test("of large values are checked, except for whether their items are unique", async () => {
    const schema = { type: "array", uniqueItems: true, items: type("integer") };
    const { url } = await served(post({ "application/json": { schema } }));
    const status = async (list: unknown[]) =>
      (await send(url, "/v1/own", sentAs("application/json", JSON.stringify(list)))).status;
    expect(await status([1, 1])).toBe(400);
    expect(await status(Array(500_000).fill(1))).toBe(200);
    expect(await status(Array(500).fill(1))).toBe(400);
    expect(await status([...Array(500_000).fill(1), "x"])).toBe(400);
    expect(await status(Array(500_000).fill("x"))).toBe(400);
  });
});

describe("answers", () => {
  const content = {
    "application/json": { example: { a: 1 } },
    "text/csv": { example: "a;1" },
    "text/plain": { example: "a" },
  };
  test.each([
    [undefined, "application/json"],
    ["text/csv", "text/csv"],
    ["text/*", "text/csv"],
    ["text/csv;q=0.5, text/plain", "text/plain"],
    ["*/*;q=0.1, TEXT/PLAIN ; q=0.2", "text/plain"],
    ["text/*, application/json;q=0", "text/csv"],
    ["image/png", "application/json"],
    ["*/*", "application/json"],
  ])("for Accept: %s are %s", async (accept, expected) => {
    const { documents } = await sample(
      openapi({}),
      openapi({
        "/v1/own": { get: operation({ responses: { 200: { description: "A", content } } }) },
      }),
    );
    const emulator = createEmulator({ api: await readApi({ B: documents.B }) });
    const answered = await emulator.fetch("/v1/own", {
      headers: accept === undefined ? {} : { accept },
    });
    expect(answered.headers.get("content-type")).toBe(expected);
  });
});

describe("the option respond", () => {
  test("makes a stateful fake, as the emulator's page prints it", async () => {
    const id = { name: "id", in: "path", required: true, schema: type("string") };
    const Note = {
      type: "object",
      required: ["id", "text"],
      properties: { id: { type: "string", readOnly: true }, text: type("string") },
    };
    const note = { "application/json": { schema: { $ref: "#/components/schemas/Note" } } };
    const notes = {
      "application/json": {
        schema: { type: "array", items: { $ref: "#/components/schemas/Note" } },
      },
    };
    const ok = (status: number, content?: object) => ({
      responses: { [status]: { description: "Done.", ...(content && { content }) } },
    });
    const paths = {
      "/v1/notes": {
        get: {
          operationId: "listNotes",
          parameters: [query(type("integer"), { name: "limit" })],
          ...ok(200, notes),
        },
        post: {
          operationId: "addNote",
          requestBody: { required: true, content: note },
          ...ok(201, note),
        },
      },
      "/v1/notes/{id}": {
        parameters: [id],
        get: { operationId: "getNote", ...ok(200, note) },
        delete: { operationId: "removeNote", ...ok(204) },
      },
    };
    const folder = cacheFolder();
    const { documents } = await sample(openapi({}), openapi(paths, { schemas: { Note } }));
    await generate({ documents: { B: documents.B }, out: join(folder, "generated") });
    const printed = blockWith("ts", "removeNote");
    expect(compile({ printed }, join(folder, "generated"))).toEqual([]);
    const file = await bundleProgram(printed, folder, "fake.mjs", folder);
    const { emulator } = (await import(pathToFileURL(file).href)) as { emulator: Emulator };
    const api = await readApi({ B: documents.B });
    emulator.registerServiceAccount({ ...worker, tenantId: "acme" });
    const { fetch, publicUrl: baseUrl } = emulator;
    const service = await connect({
      baseUrl,
      tenantId: "acme",
      credentials: [serviceAccount(worker)],
      fetch,
      api: api as never,
    });
    // biome-ignore lint/suspicious/noExplicitAny: the document is made while the test runs
    const { call }: any = { call: service.call.bind(service) };
    const added = [
      await call("addNote", { body: { text: "one" } }),
      await call("addNote", { body: { text: "two" } }),
    ];
    expect(added).toMatchObject([
      { status: 201, data: { text: "one" } },
      { status: 201, data: { text: "two" } },
    ]);
    const [{ data: first }] = added;
    expect((await call("listNotes")).data).toHaveLength(2);
    expect((await call("listNotes", { params: { query: { limit: 1 } } })).data).toEqual([first]);
    const params = { path: { id: first.id } };
    expect(await call("getNote", { params })).toMatchObject({ status: 200, data: first });
    expect((await call("removeNote", { params })).status).toBe(204);
    expect((await call("getNote", { params })).status).toBe(404);
    expect((await call("addNote", { body: { text: 1 } })).status).toBe(400);
    expect(emulator.customerLog.last()?.expected).toBe('body/text with {"type":"string"}');
  });

  test("refuses an operationId that the documents do not have, and names the one that is meant", async () => {
    await expect(
      served(
        { "/v1/things": { get: { operationId: "listThings", responses: answer } } },
        {},
        { respond: { listThing: () => [] } },
      ),
    ).rejects.toThrow(
      "respond.listThing: no operation of `api` has this operationId; use listThings",
    );
  });

  test("answers a value with the documented status, undefined without a body, and a Response as it is", async () => {
    const responses = { 201: { description: "Created." } };
    const paths = Object.fromEntries(
      ["value", "nothing", "response"].map((id) => [
        `/v1/${id}`,
        { get: { operationId: id, security: [], responses } },
      ]),
    );
    const respond = {
      value: async () => [1],
      nothing: () => undefined,
      response: () => new Response("x", { status: 404 }),
    };
    const { emulator } = await served(paths, {}, { respond });
    const read = await Promise.all(
      ["value", "nothing", "response"].map((id) => emulator.fetch(`/v1/${id}`)),
    );
    expect(await Promise.all(read.map(async (one) => [one.status, await one.text()]))).toEqual([
      [201, "[1]"],
      [201, ""],
      [404, "x"],
    ]);
  });

  test("answers texts and bytes in the documented media type, and anything else as JSON", async () => {
    const responses = (type: string) => ({
      200: { description: "Done.", content: { [type]: {} } },
    });
    const types = {
      csv: "text/csv",
      png: "image/png",
      odd: "text/plain",
      problem: "application/a+json",
    };
    const paths = Object.fromEntries(
      Object.entries(types).map(([id, type]) => [
        `/v1/${id}`,
        { get: { operationId: id, security: [], responses: responses(type) } },
      ]),
    );
    const respond = {
      csv: () => "a;b",
      png: () => new Blob(["bytes"]),
      odd: () => ({ a: 1 }),
      problem: () => "text",
    };
    const { emulator } = await served(paths, {}, { respond });
    const read = await Promise.all(Object.keys(types).map((id) => emulator.fetch(`/v1/${id}`)));
    expect(
      await Promise.all(
        read.map(async (one) => [one.headers.get("content-type"), await one.text()]),
      ),
    ).toEqual([
      ["text/csv", "a;b"],
      ["image/png", "bytes"],
      ["application/json", '{"a":1}'],
      ["application/a+json", '"text"'],
    ]);
  });

  test("is not needed by a route of the option routes, which receives texts and the body too", async () => {
    const calls: unknown[] = [];
    const route = {
      operationId: "own",
      method: "POST",
      path: "/v1/own/{id}",
      takesPluginTokens: false,
    } as const;
    const worker = { tenantId: "acme", clientId: "worker", clientSecret: "not a real secret" };
    const emulator = createEmulator({
      seed: { serviceAccounts: [worker] },
      routes: [
        {
          ...route,
          respond: ({ params, body, request }) => void calls.push(params, body, request.bodyUsed),
        },
      ],
    });
    const token = await emulator.fetch("/v1/auth/token", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        grant_type: "client_credentials",
        client_id: "worker",
        client_secret: "not a real secret",
      }),
    });
    const { access_token } = await token.json();
    const headers = { authorization: `Bearer ${access_token}`, "content-type": "application/json" };
    await emulator.fetch("/v1/own/a%20b?q=1&q=2&r=%zz", {
      method: "POST",
      headers,
      body: '{"a":1}',
    });
    await emulator.fetch("/v1/own/c", { method: "POST", headers, body: "{" });
    expect(calls).toEqual([
      { path: { id: "a b" }, query: { q: ["1", "2"], r: "%zz" }, header: {}, cookie: {} },
      { a: 1 },
      false,
      { path: { id: "c" }, query: {}, header: {}, cookie: {} },
      undefined,
      false,
    ]);
  });
});
