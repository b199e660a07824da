// Requests are read as the document of the option `api` says, from what is sent over HTTP by hand.
import { request as httpRequest } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { type ApiRoute, createEmulator, type EmulatorOptions } from "../../src/emulator/index.js";
import { readApi } from "../../src/generate/emit/emulation.js";
import { connect, serviceAccount } from "../../src/index.js";
import { openapi, sample } from "../generate/sample-documents.js";
import { accessTokenIn, requestAccountToken } from "./deployment.js";

const responses = { 200: { description: "What was read." } };
const worker = { clientId: "worker", clientSecret: "not a real secret" };
const seed = { serviceAccounts: [{ ...worker, tenantId: "acme" }] };

/** An emulator of a document in Variant B, whose operations answer what they read. */
async function served(paths: object, components: object = {}, options: EmulatorOptions = {}) {
  const { documents } = await sample(openapi({}), openapi(paths, components));
  const api = await readApi({ B: documents.B });
  const echo = ({ params, body }: { params: object; body: unknown }) => ({
    ...params,
    body: body ?? null,
  });
  const respond = Object.fromEntries(Object.keys(api.operations.B).map((id) => [id, echo]));
  const emulator = createEmulator({ variants: ["B"], api, respond, seed, ...options });
  const { url, close } = await emulator.listen();
  onTestFinished(close);
  return { emulator, url, api };
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
    const sending = httpRequest({ hostname, port, path, method, headers }, async (answer) => {
      const text = Buffer.concat(await answer.toArray()).toString();
      resolve({ status: answer.statusCode ?? 0, read: text === "" ? undefined : JSON.parse(text) });
    });
    sending.on("error", reject);
    sending.end(body);
  });
}

const type = (name: string) => ({ type: name });
const operation = (more: object) => ({ operationId: "own", security: [], responses, ...more });
const get = (...parameters: object[]) => ({ "/v1/own": { get: operation({ parameters }) } });
const query = (schema: object, more: object = {}) => ({ name: "q", in: "query", schema, ...more });
const post = (content: object, more: object = {}) => ({
  "/v1/own": { post: operation({ requestBody: { content, ...more } }) },
});
const refusal = { status: 400, read: { error: "invalid_request" } };

type Place = "path" | "query" | "header" | "cookie";
const at = (place: Place, path: string, more: object = {}) => ({
  [path]: {
    get: operation({
      operationId: path,
      parameters: [{ name: "id", in: place, required: true, schema: type("integer"), ...more }],
    }),
  },
});

describe("parameters", () => {
  const colors = {
    text: "blue",
    list: ["blue", "black", "brown"],
    object: { R: 100, G: 200, B: 150 },
  };
  const schemas = {
    text: type("string"),
    list: { type: "array", items: type("string") },
    object: { type: "object", additionalProperties: { type: ["integer", "string"] } },
  };
  interface Style {
    readonly in: Place;
    readonly kind: keyof typeof colors;
    readonly style?: string;
    readonly explode?: boolean;
    readonly sent: string;
    /** Default: the color of that kind. */
    readonly color?: unknown;
  }
  /**
   * Of the table "Style Examples" of OpenAPI 3.1.1 those that no library in
   * witness/requests.test.ts writes, with forms that other clients send.
   */
  const styles: readonly Style[] = [
    { in: "header", kind: "text", sent: "blue" },
    { in: "header", kind: "list", sent: "blue, black,brown" },
    { in: "header", kind: "object", sent: "R,100,G,200,B,150" },
    { in: "header", kind: "object", explode: true, sent: "R=100,G=200,B=150" },
    { in: "cookie", kind: "text", sent: "color=blue" },
    { in: "cookie", kind: "list", explode: false, sent: "color=blue,black,brown" },
    { in: "cookie", kind: "object", explode: false, sent: "color=R,100,G,200,B,150" },
    { in: "cookie", kind: "list", sent: "color=blue&color=black&color=brown" },
    { in: "cookie", kind: "object", sent: "R=100&G=200&B=150" },
    { in: "cookie", kind: "list", sent: "color=blue; color=black; color=brown" },
    { in: "cookie", kind: "object", sent: "R=100; G=200; B=150" },
    { in: "query", kind: "list", style: "spaceDelimited", sent: "color=blue+black+brown" },
    { in: "query", kind: "list", style: "pipeDelimited", sent: "color=blue|black|brown" },
    { in: "query", kind: "object", style: "pipeDelimited", sent: "color=R%7C100|G%7C200|B%7C150" },
    { in: "query", kind: "object", style: "deepObject", sent: "color[R]=1&x=2", color: { R: 1 } },
    { in: "query", kind: "text", sent: "color", color: "" },
    { in: "query", kind: "text", sent: "x=1&color=blue&y" },
    { in: "query", kind: "list", sent: "c%6Flor=blue&color=black&color=brown" },
    { in: "query", kind: "object", sent: "B=150&x=1", color: { B: 150, x: 1 } },
  ];

  test("of the style examples of OpenAPI 3.1.1 are read as the values of that table", async () => {
    const paths = styles.map(({ in: place, kind, style, explode }, index) => {
      const form = { name: "color", style, explode, schema: schemas[kind] };
      return at(place, `/v1/${index}`, form);
    });
    const { url } = await served(Object.assign({}, ...paths));
    for (const [index, { in: place, kind, sent, color = colors[kind] }] of styles.entries()) {
      const name = place === "header" ? "color" : "cookie";
      const headers = place === "query" ? {} : { [name]: sent };
      const path = `/v1/${index}${place === "query" ? `?${sent}` : ""}`;
      const { status, read } = await send(url, path, { headers });
      expect([sent, status, read[place]]).toEqual([sent, 200, { color }]);
    }
  });

  const list = { type: "array", items: type("integer") };
  const objectFilter = { "application/json": { schema: { type: "object" } } };
  const jsonFilter = { name: "q", in: "query", content: objectFilter };
  const inner = { type: "object", properties: { b: type("integer") } };
  const nested = { type: "object", properties: { a: inner, c: list } };
  const Count = { $ref: "#/components/schemas/Count" };
  const either = { anyOf: [{ type: "integer" }, { type: "string", pattern: "^x" }] };
  const longUrl = `http://a.${"a-".repeat(5000)}!`;
  test.each<[name: string, parameter: object, sent: string, read: unknown]>([
    ["an encoded comma", query({ type: "array" }, { explode: false }), "q=a%2Cb,c", ["a,b", "c"]],
    ["the type of a reference in allOf", query({ allOf: [Count] }), "q=3", 3],
    ["a boolean", query(type("boolean")), "q=false", false],
    ["the types of an enum", query({ enum: [1, "b"] }), "q=1", 1],
    ["the first of two types that fits", query(either), "q=x1", "x1"],
    ["an empty list", query(list), "q=", []],
    ["a plus sign as a space", query(type("string")), "q=a+b%2B", "a b+"],
    ["a list or a value", query({ oneOf: [type("string"), list] }), "q=1&q=2", [1, 2]],
    ["JSON", jsonFilter, "q=%7B%22a%22:1%7D", { a: 1 }],
    ["an allowed empty value", query(type("integer"), { allowEmptyValue: true }), "q", ""],
    [
      "a deep object beyond the specification",
      query(nested, { style: "deepObject", explode: true }),
      "q[a][b]=1&q[c][]=2&q[c][]=3",
      { a: { b: 1 }, c: [2, 3] },
    ],
    ["a schema that cannot be checked", query({ type: "string", pattern: "(?<!" }), "q=a", "a"],
    ["a URL of any form", query({ type: "string", format: "url" }), `q=${longUrl}`, longUrl],
    ["an undocumented parameter not at all", query(type("string")), "other=%zz&q=a", "a"],
  ])("are read: %s", async (_name, parameter, sent, read) => {
    const { url } = await served(get(parameter), { schemas: { Count: type("integer") } });
    const answered = await send(url, `/v1/own?${sent}`);
    expect(answered).toMatchObject({ status: 200, read: { query: { q: read } } });
    expect(Object.keys(answered.read.query)).toEqual(["q"]);
  });

  test("in a path that names the style are read by the names of the document", async () => {
    const { url } = await served(at("path", "/v1/own{;id}", { style: "matrix" }));
    expect((await send(url, "/v1/own;id=7")).read).toMatchObject({ path: { id: 7 } });
  });

  const pair = { type: "object", properties: { a: {} }, additionalProperties: false };
  const flat = { explode: false };
  test.each<[parameter: object, sent: string, expected: string, actual: string]>([
    [query({}, { required: true }), "", "query q", "absent"],
    [query(type("integer")), "q=", 'query q with {"type":"integer"}', "a string of length 0"],
    [query({ enum: ["a"] }), "q=secret", 'query q with {"enum":["a"]}', "a string of length 6"],
    [query(list), "q=1&q=x", 'query q/1 with {"type":"integer"}', "a string of length 1"],
    [query(type("string")), "q=%zz", "query q, written as form", "malformed percent-encoding"],
    [query(type("string")), "q=a&q=b", "query q, written as form", "sent 2 times"],
    [query(pair, flat), "q=a,b,c", "query q, written as form", "a name without a value"],
    [jsonFilter, "q=%7B", "query q, written as application/json", "text that is not JSON"],
    [query(pair, flat), "q=b,2", 'query q with {"additionalProperties":false}', "an object"],
  ])("are refused: %j, %j: expected %s, got %s", async (parameter, sent, expected, actual) => {
    const { url, emulator } = await served(get(parameter));
    expect(await send(url, `/v1/own?${sent}`)).toEqual(refusal);
    const rule = "request.parameters";
    expect(emulator.customerLog.last()).toMatchObject({ rule, expected, actual });
    expect(emulator.journal.last()).toMatchObject({ rule, status: 400, operation: "own" });
    emulator.rules.enforce(rule, false);
    expect((await send(url, `/v1/own?${sent}`)).status).toBe(200);
  });

  test("of a path, a header and a cookie are refused too, but not before the bearer is checked", async () => {
    const { url, emulator } = await served({
      ...at("path", "/v1/plain/{id}"),
      ...at("path", "/v1/label/x{id}", { style: "label" }),
      ...at("header", "/v1/header"),
      ...at("cookie", "/v1/cookie"),
      "/v1/closed": { get: { operationId: "closed", responses, parameters: [query(list)] } },
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
    expect((await send(url, "/v1/closed?q=x")).status).toBe(401);
    expect(emulator.customerLog.last()?.rule).toBe("bearer.present");
  });
});

const multipart = (parts: readonly string[], end = "--edge--\r\n") => {
  const heads = parts.map((part) => `--edge\r\nContent-Disposition: form-data; ${part}\r\n`);
  return sentAs("multipart/form-data; boundary=edge", heads.join("") + end);
};
function sentAs(contentType: string, body: string | Buffer): Sent {
  return { method: "POST", headers: { "content-type": contentType }, body };
}
const JSON_TYPE = "application/json";
const LINES = "application/x-ndjson";
const FORM = "application/x-www-form-urlencoded";
const thing = {
  type: "object",
  required: ["name"],
  properties: {
    name: type("string"),
    count: type("integer"),
    tags: { type: "array", items: type("string") },
    meta: { type: "object", properties: { deep: type("boolean") } },
  },
};
const files = { file: {}, files: { type: "array", items: {} } };
const allTypes = {
  [JSON_TYPE]: { schema: thing },
  [FORM]: { schema: thing, encoding: { tags: { style: "pipeDelimited", explode: false } } },
  "multipart/form-data": {
    schema: { ...thing, properties: { ...thing.properties, ...files } },
    encoding: { file: { contentType: "image/png, image/jpeg" } },
  },
  "text/plain": { schema: { type: "string", maxLength: 5 } },
  "application/xml": { schema: thing },
  [LINES]: { schema: { type: "object", required: ["n"] } },
  "image/*": {},
};

describe("bodies", () => {
  const named = 'name="name"\r\n\r\na';
  const jsonFile = `name="meta"; filename="blob"\r\nContent-Type: ${JSON_TYPE}\r\n\r\n{"deep":true}`;
  const form = "name=a+b&count=2&tags=x%7Cy&meta=%7B%22deep%22%3Atrue%7D&extra=1";
  const latin1 = Buffer.from([0xe9]);
  test("are read by their media type", async () => {
    const { url } = await served(post(allTypes));
    const bodyOf = async (sent: Sent) => (await send(url, "/v1/own", sent)).read.body;
    const members = { name: "a b", count: 2, tags: ["x", "y"], meta: { deep: true }, extra: "1" };
    expect(await bodyOf(sentAs(FORM, form))).toEqual(members);
    expect(await bodyOf(multipart([named, jsonFile]))).toEqual({ name: "a", meta: { deep: true } });
    expect(await bodyOf(sentAs("text/plain;charset=iso-8859-1", latin1))).toBe("é");
    expect(await bodyOf(sentAs(LINES, '{"n":1}\n\n{"n":2}\n'))).toEqual([{ n: 1 }, { n: 2 }]);
    expect(await bodyOf({ method: "POST" })).toBe(null);
  });

  test("of this package's client arrive as they were passed", async () => {
    const { url: baseUrl, api } = await served(post(allTypes));
    const credentials = [serviceAccount(worker)];
    const settings = { baseUrl, tenantId: "acme", credentials, api: api as never };
    // biome-ignore lint/suspicious/noExplicitAny: the documents are made while the tests run
    const service = (await connect(settings)) as any;
    const bodies: [mediaType: string, body: unknown, read?: unknown][] = [
      [JSON_TYPE, { name: "a", meta: { deep: true } }],
      [FORM, { name: "a b&c=", count: 2, tags: ["x", "y"], meta: { deep: true } }],
      ["multipart/form-data", { name: "é", tags: ["x", "y,z"], meta: { deep: false } }],
      ["text/plain", "é\n"],
      ["application/xml", "<a/>"],
      [LINES, '{"n":1}\n{"n":2}\n', [{ n: 1 }, { n: 2 }]],
    ];
    for (const [mediaType, body, read = body] of bodies) {
      const sent = await service.call("own", { headers: { "content-type": mediaType }, body });
      expect(sent).toMatchObject({ status: 200, data: { body: read } });
    }
  });

  test("of files arrive byte for byte, with their names and types, also those of several megabytes", async () => {
    const received: unknown[] = [];
    const respond = { own: ({ body }: { body: unknown }) => void received.push(body) };
    const { url } = await served(post(allTypes), {}, { respond });
    const large = Buffer.alloc(6_000_000, 7);
    const form = new FormData();
    form.set("name", "a");
    form.set("file", new File([large], "café.png", { type: "image/png" }));
    for (const name of ["1.txt", "2.txt"]) form.append("files", new File(["1"], name));
    const own = `${url}/v1/own`;
    await fetch(own, { method: "POST", body: form });
    const headers = { "content-type": "image/gif" };
    await fetch(own, { method: "POST", body: large, headers });
    const [{ file, files }, bytes] = received as [{ file: File; files: File[] }, Blob];
    expect([file.name, file.type, file.size]).toEqual(["café.png", "image/png", 6_000_000]);
    expect(Buffer.from(await file.arrayBuffer()).equals(large)).toBe(true);
    expect(files.map(({ name }) => name)).toEqual(["1.txt", "2.txt"]);
    expect([bytes.type, bytes.size]).toEqual(["image/gif", 6_000_000]);
  });

  const notJson = "text that is not JSON";
  const cutOff = "parts that cannot be told apart, or are cut off";
  const page = 'name="file"; filename="a"\r\nContent-Type: text/html\r\n\r\nx';
  test.each<[name: string, sent: Sent, actual: string, status?: number]>([
    ["a missing body", { method: "POST" }, "absent"],
    ["an empty body", sentAs(JSON_TYPE, ""), "absent"],
    ["broken JSON", sentAs(JSON_TYPE, '{"name":'), notJson],
    ["JSON with a member of another type", sentAs(JSON_TYPE, '{"name":1}'), "number"],
    ["another media type", sentAs("application/pdf", "x"), "another content-type", 415],
    ["no media type", { method: "POST", body: "{}" }, "no content-type", 415],
    ["a form without a required member", sentAs(FORM, "count=1"), "an object"],
    ["a member twice", sentAs(FORM, "name=a&name=b"), "a member that is sent 2 times"],
    ["a member that is not JSON", sentAs(FORM, "name=a&meta=x"), notJson],
    ["multipart that is cut off", multipart([named], "--ed"), cutOff],
    ["a file of another type", multipart([named, page]), "a file of another media type"],
    ["a line that is not JSON", sentAs(LINES, '{"n":1}\nx'), notJson],
  ])("are refused: %s", async (_name, sent, actual, status = 400) => {
    const { url, emulator } = await served(post(allTypes, { required: true }));
    expect(await send(url, "/v1/own", sent)).toEqual({ ...refusal, status });
    const entry = { rule: "request.body", actual, outcome: { status } };
    expect(emulator.customerLog.last()).toMatchObject(entry);
    expect(emulator.journal.last()).toMatchObject({ rule: "request.body", status });
    emulator.rules.enforce("request.body", false);
    expect((await send(url, "/v1/own", sent)).status).toBe(200);
  });

  test("of forms that the document describes as a text are read as one", async () => {
    const described = { schema: { type: "string", maxLength: 9 } };
    const { url } = await served(post({ [FORM]: described, "multipart/form-data": described }));
    const form = await send(url, "/v1/own", sentAs(FORM, "a=1&b=2"));
    expect(form.read).toMatchObject({ body: "a=1&b=2" });
    expect((await send(url, "/v1/own", sentAs(FORM, "a=1&b=2&c=3"))).status).toBe(400);
    const parts = await send(url, "/v1/own", multipart(['name="a"\r\n\r\n1']));
    expect(parts.read).toMatchObject({ body: { a: "1" } });
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
    const entry = { rule: "request.body", actual: "a larger one" };
    expect(emulator.customerLog.last()).toMatchObject(entry);
  });

  test("are not put into the log, neither values nor names", async () => {
    const schema = { ...thing, additionalProperties: false };
    const { url, emulator } = await served(post({ [JSON_TYPE]: { schema } }));
    const secret = "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4";
    const tags = [{ [secret]: 1 }];
    for (const body of [{ name: { tags } }, { name: "a", [secret]: secret }, { name: "a", tags }])
      await send(url, "/v1/own", sentAs(JSON_TYPE, JSON.stringify(body)));
    expect(emulator.customerLog.entries()).toHaveLength(3);
    expect(JSON.stringify(emulator.customerLog.entries())).not.toContain(secret);
  });

  test("of large values are checked, except for whether their items are unique", async () => {
    const schema = { type: "array", uniqueItems: true, items: type("integer") };
    const { url } = await served(post({ [JSON_TYPE]: { schema } }));
    const status = async (list: unknown[]) =>
      (await send(url, "/v1/own", sentAs(JSON_TYPE, JSON.stringify(list)))).status;
    expect(await status(Array(500).fill(1))).toBe(400);
    expect(await status(Array(100_000).fill(1))).toBe(200);
    expect(await status([...Array(100_000).fill(1), "x"])).toBe(400);
  });
});

test("an answer has the documented media type that the header Accept prefers", async () => {
  const content = {
    [JSON_TYPE]: { example: { a: 1 } },
    "text/csv": { example: "a;1" },
    "text/plain": { example: "a" },
  };
  const own = operation({ responses: { 200: { description: "A", content } } });
  const { emulator } = await served({ "/v1/own": { get: own } }, {}, { respond: {} });
  for (const [accept, expected] of [
    [undefined, JSON_TYPE],
    ["text/*", "text/csv"],
    ["text/csv;q=0.5, text/plain", "text/plain"],
    ["*/*;q=0.1, TEXT/PLAIN ; q=0.2", "text/plain"],
    ["text/*, application/json;q=0", "text/csv"],
    ["image/png", JSON_TYPE],
  ] as const) {
    const answered = await emulator.fetch("/v1/own", { headers: accept ? { accept } : {} });
    expect([accept, answered.headers.get("content-type")]).toEqual([accept, expected]);
  }
});

describe("the option respond", () => {
  test("refuses an operationId that the documents do not have, and names the one that is meant", async () => {
    const message = "respond.owns: no operation of `api` has this operationId; use own";
    await expect(served(get(), {}, { respond: { owns: () => [] } })).rejects.toThrow(message);
  });

  interface Answered {
    readonly as: string;
    readonly respond: () => unknown;
    readonly type: string | null;
    readonly text: string;
    readonly status?: number;
  }
  test("answers with the documented status and media type, or a Response as it is", async () => {
    const respond404 = () => new Response("x", { status: 404 });
    const answers: readonly Answered[] = [
      { as: JSON_TYPE, respond: async () => [1], type: JSON_TYPE, text: "[1]" },
      { as: JSON_TYPE, respond: () => undefined, type: null, text: "" },
      { as: JSON_TYPE, respond: respond404, type: expect.anything(), text: "x", status: 404 },
      { as: "text/csv", respond: () => "a;b", type: "text/csv", text: "a;b" },
      { as: "image/png", respond: () => new Blob(["b"]), type: "image/png", text: "b" },
      { as: "text/plain", respond: () => ({ a: 1 }), type: JSON_TYPE, text: '{"a":1}' },
      { as: "application/a+json", respond: () => "t", type: "application/a+json", text: '"t"' },
    ];
    const paths = answers.map(({ as }, index) => {
      const responses = { 201: { description: "Done.", content: { [as]: {} } } };
      return [`/v1/${index}`, { get: operation({ operationId: `own${index}`, responses }) }];
    });
    const respond = answers.map(({ respond }, index) => [`own${index}`, respond]);
    const options = { respond: Object.fromEntries(respond) };
    const { emulator } = await served(Object.fromEntries(paths), {}, options);
    for (const [index, { type, text, status = 201 }] of answers.entries()) {
      const answer = await emulator.fetch(`/v1/${index}`);
      const found = [answer.status, answer.headers.get("content-type"), await answer.text()];
      expect(found).toEqual([status, type, text]);
    }
  });

  test("is not needed by a route of the option routes, which receives tenant, texts and body too", async () => {
    const calls: unknown[] = [];
    const route: ApiRoute = {
      operationId: "own",
      method: "POST",
      path: "/v1/own/{id}",
      respond: ({ tenantId, params, body, request }) =>
        void calls.push(tenantId, params, body, request.bodyUsed),
    };
    const emulator = createEmulator({ seed, routes: [route] });
    const token = await accessTokenIn(requestAccountToken(emulator, worker));
    const headers = { authorization: `Bearer ${token}`, "content-type": JSON_TYPE };
    const ask = (path: string, body: string) =>
      emulator.fetch(path, { method: "POST", headers, body });
    await ask("/v1/own/a%20b?q=1&q=2&r=%zz", '{"a":1}');
    await ask("/v1/own/c", "{");
    expect(calls).toEqual([
      "acme",
      { path: { id: "a b" }, query: { q: ["1", "2"], r: "%zz" }, header: {}, cookie: {} },
      { a: 1 },
      false,
      "acme",
      { path: { id: "c" }, query: {}, header: {}, cookie: {} },
      undefined,
      false,
    ]);
  });
});
