// Bodies on the wire: each media type that a document names, read by a reader that is not ours.
import { Readable } from "node:stream";
import { Busboy, type BusboyHeaders } from "@fastify/busboy";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type RecordedRequest, recordingServer } from "../support/recording-server.js";
import { rejectionOf } from "../support/wait.js";
import { type OwnCall, ownCall } from "./own-table.js";

const formType = "application/x-www-form-urlencoded";
const post = { method: "POST" };
const multipart = (encoding: object = {}) => ({
  ...post,
  contentType: "multipart/form-data",
  contents: { "multipart/form-data": encoding },
});

/** Sends one body to a real server, and returns the request. */
async function sentBy(row: object, init: object): Promise<RecordedRequest> {
  const server = await recordingServer(() => ({ status: 200, body: "{}" }));
  expect(await ownCall({ own: { ...post, ...row } }, server.url)("own", init)).toMatchObject({
    ok: true,
  });
  const [request, ...others] = server.requests;
  if (request === undefined || others.length > 0) throw new Error("not one request");
  return request;
}

/** Rejects, and sends nothing. */
async function refusedBy(row: object, init: object): Promise<unknown> {
  const server = await recordingServer(() => ({ status: 200, body: "{}" }));
  const error = await rejectionOf(ownCall({ own: { ...post, ...row } }, server.url)("own", init));
  expect(server.requests).toEqual([]);
  return error;
}

interface Part {
  readonly name: string;
  readonly text: string;
  readonly type: string;
  readonly fileName?: string | undefined;
}

/** Reads a multipart body with busboy. */
function partsOf({ headers, body }: RecordedRequest): Promise<Part[]> {
  const parts: Part[] = [];
  return new Promise((resolve, reject) => {
    const busboy = new Busboy({
      headers: headers as BusboyHeaders,
      isPartAFile: (_name, _type, file) => file !== undefined,
    });
    busboy.on(
      "field",
      (name, text, _nameCut, _textCut, _encoding, type) => void parts.push({ name, text, type }),
    );
    busboy.on("file", (name, stream, fileName, _encoding, type) => {
      const part = { name, text: "", type, fileName };
      parts.push(part);
      stream.on("data", (chunk: Buffer) => {
        part.text += chunk.toString("latin1");
      });
    });
    busboy.on("finish", () => resolve(parts));
    busboy.on("error", reject);
    Readable.from(Buffer.from(body, "latin1")).pipe(busboy);
  });
}

const binary = (content: string, type?: string) =>
  new Blob([content], type === undefined ? {} : { type });

describe("a body of JSON", () => {
  const row = (contentType: string | undefined, contents: object | undefined, sent: string) => ({
    contentType,
    contents,
    sent,
  });
  test.each([
    row("application/json", undefined, "application/json"),
    row("application/json; charset=utf-8", undefined, "application/json; charset=utf-8"),
    row("application/merge-patch+json", undefined, "application/merge-patch+json"),
    row(undefined, undefined, "application/json"),
    row("application/json", { "*/*": {} }, "application/json"),
  ])("of $contentType is written as JSON, with that type", async ({ sent, ...row }) => {
    const { headers, body } = await sentBy(row, { body: { a: null } });
    expect(headers).toMatchObject({ "content-type": sent, "content-length": "10" });
    expect(body).toBe('{"a":null}');
  });

  test("keeps a header content-type that is JSON too", async () => {
    const type = "application/json; profile=x";
    const { headers } = await sentBy(
      { contentType: "application/json" },
      { body: [], headers: { "Content-Type": type } },
    );
    expect(headers["content-type"]).toBe(type);
  });
});

/** What JSON.stringify would write as `{}`, as `null` or as an object of what the class holds. */
const notJson: readonly { name: string; value: () => unknown; isPart?: boolean }[] = [
  { name: "a Buffer, which has a toJSON,", value: () => Buffer.from("bytes"), isPart: true },
  { name: "a Map", value: () => new Map([["a", 1]]) },
  { name: "a Set", value: () => new Set(["a"]) },
  ...[
    new Error("m"),
    /m/,
    new Headers({ a: "b" }),
    new Response(""),
    new WeakMap(),
    [].values(),
  ].map((one) => ({ name: String(one), value: () => one })),
  { name: "a promise", value: () => Promise.resolve({ a: 1 }) },
  { name: "a stream of Node", value: () => Readable.from(["a"]) },
  { name: "a generator", value: () => (async function* () {})() },
  { name: "NaN", value: () => Number.NaN },
  { name: "Infinity", value: () => Number.POSITIVE_INFINITY },
  { name: "an invalid date", value: () => new Date(Number.NaN) },
];

test.each(notJson)(
  "$name is rejected as a body, in one, as a member of a form and, unless it can be one, as a part",
  async ({ value, isPart }) => {
    for (const body of [value(), { m: value() }, [{ m: [value()] }]]) {
      const json = await refusedBy({ contentType: "application/json" }, { body });
      expect(json).toMatchObject({ code: "option_invalid", option: "body" });
    }
    const forms = [
      { contentType: formType },
      { contentType: formType, contents: { [formType]: {} } },
    ];
    for (const row of isPart ? forms : [...forms, multipart()])
      for (const body of [{ m: value() }, { m: [value()] }])
        expect(await refusedBy(row, { body })).toMatchObject({
          code: "option_invalid",
          option: "body.m",
        });
  },
);

test.each([
  { contentType: "text/plain", body: "a\ud800" },
  { contentType: formType, body: { m: "a\ud800" } },
  { contentType: formType, body: { "\udc00": "a" } },
  { contentType: "multipart/form-data", body: { m: "\ud800\ud800" } },
  { contentType: "multipart/form-data", body: { "\ud800": "a" } },
])(
  "half a surrogate pair, which would arrive as another character, is rejected in $contentType",
  async ({ contentType, body }) => {
    const error = await refusedBy({ contentType }, { body });
    expect(error).toMatchObject({
      code: "option_invalid",
      message: expect.stringContaining("half a surrogate pair"),
    });
  },
);

test("a whole surrogate pair and the replacement character are sent in text and forms", async () => {
  const body = { "\u{1f600}": "\ufffd" };
  for (const contentType of [formType, "multipart/form-data"]) {
    const request = await sentBy({ contentType }, { body });
    const sent =
      contentType === formType
        ? "%F0%9F%98%80=%EF%BF%BD"
        : Buffer.from("\ufffd").toString("latin1");
    expect(request.body).toContain(sent);
  }
});

describe("a form", () => {
  const form = (encoding?: object) => ({
    contentType: formType,
    ...(encoding && { contents: { [formType]: encoding } }),
  });
  const body = {
    a: "b c",
    list: [1, "2"],
    object: { x: "y" },
    none: null,
    when: new Date(0),
    big: 2n ** 60n,
  };
  const usual = [
    ["a", "b c"],
    ["list", "1"],
    ["list", "2"],
    ["object", '{"x":"y"}'],
    ["when", "1970-01-01T00:00:00.000Z"],
    ["big", String(2n ** 60n)],
  ];

  test("repeats lists, and writes objects as JSON", async () => {
    const request = await sentBy(form(), { body });
    expect([...new URLSearchParams(request.body)]).toEqual(usual);
    expect(request.headers["content-type"]).toBe(formType);
    expect([...new URLSearchParams((await sentBy(form({}), { body })).body)]).toEqual(usual);
  });

  test("is written as the example of the specification", async () => {
    const id = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6";
    const address = {
      streetAddress: "123 Example Dr.",
      city: "Somewhere",
      state: "CA",
      zip: "99999+1234",
    };
    const example =
      "id=f81d4fae-7dec-11d0-a765-00a0c91e6bf6&address=%7B%22streetAddress%22:%22123+Example+Dr.%22,%22city%22:%22Somewhere%22,%22state%22:%22CA%22,%22zip%22:%2299999%2B1234%22%7D";
    const request = await sentBy(form(), { body: { id, address } });
    // The example leaves colons and commas, which the standard of forms encodes.
    expect(request.body.replaceAll("%3A", ":").replaceAll("%2C", ",")).toBe(example);
    const json = await sentBy(form({ id: { contentType: "application/json" } }), { body: { id } });
    expect(json.body).toBe(`id=%22${id}%22`);
  });

  test.each<[encoding: object, value: unknown, sent: string]>([
    [{ style: "form" }, ["a", "b c"], "m=a&m=b%20c"],
    [{ style: "form", explode: false }, ["a", "b"], "m=a,b"],
    [{ style: "form", explode: false }, { x: 1, y: 2 }, "m=x,1,y,2"],
    [{ style: "form" }, { x: 1, y: 2 }, "x=1&y=2"],
    [{ style: "deepObject", explode: true }, { x: 1 }, "m%5Bx%5D=1"],
    [{ style: "pipeDelimited" }, ["a", "b"], "m=a%7Cb"],
    [{ style: "spaceDelimited" }, ["a", "b"], "m=a%20b"],
    [{ style: "form", allowReserved: true }, "a/b", "m=a/b"],
    [{ contentType: "application/json" }, ["a", 1], "m=%5B%22a%22%2C1%5D"],
    [{ contentType: "application/json" }, undefined, ""],
    [{ style: "form" }, undefined, ""],
    [{ contentType: "text/plain" }, "a b", "m=a+b"],
  ])("with the encoding %j writes %j as %s", async (encoding, m, sent) => {
    expect((await sentBy(form({ m: encoding }), { body: { m } })).body).toBe(sent);
  });

  test("that is text or URLSearchParams is sent as it is", async () => {
    for (const body of ["a=1&b=%20", new URLSearchParams({ a: "1", b: " " })]) {
      for (const row of [form(), form({})]) {
        const request = await sentBy(row, { body });
        expect([...new URLSearchParams(request.body)]).toEqual([
          ["a", "1"],
          ["b", " "],
        ]);
        expect(request.headers["content-type"]).toBe(formType);
      }
    }
  });

  test.each([
    { name: "a list", body: ["a"] },
    { name: "bytes", body: new Uint8Array(1) },
    { name: "a FormData", body: new FormData() },
    { name: "a Map", body: new Map() },
    { name: "null", body: null },
    { name: "a Blob in a member", body: { a: new Blob() } },
    { name: "a function in a member", body: { a: () => {} } },
    { name: "nested objects in a style", body: { styled: { a: {} } } },
    { name: "an object in a member of XML", body: { xml: { a: 1 } } },
  ])("that is or holds $name is rejected", async ({ body }) => {
    const encoding = { styled: { style: "form" }, xml: { contentType: "text/xml" } };
    const isEncoded = body !== null && ("styled" in body || "xml" in body);
    for (const row of [form(), form(encoding)].slice(isEncoded ? 1 : 0))
      expect(await refusedBy(row, { body })).toMatchObject({
        code: "option_invalid",
        option: expect.stringMatching(/^body/),
      });
  });
});

describe("multipart from an object", () => {
  test("has text, files, JSON without a file name, and a part for each value of a list", async () => {
    const body = {
      text: "ä\r\nb",
      number: 7,
      none: undefined,
      nothing: null,
      when: new Date(0),
      file: new File(["content"], 'na"me\r\n ä.txt', { type: "text/csv" }),
      blob: binary("png", "image/png"),
      bytes: new Uint8Array([1, 2]),
      buffer: new Uint8Array([3]).buffer,
      read: Buffer.from("of Node"),
      several: [Buffer.from("of Node")],
      stream: new Response("streamed").body,
      object: { a: ["ä"] },
      tags: ["x", "y"],
      files: [binary("1"), binary("2")],
      objects: [{ a: 1 }, { b: 2 }],
      empty: [],
    };
    const request = await sentBy(multipart(), { body });
    expect(request.headers["content-type"]).toMatch(
      /^multipart\/form-data; boundary=[\w-]{16,70}$/,
    );
    const text = "text/plain";
    const bytes = "application/octet-stream";
    const json = "application/json";
    expect(await partsOf(request)).toEqual([
      { name: "text", text: "ä\r\nb", type: text },
      { name: "number", text: "7", type: text },
      { name: "when", text: "1970-01-01T00:00:00.000Z", type: text },
      { name: "file", text: "content", type: "text/csv", fileName: "na%22me%0D%0A ä.txt" },
      { name: "blob", text: "png", type: "image/png", fileName: "blob" },
      { name: "bytes", text: "\u0001\u0002", type: bytes, fileName: "blob" },
      { name: "buffer", text: "\u0003", type: bytes, fileName: "blob" },
      { name: "read", text: "of Node", type: bytes, fileName: "blob" },
      { name: "several", text: "of Node", type: bytes, fileName: "blob" },
      { name: "stream", text: "streamed", type: bytes, fileName: "blob" },
      { name: "object", text: '{"a":["ä"]}', type: json },
      { name: "tags", text: "x", type: text },
      { name: "tags", text: "y", type: text },
      { name: "files", text: "1", type: bytes, fileName: "blob" },
      { name: "files", text: "2", type: bytes, fileName: "blob" },
      { name: "objects", text: '{"a":1}', type: json },
      { name: "objects", text: '{"b":2}', type: json },
    ]);
    // A reader gives a part without a type text/plain, so what was sent is looked at too.
    expect(request.body).toContain('Content-Disposition: form-data; name="number"\r\n\r\n7\r\n');
    expect(request.body).toContain('name="object"\r\nContent-Type: application/json\r\n\r\n{"a"');
  });

  test("has names that cannot end its header", async () => {
    const request = await sentBy(multipart(), { body: { 'a"\r\nX-Own: b': "c" } });
    expect(await partsOf(request)).toEqual([
      { name: "a%22%0D%0AX-Own: b", text: "c", type: "text/plain" },
    ]);
  });

  test("has its length, unless a stream is in it, and the reader of undici reads it too", async () => {
    const body = { a: "1", file: binary("x".repeat(70_000)) };
    const { headers, body: sent } = await sentBy(multipart(), { body });
    expect(headers["content-length"]).toBe(String(sent.length));
    const form = await new Response(sent, { headers }).formData();
    expect(form.get("a")).toBe("1");
    expect((form.get("file") as File).size).toBe(70_000);
    const streamed = await sentBy(multipart(), { body: { stream: new Response("x").body } });
    expect(streamed.headers).toMatchObject({ "transfer-encoding": "chunked" });
  });

  const jsonType = "application/vnd.x+json";
  const file = (text: string, type: string) => [{ text, type, fileName: "blob" }];
  test.each<[encoding: object, value: unknown, parts: object[]]>([
    [{ contentType: "application/json" }, "a", [{ text: '"a"', type: "application/json" }]],
    [{ contentType: "text/xml" }, "<a/>", [{ text: "<a/>", type: "text/xml" }]],
    [{ contentType: jsonType }, { a: 1 }, [{ text: '{"a":1}', type: jsonType }]],
    [{ contentType: "image/png, image/jpeg" }, binary("j", "image/jpeg"), file("j", "image/jpeg")],
    [{ contentType: "image/*" }, binary("g", "image/gif"), file("g", "image/gif")],
    [{ contentType: "image/png" }, new Uint8Array([65]), file("A", "image/png")],
    ...["image/png, application/octet-stream", "image/png, */*"].flatMap((contentType) =>
      [new Uint8Array([65]), new Blob(["A"])].map((value): [object, unknown, object[]] => [
        { contentType },
        value,
        file("A", "application/octet-stream"),
      ]),
    ),
    [{ contentType: "image/*, text/csv" }, "a", [{ text: "a", type: "text/csv" }]],
    [{ contentType: "text/*" }, "a", [{ text: "a", type: "text/plain" }]],
    [{ contentType: "*/*" }, { a: 1 }, [{ text: '{"a":1}', type: "application/json" }]],
    [{ style: "form" }, ["a&", "b%"], [{ text: "a&" }, { text: "b%" }]],
    [{ style: "form", explode: false }, ["a", "b"], [{ text: "a,b" }]],
    [{ style: "deepObject", explode: true }, { x: "ä+" }, [{ name: "m[x]", text: "ä+" }]],
    [{ style: "form", allowReserved: true }, "a%20b", [{ text: "a%20b" }]],
    [{ style: "form" }, binary("file"), file("file", "application/octet-stream")],
  ])("with the encoding %j writes %o as its parts", async (encoding, m, expected) => {
    const parts = await partsOf(await sentBy(multipart({ m: encoding }), { body: { m } }));
    expect(parts).toEqual(expected.map((part) => ({ name: "m", type: "text/plain", ...part })));
  });

  const row = (name: string, m: unknown, says: string, contentType?: string) => {
    return { name, m, says, encoding: contentType === undefined ? {} : { contentType } };
  };
  const [bytes, page] = [new Uint8Array(1), binary("", "text/html")];
  test.each([
    row("a file of another type than documented", page, "media type image/png", "image/png"),
    row("bytes where several types are documented", bytes, "a Blob with", "image/png, image/jpeg"),
    row("bytes where a range is documented", bytes, "Pass a Blob", "image/*"),
    row("text for images", "a", "type image/*. Pass a Blob", "image/*"),
    row("an object for text", {}, "media type text/*", "text/*"),
    row("an object for XML", {}, "must be text, bytes", "text/xml"),
    row("a function", () => {}, "must be text, bytes"),
    row("an object that contains a bigint", { a: 1n }, "must be JSON"),
    row("a stream that is read elsewhere", locked(), "must be a stream that is not read elsewhere"),
    {
      ...row("an object in an object in a style", { a: {} }, "must be text or a number"),
      encoding: { style: "deepObject" },
    },
  ])("is rejected with $name", async ({ encoding, m, says }) => {
    const error = await refusedBy(multipart({ m: encoding }), { body: { m } });
    expect(error).toMatchObject({
      code: "option_invalid",
      option: "body.m",
      message: expect.stringContaining(says),
    });
  });

  test("that is a FormData is sent as fetch sends it, also with a header content-type without a boundary", async () => {
    const form = new FormData();
    form.set("a", "1");
    form.set("file", binary("x", "image/png"), "x.png");
    for (const headers of [{}, { "content-type": "multipart/form-data" }]) {
      const request = await sentBy(multipart({ m: { contentType: "text/csv" } }), {
        body: form,
        headers,
      });
      expect(await partsOf(request)).toEqual([
        { name: "a", text: "1", type: "text/plain" },
        { name: "file", text: "x", type: "image/png", fileName: "x.png" },
      ]);
    }
  });

  test("that the caller has written needs the boundary in the header content-type", async () => {
    const body = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b--\r\n';
    const headers = { "content-type": "multipart/form-data; boundary=b" };
    expect(await partsOf(await sentBy(multipart(), { body, headers }))).toMatchObject([
      { name: "a", text: "1" },
    ]);
    const error = await refusedBy(multipart(), { body });
    expect(error).toMatchObject({ option: "body", message: expect.stringContaining("boundary") });
  });

  test("with a stream that fails cancels the others", async () => {
    const cancel = vi.fn();
    const a = new ReadableStream({ pull: (its) => its.error(new Error("disk")) });
    const body = { a, b: new ReadableStream({ cancel }) };
    await rejectionOf(sentBy(multipart(), { body }));
    expect(cancel).toHaveBeenCalledOnce();
  });

  test("with streams cancels all of them when fetch cancels the body", async () => {
    const cancelled: unknown[] = [];
    const endless = (name: string) =>
      new ReadableStream(
        { cancel: (why) => void cancelled.push([name, why]) },
        { highWaterMark: 0 },
      );
    const fetch = async (_url: string, init?: RequestInit) => {
      const reader = (init as { body: ReadableStream }).body.getReader();
      await reader.read();
      void reader.read();
      await reader.cancel("over");
      return Response.json({});
    };
    const call = ownCall({ own: multipart() }, "https://service.example", { fetch });
    await call("own", { body: { a: endless("a"), b: endless("b") } });
    expect(cancelled).toEqual([
      ["a", "over"],
      ["b", "over"],
    ]);
  });
});

function locked(): ReadableStream {
  const stream = new ReadableStream();
  stream.getReader();
  return stream;
}

describe("text and bytes", () => {
  test.each<{ type: string; body: () => unknown; sent: string }>([
    { type: "text/plain", body: () => "ä", sent: "Ã¤" },
    { type: "text/csv", body: () => binary("a,b"), sent: "a,b" },
    { type: "text/plain", body: () => 7, sent: "7" },
    { type: "application/xml", body: () => "<a/>", sent: "<a/>" },
    { type: "application/octet-stream", body: () => binary("b"), sent: "b" },
    { type: "application/octet-stream", body: () => new Uint8Array([0, 255]), sent: "\0ÿ" },
    { type: "application/octet-stream", body: () => new Uint16Array([0x4241]), sent: "AB" },
    {
      type: "application/octet-stream",
      body: () => new DataView(new Uint8Array([65, 66]).buffer, 1),
      sent: "B",
    },
    { type: "application/octet-stream", body: () => new Uint8Array([65]).buffer, sent: "A" },
    { type: "image/png", body: () => new Response("stream").body, sent: "stream" },
    { type: "image/png", body: () => "text", sent: "text" },
  ])("$type is sent as it is, with its type: $sent", async ({ type, body, sent }) => {
    const request = await sentBy({ contentType: type }, { body: body() });
    expect(request.headers["content-type"]).toBe(type);
    expect(request.body).toBe(sent);
  });

  test.each([
    { type: "application/octet-stream", body: { a: 1 } },
    { type: "application/octet-stream", body: [1] },
    { type: "application/octet-stream", body: 7 },
    { type: "application/octet-stream", body: null },
    { type: "application/octet-stream", body: Readable.from(["node"]) },
    { type: "application/octet-stream", body: new Uint8Array(new SharedArrayBuffer(1)) },
    { type: "application/xml", body: { a: 1 } },
    { type: "text/plain", body: { a: 1 } },
    { type: "text/plain", body: new URLSearchParams() },
    { type: "image/png", body: new FormData() },
    { type: "image/png", body: locked() },
    { type: "image/png", body: binary("x", "image/jpeg") },
    { type: "text/plain; charset=iso-8859-1", body: "\u00e9" },
  ])("$type refuses $body", async ({ type, body }) => {
    const error = await refusedBy({ contentType: type }, { body });
    expect(error).toMatchObject({ code: "option_invalid", option: "body" });
  });

  test("a stream is sent once, and is not sent again after a 503", async () => {
    const server = await recordingServer(() => ({ status: 503 }));
    const row = { method: "PUT", contentType: "image/png" };
    const call = ownCall({ own: row }, server.url, { maxRetries: 2 });
    expect(await call("own", { body: new Response("x").body })).toMatchObject({
      status: 503,
      retries: 0,
    });
    expect(server.requests).toHaveLength(1);
  });
});

test("the bytes of a refused body are not listed", async () => {
  const server = await recordingServer(() => ({ status: 403, body: "{}" }));
  const keys = vi.spyOn(Object, "keys");
  onTestFinished(() => keys.mockRestore());
  const call = ownCall({ own: { ...post, contentType: "application/octet-stream" } }, server.url);
  expect(await call("own", { body: new Uint8Array(10_000) })).toMatchObject({ status: 403 });
  const lengths = keys.mock.results.map(({ value }) => value.length);
  expect(Math.max(...lengths)).toBeLessThan(1_000);
});

describe("of several media types", () => {
  const contents = {
    "application/json": {},
    "text/csv": {},
    [formType]: {},
    "multipart/form-data": {},
    "image/*": {},
  };
  const row = { contentType: "application/json", contents };
  const csv = { "content-type": "text/csv" };

  const chosen = (name: string, init: object, type: string | RegExp, body: string | RegExp) => ({
    name,
    init,
    type,
    body,
  });
  test.each([
    chosen("the first is sent by default", { body: { a: 1 } }, "application/json", '{"a":1}'),
    chosen("the header content-type chooses one", { body: "a,b", headers: csv }, "text/csv", "a,b"),
    chosen(
      "its parameters are kept",
      { body: "a", headers: { "content-type": "Text/CSV; header=present" } },
      "Text/CSV; header=present",
      "a",
    ),
    chosen(
      "a form is chosen",
      { body: { a: 1 }, headers: { "content-type": formType } },
      formType,
      "a=1",
    ),
    chosen(
      "params.header may hold it",
      { body: "a", params: { header: { "Content-Type": "text/csv" } } },
      "text/csv",
      "a",
    ),
    chosen("URLSearchParams is a form", { body: new URLSearchParams({ a: "1" }) }, formType, "a=1"),
    chosen(
      "a FormData is multipart",
      { body: new FormData() },
      /^multipart\/form-data; boundary=/,
      /^--/,
    ),
    chosen("a Blob has its own", { body: binary("x", "image/png") }, "image/png", "x"),
    chosen(
      "a range is chosen",
      { body: "x", headers: { "content-type": "image/gif" } },
      "image/gif",
      "x",
    ),
  ])("$name", async ({ init, type, body }) => {
    const request = await sentBy(row, init);
    expect(request.headers["content-type"]).toEqual(
      typeof type === "string" ? type : expect.stringMatching(type),
    );
    expect(request.body).toEqual(typeof body === "string" ? body : expect.stringMatching(body));
  });

  test.each([
    { name: "one that is not documented", row, headers: { "content-type": "text/secret" } },
    {
      name: "text for JSON",
      row: { contentType: "application/json" },
      headers: { "content-type": "text/secret" },
    },
    {
      name: "JSON for a form",
      row: { contentType: formType },
      headers: { "content-type": "application/secret+json" },
    },
    {
      name: "none, where only a range is documented",
      row: { contentType: "image/*", contents: { "image/*": {} } },
      headers: {},
    },
  ])("the header may not hold $name", async ({ row, headers }) => {
    const error = (await refusedBy(row, { body: "x", headers })) as Error;
    expect(error).toMatchObject({ code: "option_invalid", option: "headers" });
    expect(error.message).toMatch(/The document has .*(json|form|image)/);
    expect(error.message).not.toContain("secret");
  });

  test("bytes are application/octet-stream where that is documented", async () => {
    const contents = { "application/json": {}, "application/octet-stream": {} };
    const request = await sentBy(
      { contentType: "application/json", contents },
      { body: new Uint8Array([65]) },
    );
    expect(request).toMatchObject({
      body: "A",
      headers: { "content-type": "application/octet-stream" },
    });
  });

  test("a body that no document describes has the type that the header names", async () => {
    const request = await sentBy({}, { body: "a", headers: csv });
    expect(request).toMatchObject({ body: "a", headers: { "content-type": "text/csv" } });
  });
});

describe("bodySerializer", () => {
  const row = { contentType: "application/xml" };
  const written = (bodySerializer: unknown, init: object = {}) =>
    sentBy(row, { body: { a: 1 }, bodySerializer, ...init });

  test("writes the body, and receives it with the headers", async () => {
    const toXml = (body: { readonly a: number }, headers: Headers) =>
      `<a>${body.a}${headers.get("x-one")}</a>`;
    const request = await written(toXml, { headers: { "x-one": "!" } });
    expect(request).toMatchObject({
      body: "<a>1!</a>",
      headers: { "content-type": "application/xml" },
    });
  });

  test("may write a FormData, whose type is that of fetch", async () => {
    const { headers } = await written(() => new FormData());
    expect(headers["content-type"]).toMatch(/^multipart\/form-data; boundary=/);
  });

  test.each([() => ({ a: 1 }), () => undefined, 7])(
    "that is or returns what fetch cannot send is rejected",
    async (bodySerializer) => {
      const error = await refusedBy(row, { body: {}, bodySerializer });
      expect(error).toMatchObject({ code: "option_invalid", option: "bodySerializer" });
    },
  );
});

test("a GET with a body is rejected, whatever its form", async () => {
  const call: OwnCall = ownCall(
    { own: { method: "GET", contentType: "text/plain" } },
    "https://service.example",
  );
  expect(await rejectionOf(call("own", { body: "x" }))).toMatchObject({
    option: "body",
    message: expect.stringContaining("must not be sent with GET"),
  });
});
