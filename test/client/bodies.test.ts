// Bodies on the wire: each media type that a document names, read by a reader that is not ours.
import { Readable } from "node:stream";
import { Busboy, type BusboyHeaders } from "@fastify/busboy";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { scriptedFetch } from "../support/fetch.js";
import { type RecordedRequest, recordingServer } from "../support/recording-server.js";
import { rejectionOf } from "../support/wait.js";
import { ownCall } from "./own-table.js";

const formType = "application/x-www-form-urlencoded";
const post = { method: "POST" };
const encoded = (contentType: string, encoding: object = {}) => ({
  contentType,
  contents: { [contentType]: encoding },
});
const form = (encoding?: object) => encoded(formType, encoding);
const multipart = (encoding?: object) => ({ ...post, ...encoded("multipart/form-data", encoding) });

/** Sends one body to a real server, and returns the request. */
async function sentBy(row: object, init: object): Promise<RecordedRequest> {
  const server = await recordingServer(() => ({ status: 200, body: "{}" }));
  const outcome = await ownCall({ own: { ...post, ...row } }, server.url)("own", init);
  expect(outcome).toMatchObject({ ok: true });
  const [request, ...others] = server.requests;
  if (request === undefined || others.length > 0) throw new Error("not one request");
  return request;
}

/** Rejects, and sends nothing. */
async function refusedBy(row: object, init: object): Promise<unknown> {
  const fetch = scriptedFetch(() => Response.json({}));
  const call = ownCall({ own: { ...post, ...row } }, "https://service.example", { fetch });
  const error = await rejectionOf(call("own", init));
  expect(fetch.calls).toEqual([]);
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

const binary = (content: string, type = "") => new Blob([content], { type });
const bytesType = "application/octet-stream";

function locked(): ReadableStream {
  const stream = new ReadableStream();
  stream.getReader();
  return stream;
}

test.each([
  { contentType: "application/json; charset=utf-8", sent: "application/json; charset=utf-8" },
  { contentType: "application/merge-patch+json", sent: "application/merge-patch+json" },
  { contentType: undefined, sent: "application/json" },
  { contentType: "application/json", contents: { "*/*": {} }, sent: "application/json" },
])("a body of $contentType is written as JSON, with that type", async ({ sent, ...row }) => {
  const { headers, body } = await sentBy(row, { body: { a: null } });
  expect(headers).toMatchObject({ "content-type": sent, "content-length": "10" });
  expect(body).toBe('{"a":null}');
});

/** What JSON.stringify would write as `{}`, as `null` or as an object of what the class holds. */
test.each<{ name: string; value: () => unknown; isPart?: boolean }>([
  { name: "a Buffer, which has a toJSON,", value: () => Buffer.from("bytes"), isPart: true },
  { name: "a Map", value: () => new Map([["a", 1]]) },
  { name: "an iterator", value: () => [].values() },
  { name: "an error", value: () => new Error("m") },
  { name: "a promise", value: () => Promise.resolve({ a: 1 }) },
  { name: "a stream of Node", value: () => Readable.from(["a"]) },
  { name: "NaN", value: () => Number.NaN },
  { name: "an invalid date", value: () => new Date(Number.NaN) },
])(
  "$name is rejected as a body, in one, as a member of a form and, unless it can be one, as a part",
  async ({ value, isPart }) => {
    for (const body of [value(), { m: value() }, [{ m: [value()] }]]) {
      const error = await refusedBy({ contentType: "application/json" }, { body });
      expect(error).toMatchObject({ code: "option_invalid", option: "body" });
    }
    const refused = { code: "option_invalid", option: "body.m" };
    for (const row of isPart ? [form()] : [form(), multipart()])
      for (const body of [{ m: value() }, { m: [value()] }])
        expect(await refusedBy(row, { body })).toMatchObject(refused);
  },
);

test.each([
  { name: "undefined", list: [undefined] },
  { name: "a hole", list: Array(1) },
  { name: "a function", list: [() => 1] },
  { name: "a symbol", list: [Symbol("s")] },
])("$name in a list of JSON is rejected, where JSON.stringify writes null", async ({ list }) => {
  for (const body of [list, { m: [list] }]) {
    const error = await refusedBy({ contentType: "application/json" }, { body });
    expect(error).toMatchObject({ code: "option_invalid", option: "body" });
  }
  const { body } = await sentBy({}, { body: { a: [1], m: list[0] } });
  expect(body).toBe('{"a":[1]}');
});

test.each([
  { contentType: "text/plain", body: "a\ud800" },
  { contentType: formType, body: { m: "a\ud800" } },
  { contentType: formType, body: { "\udc00": "a" } },
  { contentType: "multipart/form-data", body: { m: "\ud800\ud800" } },
])("half a surrogate pair is rejected in $contentType: $body", async ({ contentType, body }) => {
  const error = await refusedBy({ contentType }, { body });
  const message = expect.stringContaining("half a surrogate pair");
  expect(error).toMatchObject({ code: "option_invalid", message });
});

describe("a form", () => {
  const body = {
    a: "b c",
    list: [1, "2"],
    object: { x: "y" },
    none: null,
    when: new Date(0),
    big: 2n ** 60n,
    "\u{1f600}": "\ufffd",
  };

  test("repeats lists, and writes objects as JSON", async () => {
    const request = await sentBy(form(), { body });
    expect(request.headers["content-type"]).toBe(formType);
    expect([...new URLSearchParams(request.body)]).toEqual([
      ["a", "b c"],
      ["list", "1"],
      ["list", "2"],
      ["object", '{"x":"y"}'],
      ["when", "1970-01-01T00:00:00.000Z"],
      ["big", String(2n ** 60n)],
      ["\u{1f600}", "\ufffd"],
    ]);
  });

  test("is written as the example of the specification", async () => {
    const id = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6";
    const street = { streetAddress: "123 Example Dr.", city: "Somewhere" };
    const address = { ...street, state: "CA", zip: "99999+1234" };
    const example =
      "id=f81d4fae-7dec-11d0-a765-00a0c91e6bf6&address=%7B%22streetAddress%22:%22123+Example+Dr.%22,%22city%22:%22Somewhere%22,%22state%22:%22CA%22,%22zip%22:%2299999%2B1234%22%7D";
    const request = await sentBy(form(), { body: { id, address } });
    // The example leaves colons and commas, which the standard of forms encodes.
    expect(request.body.replaceAll("%3A", ":").replaceAll("%2C", ",")).toBe(example);
  });

  test.each<[encoding: object, value: unknown, sent: string]>([
    [{ style: "form" }, ["a", "b c"], "m=a&m=b%20c"],
    [{ style: "form", explode: false }, { x: 1, y: 2 }, "m=x,1,y,2"],
    [{ style: "deepObject", explode: true }, { x: 1 }, "m%5Bx%5D=1"],
    [{ style: "pipeDelimited" }, ["a", "b"], "m=a%7Cb"],
    [{ allowReserved: true }, "a/b", "m=a/b"],
    [{ contentType: "application/json" }, "a", "m=%22a%22"],
    [{ contentType: "application/json" }, ["a", 1], "m=%5B%22a%22%2C1%5D"],
    [{ contentType: "application/json" }, undefined, ""],
    [{ style: "form" }, undefined, ""],
    [{ contentType: "text/plain" }, "a b", "m=a+b"],
  ])("with the encoding %j writes %j as %s", async (encoding, m, sent) => {
    expect((await sentBy(form({ m: encoding }), { body: { m } })).body).toBe(sent);
  });

  test("that is text or URLSearchParams is sent as it is", async () => {
    for (const body of ["a=1&b=%20", new URLSearchParams({ a: "1", b: " " })]) {
      const request = await sentBy(form(), { body });
      expect(Object.fromEntries(new URLSearchParams(request.body))).toEqual({ a: "1", b: " " });
      expect(request.headers["content-type"]).toBe(formType);
    }
  });

  test.each([
    { name: "a list", body: ["a"], option: "body" },
    { name: "bytes", body: new Uint8Array(1), option: "body" },
    { name: "a Map", body: new Map(), option: "body" },
    { name: "null", body: null, option: "body" },
    { name: "a Blob in a member", body: { a: new Blob() }, option: "body.a" },
    { name: "a function in a member", body: { a: () => {} }, option: "body.a" },
    { name: "nested objects in a style", body: { styled: { a: {} } }, option: "body.styled" },
    { name: "an object in a member of XML", body: { xml: { a: 1 } }, option: "body.xml" },
  ])("that is or holds $name is rejected", async ({ body, option }) => {
    const row = form({ styled: { style: "form" }, xml: { contentType: "text/xml" } });
    expect(await refusedBy(row, { body })).toMatchObject({ code: "option_invalid", option });
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
      several: [Buffer.from("of Node"), binary("1")],
      stream: new Response("streamed").body,
      object: { a: ["ä"] },
      tags: ["x", "y"],
      objects: [{ a: 1 }, { b: 2 }],
      empty: [],
      '"\r\nX-Own: b': "a name that cannot end its header",
    };
    const request = await sentBy(multipart(), { body });
    expect(request.headers["content-type"]).toMatch(
      /^multipart\/form-data; boundary=[\w-]{16,70}$/,
    );
    const [text, json] = ["text/plain", "application/json"];
    expect(await partsOf(request)).toEqual([
      { name: "text", text: "ä\r\nb", type: text },
      { name: "number", text: "7", type: text },
      { name: "when", text: "1970-01-01T00:00:00.000Z", type: text },
      { name: "file", text: "content", type: "text/csv", fileName: "na%22me%0D%0A ä.txt" },
      { name: "blob", text: "png", type: "image/png", fileName: "blob" },
      { name: "bytes", text: "\u0001\u0002", type: bytesType, fileName: "blob" },
      { name: "buffer", text: "\u0003", type: bytesType, fileName: "blob" },
      { name: "several", text: "of Node", type: bytesType, fileName: "blob" },
      { name: "several", text: "1", type: bytesType, fileName: "blob" },
      { name: "stream", text: "streamed", type: bytesType, fileName: "blob" },
      { name: "object", text: '{"a":["ä"]}', type: json },
      { name: "tags", text: "x", type: text },
      { name: "tags", text: "y", type: text },
      { name: "objects", text: '{"a":1}', type: json },
      { name: "objects", text: '{"b":2}', type: json },
      { name: "%22%0D%0AX-Own: b", text: "a name that cannot end its header", type: text },
    ]);
    // A reader gives a part without a type text/plain, so what was sent is looked at too.
    expect(request.body).toContain('Content-Disposition: form-data; name="number"\r\n\r\n7\r\n');
    expect(request.body).toContain('name="object"\r\nContent-Type: application/json\r\n\r\n{"a"');
  });

  const related = 'multipart/related; type="application/json"';
  test.each([
    { name: "of the document", row: encoded(related), headers: {} },
    {
      name: "of the header content-type, but not its boundary",
      row: encoded("multipart/related"),
      headers: { "content-type": `multipart/related; boundary="a b"; type="application/json"` },
    },
  ])("keeps the parameters $name", async ({ row, headers }) => {
    const request = await sentBy(row, { body: { a: { b: 1 } }, headers });
    const [, boundary] = /^--([\w-]+)\r\n/.exec(request.body) ?? [];
    expect(request.headers["content-type"]).toBe(`${related}; boundary=${boundary}`);
  });

  test("has its length, unless a stream is in it, and the reader of undici reads it too", async () => {
    const body = { a: "1", file: binary("x".repeat(70_000)) };
    const { headers, body: sent } = await sentBy(multipart(), { body });
    expect(headers["content-length"]).toBe(String(sent.length));
    const read = await new Response(sent, { headers }).formData();
    expect(read.get("a")).toBe("1");
    expect((read.get("file") as File).size).toBe(70_000);
    const streamed = await sentBy(multipart(), { body: { stream: new Response("x").body } });
    expect(streamed.headers).toMatchObject({ "transfer-encoding": "chunked" });
  });

  const file = (text: string, type: string) => [{ text, type, fileName: "blob" }];
  const [anyImage, pngOrBytes] = ["image/*", "image/png, application/octet-stream"];
  test.each<[encoding: object, value: unknown, parts: object[]]>([
    [{ contentType: "application/json" }, "a", [{ text: '"a"', type: "application/json" }]],
    [{ contentType: "image/png" }, "iVBORw0KGgo=", [{ text: "iVBORw0KGgo=", type: "image/png" }]],
    [{ contentType: "image/svg+xml" }, "<a/>", [{ text: "<a/>", type: "image/svg+xml" }]],
    [{ contentType: "text/xml" }, "<a/>", [{ text: "<a/>", type: "text/xml" }]],
    [{ contentType: "a/vnd.x+json" }, { a: 1 }, [{ text: '{"a":1}', type: "a/vnd.x+json" }]],
    [{ contentType: "image/png, image/jpeg" }, binary("j", "image/jpeg"), file("j", "image/jpeg")],
    [{ contentType: anyImage }, binary("g", "image/gif"), file("g", "image/gif")],
    [{ contentType: "image/png" }, new Uint8Array([65]), file("A", "image/png")],
    [{ contentType: pngOrBytes }, new Uint8Array([65]), file("A", bytesType)],
    [{ contentType: "image/png, */*" }, binary("A"), file("A", bytesType)],
    [{ contentType: "image/*, text/csv" }, "a", [{ text: "a", type: "text/csv" }]],
    [{ contentType: "text/*" }, "a", [{ text: "a", type: "text/plain" }]],
    [{ contentType: "*/*" }, { a: 1 }, [{ text: '{"a":1}', type: "application/json" }]],
    [{ style: "form" }, ["a&", "b%"], [{ text: "a&" }, { text: "b%" }]],
    [{ style: "form", explode: false }, ["a", "b"], [{ text: "a,b" }]],
    [{ style: "deepObject", explode: true }, { x: "ä+" }, [{ name: "m[x]", text: "ä+" }]],
    [{ style: "form", allowReserved: true }, "a%20b", [{ text: "a%20b" }]],
    [{ style: "form" }, binary("file"), file("file", bytesType)],
  ])("with the encoding %j writes %o as its parts", async (encoding, m, expected) => {
    const parts = await partsOf(await sentBy(multipart({ m: encoding }), { body: { m } }));
    expect(parts).toEqual(expected.map((part) => ({ name: "m", type: "text/plain", ...part })));
  });

  const notRead = "must be a stream that is not read elsewhere";
  test.each([
    { m: binary("", "text/html"), contentType: "image/png", says: "media type image/png" },
    { m: new Uint8Array(1), contentType: "image/png, image/jpeg", says: "a Blob with" },
    {
      m: "./a.jpg",
      contentType: "image/jpeg, image/png",
      says: "of the media type image/jpeg or image/png. Pass a Blob",
    },
    {
      m: "%PDF-1.7",
      contentType: "application/pdf",
      says: "type application/pdf. Pass a Blob",
    },
    { m: "a", contentType: "image/*", says: "type image/*. Pass a Blob" },
    { m: {}, contentType: "text/xml", says: "must be text, bytes" },
    { m: () => {}, says: "must be text, bytes" },
    { m: { a: 1n }, says: "must be JSON" },
    { m: locked(), says: notRead },
    { m: { a: {} }, style: "deepObject", says: "deepObject nests no lists or objects." },
  ])("is rejected with $m for $contentType: $says", async ({ m, says, ...encoding }) => {
    const error = await refusedBy(multipart({ m: encoding }), { body: { m } });
    const message = expect.stringContaining(says);
    expect(error).toMatchObject({ code: "option_invalid", option: "body.m", message });
  });

  test("that is a FormData is sent as fetch sends it, also with a header content-type without a boundary", async () => {
    const body = new FormData();
    body.set("a", "1");
    body.set("file", binary("x", "image/png"), "x.png");
    for (const headers of [{}, { "content-type": "multipart/form-data" }]) {
      const row = multipart({ m: { contentType: "text/csv" } });
      expect(await partsOf(await sentBy(row, { body, headers }))).toEqual([
        { name: "a", text: "1", type: "text/plain" },
        { name: "file", text: "x", type: "image/png", fileName: "x.png" },
      ]);
    }
  });

  test("that the caller has written needs the boundary in the header content-type", async () => {
    const body = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b--\r\n';
    const headers = { "content-type": "multipart/form-data; boundary=b" };
    const sent = await sentBy(multipart(), { body, headers });
    expect(await partsOf(sent)).toMatchObject([{ name: "a", text: "1" }]);
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
    const cancels = [vi.fn(), vi.fn()];
    const [a, b] = cancels.map((cancel) => new ReadableStream({ cancel }, { highWaterMark: 0 }));
    const fetch = async (_url: string, init?: RequestInit) => {
      const reader = (init as { body: ReadableStream }).body.getReader();
      await reader.read();
      void reader.read();
      await reader.cancel("over");
      return Response.json({});
    };
    const call = ownCall({ own: multipart() }, "https://service.example", { fetch });
    await call("own", { body: { a, b } });
    for (const cancel of cancels) expect(cancel.mock.calls).toEqual([["over"]]);
  });
});

describe("text and bytes", () => {
  test.each<{ type: string; body: () => unknown; sent: string }>([
    { type: "text/plain", body: () => "ä", sent: "Ã¤" },
    { type: "text/csv", body: () => binary("a,b"), sent: "a,b" },
    { type: "text/plain", body: () => 7, sent: "7" },
    { type: "application/xml", body: () => "<a/>", sent: "<a/>" },
    { type: bytesType, body: () => binary("b"), sent: "b" },
    { type: bytesType, body: () => new Uint16Array([0x4241, 0xff00]), sent: "AB\0ÿ" },
    { type: bytesType, body: () => new DataView(new Uint8Array([65, 66]).buffer, 1), sent: "B" },
    { type: bytesType, body: () => new Uint8Array([65]).buffer, sent: "A" },
    { type: "image/png", body: () => new Response("stream").body, sent: "stream" },
    { type: "image/png", body: () => "text", sent: "text" },
  ])("$type is sent as it is, with its type: $sent", async ({ type, body, sent }) => {
    const request = await sentBy({ contentType: type }, { body: body() });
    expect(request.headers["content-type"]).toBe(type);
    expect(request.body).toBe(sent);
  });

  test.each([
    { type: bytesType, body: { a: 1 } },
    { type: bytesType, body: 7 },
    { type: bytesType, body: null },
    { type: bytesType, body: Readable.from(["node"]) },
    { type: bytesType, body: new Uint8Array(new SharedArrayBuffer(1)) },
    { type: "application/xml", body: { a: 1 } },
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
    const outcome = await call("own", { body: new Response("x").body });
    expect(outcome).toMatchObject({ status: 503, retries: 0 });
    expect(server.requests).toHaveLength(1);
  });
});

test("the bytes of a refused body are not listed", async () => {
  const fetch = scriptedFetch(() => Response.json({}, { status: 403 }));
  const keys = vi.spyOn(Object, "keys");
  onTestFinished(() => keys.mockRestore());
  const row = { ...post, contentType: bytesType };
  const call = ownCall({ own: row }, "https://service.example", { fetch });
  expect(await call("own", { body: new Uint8Array(10_000) })).toMatchObject({ status: 403 });
  const lengths = keys.mock.results.map(({ value }) => value.length);
  expect(Math.max(...lengths)).toBeLessThan(1_000);
});

describe("of several media types", () => {
  const names = ["application/json", "text/csv", formType, "multipart/form-data", "image/*"];
  const contents = Object.fromEntries(names.map((name) => [name, {}]));
  const row = { contentType: "application/json", contents };
  const typed = (type: string) => ({ "content-type": type });
  const csv = typed("text/csv");
  const withHeader = typed("Text/CSV; header=present");
  const ofForm = /^multipart\/form-data; boundary=/;

  test.each([
    { name: "the first is usual", init: { body: [] }, type: "application/json", sent: "[]" },
    { name: "the header chooses", init: { body: "a,b", headers: csv }, type: "text/csv" },
    { name: "parameters are kept", init: { body: "a", headers: withHeader }, type: /^T.*present$/ },
    { name: "a form is chosen", init: { body: { a: 1 }, headers: typed(formType) }, sent: "a=1" },
    {
      name: "params.header may hold it",
      init: { body: "a", params: { header: { "Content-Type": "text/csv" } } },
      type: "text/csv",
    },
    {
      name: "URLSearchParams is a form",
      init: { body: new URLSearchParams("a=1") },
      type: formType,
      sent: "a=1",
    },
    { name: "a FormData is multipart", init: { body: new FormData() }, type: ofForm, sent: /^--/ },
    { name: "a Blob has its own", init: { body: binary("x", "image/png") }, type: "image/png" },
    { name: "a range is chosen", init: { body: "x", headers: typed("image/gif") }, sent: "x" },
  ])("$name", async ({ init, type = /./, sent = /./ }) => {
    const request = await sentBy(row, init);
    expect(request.headers["content-type"]).toMatch(type);
    expect(request.body).toMatch(sent);
  });

  test.each([
    { name: "one that is not documented", row, headers: typed("text/secret") },
    { name: "text for JSON", row: {}, headers: typed("text/secret") },
    { name: "JSON for a form", row: form(), headers: typed("application/secret+json") },
    { name: "none, for a range", row: { contentType: "image/*" }, headers: {} },
  ])("the header may not hold $name", async ({ row, headers }) => {
    const documented = { contentType: "application/json", ...row };
    const error = (await refusedBy(documented, { body: "x", headers })) as Error;
    expect(error).toMatchObject({ code: "option_invalid", option: "headers" });
    expect(error.message).toMatch(/The document has .*(json|form|image)/);
    expect(error.message).not.toContain("secret");
  });

  test.each([
    { contentType: "application/json", header: "application/json; profile=x", body: [] },
    { contentType: undefined, header: "text/csv", body: "a" },
  ])("the header $header is kept for $contentType", async ({ contentType, header, body }) => {
    const { headers } = await sentBy({ contentType }, { body, headers: typed(header) });
    expect(headers["content-type"]).toBe(header);
  });

  test("bytes are application/octet-stream where that is documented", async () => {
    const contents = { "application/json": {}, [bytesType]: {} };
    const request = await sentBy({ ...row, contents }, { body: new Uint8Array([65]) });
    expect(request).toMatchObject({ body: "A", headers: typed(bytesType) });
  });
});

describe("bodySerializer", () => {
  const row = { contentType: "application/xml" };

  test("writes the body, and receives it with the headers", async () => {
    const bodySerializer = (body: { readonly a: number }, headers: Headers) =>
      `<a>${body.a}${headers.get("x-one")}</a>`;
    const headers = { "x-one": "!" };
    const request = await sentBy(row, { body: { a: 1 }, bodySerializer, headers });
    expect(request).toMatchObject({ body: "<a>1!</a>" });
    expect(request.headers["content-type"]).toBe("application/xml");
  });

  test("may write a FormData, whose type is that of fetch", async () => {
    const { headers } = await sentBy(row, { body: {}, bodySerializer: () => new FormData() });
    expect(headers["content-type"]).toMatch(/^multipart\/form-data; boundary=/);
  });

  test.each([() => ({ a: 1 }), 7])(
    "that is or returns what fetch cannot send is rejected",
    async (bodySerializer) => {
      const error = await refusedBy(row, { body: {}, bodySerializer });
      expect(error).toMatchObject({ code: "option_invalid", option: "bodySerializer" });
    },
  );
});

test("a GET with a body is rejected, whatever its form", async () => {
  const error = await refusedBy({ method: "GET", contentType: "text/plain" }, { body: "x" });
  const message = expect.stringContaining("must not be sent with GET");
  expect(error).toMatchObject({ option: "body", message });
});
