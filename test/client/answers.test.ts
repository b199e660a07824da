// Answers: read by their media type, held against the documented ones, and streams as they arrive.
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { describe, expect, test, vi } from "vitest";
import type { Intercept, ServerSentEvent } from "../../src/index.js";
import { scriptedFetch } from "../support/fetch.js";
import { recordingServer, type Script } from "../support/recording-server.js";
import { rejectionOf, settle } from "../support/wait.js";
import { type Outcome, ownCall } from "./own-table.js";

const base = "https://service.example";
const answers = (...types: string[]) => ({ answers: { 200: types } });
const page = "<!doctype html><title>planted</title>";
const json = "application/json";
const vendor = "application/vnd.x+json";
const csv = "text/csv";
const text = "text/plain";
const png = "image/png";
const bytes = "application/octet-stream";

interface Answer {
  readonly status?: number;
  readonly type?: string | undefined;
  readonly body?: string | Buffer | null;
}

/** Calls a fetch that gives this answer, with the type and the bytes as they are. */
function answered(
  row: object,
  { status = 200, type, body = "" }: Answer,
  init: object = {},
  options: object = {},
): Promise<Outcome> {
  const content = body === null ? null : Buffer.from(body);
  const headers = type === undefined ? {} : { "content-type": type };
  const fetch = async () => new Response(content, { status, headers });
  return ownCall({ own: row }, base, { fetch, ...options })("own", init);
}

/** Data as it is; of a Blob its type and text, of bytes their text. */
async function shown(data: unknown): Promise<unknown> {
  if (data instanceof Blob) return { blob: data.type, text: await data.text() };
  return data instanceof ArrayBuffer ? Buffer.from(data).toString() : data;
}

describe("a success", () => {
  test.each([
    { documented: [json, csv], type: `${json}; charset=utf-8`, data: 7 },
    { documented: [json, csv], type: "Text/CSV", data: "7" },
    { documented: [vendor], type: json, data: 7 },
    { documented: [text], type: json, data: "7" },
    { documented: ["text/*"], type: "text/markdown", data: "7" },
    { documented: ["application/xml"], type: "text/xml", data: "7" },
    { documented: ["image/svg+xml"], type: "image/svg+xml", data: "7" },
    { documented: ["text/html"], type: "text/html", data: "7" },
    { documented: ["*/*"], type: json, data: 7 },
    { documented: ["*/*"], type: "text/html", data: "7" },
    { documented: [text], type: undefined, data: "7" },
    { documented: [text, json], type: undefined, data: 7 },
    { documented: ["image/*"], type: "image/gif", data: { blob: "image/gif", text: "7" } },
    { documented: [bytes], type: text, data: { blob: text, text: "7" } },
    { documented: [bytes], type: undefined, data: { blob: "", text: "7" } },
    { documented: ["*/*"], type: bytes, data: { blob: bytes, text: "7" } },
  ])("documented as $documented that comes as $type is $data", async (row) => {
    const { data } = await answered(answers(...row.documented), { type: row.type, body: "7" });
    expect(await shown(data)).toEqual(row.data);
  });

  test.each([
    { documented: [], type: "text/html", code: "response_not_json" },
    { documented: [vendor], type: "text/html", code: "response_not_json" },
    { documented: [vendor], type: json, code: "response_not_json" },
    { documented: [json, csv], type: "text/html", code: "response_media_type" },
    { documented: [png], type: "application/xhtml+xml", code: "response_media_type" },
    { documented: [text], type: "text/html; charset=utf-8", code: "response_media_type" },
    { documented: [text], type: png, code: "response_media_type" },
    { documented: ["text/event-stream"], type: json, code: "response_media_type" },
    { documented: [json, png], type: csv, code: "response_media_type" },
  ])("documented as $documented that comes as $type is $code", async (row) => {
    const { documented, type, code } = row;
    const documents = documented.length === 0 ? {} : answers(...documented);
    const error = (await rejectionOf(answered(documents, { type, body: page }))) as Error;
    expect(error).toMatchObject({ name: "UnexpectedResponseError", code, status: 200 });
    expect(error.message).not.toContain("planted");
    if (code === "response_media_type") expect(error.message).toContain(documented.join(", "));
  });

  test.each([
    { type: json, says: "answered 200 with malformed JSON. Read it" },
    { type: undefined, says: "answered 200 without JSON. Check baseUrl and any proxy." },
  ])("that comes as $type and is not JSON says so", async ({ type, says }) => {
    for (const maxResponseBytes of [undefined, 99]) {
      const reading = answered({}, { type, body: '{"a":' }, { maxResponseBytes });
      const message = expect.stringContaining(says);
      expect(await rejectionOf(reading)).toMatchObject({ code: "response_not_json", message });
    }
  });

  test.each([text, "text/html"])(
    "of JSON is not read as the %s of other statuses",
    async (type) => {
      const reading = answered({ answers: { default: [type] } }, { type, body: page });
      expect(await rejectionOf(reading)).toMatchObject({ code: "response_not_json" });
    },
  );

  const created = { success: [200, 201], answers: { 201: [csv] } };
  const shared = { success: [200, 206], answers: { "2XX": [csv] } };
  const any = { success: [], failure: [404] };
  test.each([
    { row: created, status: 200, type: json, data: 7 },
    { row: created, status: 201, type: csv, data: "7" },
    { row: shared, status: 206, type: csv, data: "7" },
    { row: shared, status: 200, type: json, data: 7 },
    { row: { success: [], answers: { default: [csv] } }, status: 202, type: csv, data: "7" },
    { row: any, status: 202, type: json, data: 7 },
    { row: any, status: 200, type: "text/html", data: "7" },
  ])("$status of $row is read as documented for that status", async ({ row, data, ...answer }) => {
    const outcome = await answered(row, { ...answer, body: "7" });
    expect(outcome).toMatchObject({ ok: true, status: answer.status, data });
  });

  test.each([
    { name: "Latin-1", type: 'text/plain; charset="ISO-8859-1"', body: [0xe4], data: "ä" },
    { name: "UTF-16", type: "text/plain;charset=utf-16le", body: [0xe4, 0], data: "ä" },
    { name: "a byte order mark", type: text, body: [0xef, 0xbb, 0xbf, 0x61], data: "a" },
    { name: "bytes that are not UTF-8", type: text, body: [0xff], data: "\ufffd" },
  ])("of text in $name is decoded", async ({ type, body, data }) => {
    const answer = { type, body: Buffer.from(body) };
    expect(await answered(answers(text), answer)).toMatchObject({ data });
  });

  test("of text in an unknown charset is response_media_type, and can be read as bytes", async () => {
    const answer = { type: "text/plain; charset=x-made-up", body: "a" };
    const failed = { code: "response_media_type" };
    expect(await rejectionOf(answered(answers(text), answer))).toMatchObject(failed);
    const { data } = await answered(answers(text), answer, { parseAs: "arrayBuffer" });
    expect(await shown(data)).toBe("a");
  });

  test("of JSON with a byte order mark, or that names a charset, is read as UTF-8", async () => {
    const answer = { type: "application/json; charset=iso-8859-1", body: '\ufeff"ä"' };
    for (const row of [{}, answers(json, csv)])
      expect(await answered(row, answer)).toMatchObject({ data: "ä" });
  });

  test.each([
    { name: "empty JSON", type: vendor, body: "", data: undefined },
    { name: "an empty text", type: text, body: "", data: "" },
    { name: "an empty file", type: png, body: "", data: { blob: png, text: "" } },
    { name: "no body, as of a 204 or for a HEAD", type: png, body: null, data: undefined },
  ])("with $name has the data $data, with maxResponseBytes too", async ({ data, ...answer }) => {
    const outcome = await answered(answers(answer.type), answer, { maxResponseBytes: 9 });
    expect(await shown(outcome.data)).toEqual(data);
  });
});

describe("parseAs", () => {
  const undocumented = { type: "text/html", body: "[7]" };

  test.each([
    { parseAs: "json", data: [7] },
    { parseAs: "text", data: "[7]" },
    { parseAs: "blob", data: { blob: "text/html", text: "[7]" } },
    { parseAs: "arrayBuffer", data: "[7]" },
  ])("$parseAs reads any media type", async ({ parseAs, data }) => {
    for (const row of [{}, answers(png)])
      expect(await shown((await answered(row, undocumented, { parseAs })).data)).toEqual(data);
  });

  test("stream returns the body, or undefined if the answer has no body", async () => {
    const stream = { parseAs: "stream" };
    const { data } = await answered({}, undocumented, stream);
    expect(await new Response(data as ReadableStream).text()).toBe("[7]");
    expect((await answered({}, { body: null }, stream)).data).toBe(undefined);
  });

  test("json of what is not JSON is response_not_json, and of an empty body undefined", async () => {
    const init = { parseAs: "json" };
    const reading = answered({}, { type: "text/html", body: page }, init);
    expect(await rejectionOf(reading)).toMatchObject({ code: "response_not_json" });
    expect((await answered({}, {}, init)).data).toBe(undefined);
  });

  test("is for successes: an error is read as documented", async () => {
    const answer = { ...undocumented, status: 404 };
    const outcome = await answered({ failure: [404] }, answer, { parseAs: "stream" });
    expect(outcome).toMatchObject({ ok: false, error: { body: [7] } });
  });
});

test.each([
  { name: "of an unexpected media type", type: "text/html", code: "response_media_type" },
  { name: "in an unknown charset", type: "text/csv;charset=x", code: "response_media_type" },
  { name: "of a redirect that is refused", status: 302, code: "response_redirected" },
  { name: "that intercept fails after", intercept: true, code: "network_failed" },
  { name: "that announces too many bytes", length: "9", code: "response_too_large" },
])("a body $name is cancelled, so that its connection is free", async (row) => {
  const cancel = vi.fn();
  const { status = 200, type = csv, length = "8" } = row;
  const answer = { status, headers: { "content-type": type, "content-length": length } };
  const fetch = scriptedFetch(() => new Response(new ReadableStream({ cancel }), answer));
  const intercept: Intercept = (_request, send) => send().then(() => Promise.reject(new Error()));
  const options = row.intercept ? { fetch, intercept } : { fetch };
  const call = ownCall({ own: answers(csv) }, base, { ...options, maxResponseBytes: 8 });
  expect(await rejectionOf(call("own", { redirect: "error" }))).toMatchObject({ code: row.code });
  expect(cancel).toHaveBeenCalledOnce();
});

test("the body of a refusal that announces too many bytes is cancelled too", async () => {
  const cancel = vi.fn();
  const headers = { "content-type": csv, "content-length": String(tooLarge.length) };
  const body = () => new ReadableStream({ cancel });
  const fetch = scriptedFetch(() => new Response(body(), { status: 404, headers }));
  const own = { failure: [404], answers: { 404: [csv] } };
  const outcome = await ownCall({ own }, base, { fetch })("own");
  expect(outcome).toMatchObject({ ok: false, error: { status: 404, body: undefined } });
  expect(cancel).toHaveBeenCalledOnce();
});

test.each([302, 200])("a %d after an abort that the fetch ignored is dropped", async (status) => {
  const cancel = vi.fn();
  const aborts = new AbortController();
  const fetch = scriptedFetch(() => {
    aborts.abort(new Error("enough"));
    const answer = { status, headers: { location: "/v1/other" } };
    return new Response(new ReadableStream({ cancel }), answer);
  });
  const call = ownCall({ own: {} }, base, { fetch });
  const { signal } = aborts;
  expect(await rejectionOf(call("own", { signal }))).toMatchObject({ message: "enough" });
  await settle();
  expect(fetch.calls).toHaveLength(1);
  expect(cancel).toHaveBeenCalledOnce();
});

test.each([
  { row: {}, accept: json },
  { row: { failure: [400], answers: { 400: [png] } }, accept: json },
  { row: answers(csv, json), accept: `${csv};q=0.9, ${json}` },
  { row: answers(vendor, csv), accept: `${vendor}, ${csv};q=0.9, ${json};q=0.5` },
  { row: answers(csv, text), accept: `${csv}, ${text}, ${json};q=0.5` },
  { row: { success: [200, 204], ...answers(png) }, accept: `${png}, ${json};q=0.5` },
  { row: { success: [200, 202], answers: { 202: [csv] } }, accept: `${json}, ${csv};q=0.9` },
  {
    row: { answers: { 200: [csv], default: ["application/problem+xml"] } },
    accept: `${csv}, ${json};q=0.5, application/problem+xml;q=0.5`,
  },
  { row: { success: [200, 206], answers: { "2XX": [csv] } }, accept: `${csv}, ${json};q=0.5` },
  { row: { success: [] }, accept: `${json}, */*;q=0.9` },
])("the header accept of $row is $accept, also with parseAs", async ({ row, accept }) => {
  const fetch = scriptedFetch(() => new Response(null, { status: 204 }));
  const call = ownCall({ own: row }, base, { fetch });
  await call("own");
  await call("own", { parseAs: "blob" });
  await call("own", { headers: { accept: "own/type" } });
  const sent = fetch.calls.map(({ headers }) => headers.get("accept"));
  expect(sent).toEqual([accept, accept, "own/type"]);
});

const tooLarge = "x".repeat(1024 * 1024 + 1);
const of404 = (type: string) => ({ answers: { 404: [type] } });
test.each([
  { row: of404("application/xml"), type: "application/problem+json", body: "[7]", error: [7] },
  { row: of404("application/xml"), type: "application/xml", body: "<a/>", error: "<a/>" },
  { row: of404(png), type: png, body: "x", error: { blob: png, text: "x" } },
  { row: { answers: { "4XX": [csv] } }, type: csv, body: "7", error: "7" },
  { row: { answers: { default: [csv] } }, type: csv, body: "7", error: "7" },
  { row: answers(csv), type: text, body: "7", error: 7 },
  { row: { success: [] }, type: text, body: "7", error: 7 },
  { row: answers(csv), type: "text/html", body: page, error: page },
  { row: of404(csv), type: `${csv}; charset=latin1`, body: Buffer.from([0xe4]), error: "ä" },
  { row: of404(csv), type: csv, body: "", error: undefined },
  { row: of404(png), type: png, body: "", error: undefined },
  { row: answers(png), type: json, body: tooLarge, error: undefined },
  { row: of404(png), type: png, body: tooLarge, error: undefined },
])("an error of $type has the body $error", async ({ row, type, body, error }) => {
  const outcome = await answered({ failure: [404], ...row }, { status: 404, type, body });
  expect(outcome).toMatchObject({ ok: false, error: { code: "api_refused" } });
  expect(await shown(outcome.error?.body)).toEqual(error);
});

describe("maxResponseBytes", () => {
  const chunked = (response: ServerResponse) => {
    response.writeHead(200, { "content-type": text });
    response.write("12345");
    response.end("6789");
  };
  const sized = (response: ServerResponse) => {
    response.writeHead(200, { "content-type": text, "content-length": 9 });
    response.end("123456789");
  };

  test.each([
    ...["json", "text", "blob", "arrayBuffer"].map((parseAs) => ({
      name: `parseAs: "${parseAs}"`,
      row: {},
      init: { parseAs },
    })),
    { name: "a documented text", row: answers(text), init: {} },
    { name: "a documented file", row: answers(bytes), init: {} },
  ])("limits $name by call and by service, with and without a length", async ({ row, init }) => {
    for (const script of [chunked, sized]) {
      const { url } = await recordingServer(() => script);
      const limited = ownCall({ own: row }, url, { maxResponseBytes: 8 });
      const unlimited = ownCall({ own: row }, url);
      const byCall = () => unlimited("own", { ...init, maxResponseBytes: 8 });
      for (const call of [() => limited("own", init), byCall])
        expect(await rejectionOf(call())).toMatchObject({
          name: "UnexpectedResponseError",
          code: "response_too_large",
          message: expect.stringContaining("maxResponseBytes (8)"),
        });
      expect(await limited("own", { ...init, maxResponseBytes: 9 })).toMatchObject({ ok: true });
    }
  });

  test.each([
    { row: {}, type: json },
    { row: { answers: { "2XX": [png] }, success: [200] }, type: png },
  ])("limits $type with a 2xx that is not documented", async ({ row, type }) => {
    const answer = { status: 201, type, body: '"123456"' };
    const bodies = [7, 8].map(async (maxResponseBytes) => {
      const { error } = await answered(row, answer, { maxResponseBytes });
      expect(error).toMatchObject({ code: "api_undocumented" });
      return error?.body !== undefined;
    });
    expect(await Promise.all(bodies)).toEqual([false, true]);
  });

  test("limits a success that is only JSON, and neither a stream nor an error", async () => {
    const answer = { type: json, body: "[1,2,3]" };
    const reading = answered({}, answer, { maxResponseBytes: 6 });
    expect(await rejectionOf(reading)).toMatchObject({ code: "response_too_large" });
    const limits = { maxResponseBytes: 1 };
    const { data } = await answered({}, answer, { ...limits, parseAs: "stream" });
    expect(await new Response(data as ReadableStream).text()).toBe(answer.body);
    const refused = await answered({}, { status: 404, body: "longer" }, limits);
    expect(refused.error?.body).toBe("longer");
  });

  test("closes the connection of what is too large", async () => {
    let closed = false;
    const endless = await recordingServer(() => (response) => {
      response.on("close", () => {
        closed = true;
      });
      response.writeHead(200, { "content-type": text });
      // By turns of the event loop, since Node 26 calls back at once, and the client is in the same
      // process.
      const write = () =>
        void (response.destroyed || response.write("x".repeat(9_000), () => setImmediate(write)));
      write();
    });
    const init = { parseAs: "text", maxResponseBytes: 100_000 };
    const reading = ownCall({ own: {} }, endless.url)("own", init);
    expect(await rejectionOf(reading)).toMatchObject({ code: "response_too_large" });
    await expect.poll(() => closed).toBe(true);
  });
});

/** A server that writes the chunks of a test. `closed` is fulfilled when its connection closes. */
async function streamingServer(type: string) {
  let started: (response: ServerResponse) => void = () => {};
  const response = new Promise<ServerResponse>((resolve) => {
    started = resolve;
  });
  const script: Script = () => (outgoing) => {
    outgoing.writeHead(200, { "content-type": type });
    outgoing.flushHeaders();
    started(outgoing);
  };
  const { url } = await recordingServer(script);
  const write = async (chunk: string | Buffer) => {
    const outgoing = await response;
    await new Promise((resolve) => outgoing.write(chunk, resolve));
    await settle();
  };
  return { url, write, response, closed: response.then((outgoing) => once(outgoing, "close")) };
}

const sse = "text/event-stream";
const jsonl = "application/jsonl";
const events = answers(sse);

async function allOf<T>(iterable: unknown): Promise<T[]> {
  const all: T[] = [];
  for await (const one of iterable as AsyncIterable<T>) all.push(one);
  return all;
}

describe("an event stream", () => {
  test.each([
    { method: "POST", retryable: false },
    { method: "GET", retryable: true },
  ])("of a $method whose connection breaks is retryable: $retryable", async (row) => {
    const server = await streamingServer(sse);
    const { data } = await ownCall({ own: { ...events, method: row.method } }, server.url)("own");
    await server.write("data: 1\n\n");
    const failed = rejectionOf(allOf(data));
    (await server.response).destroy();
    const { retryable } = row;
    expect(await failed).toMatchObject({ code: "network_failed", retryable });
  });

  test("is read as it arrives, however it is cut", async () => {
    const server = await streamingServer("text/event-stream; charset=utf-8");
    const { data } = await ownCall({ own: events }, server.url)("own");
    const iterator = (data as AsyncIterable<ServerSentEvent>)[Symbol.asyncIterator]();
    const sent = Buffer.from(
      "\ufeff: comment\nid: 1\nevent: added\ndata: ä\ndata: b\nretry: 5\nunknown: x\n\n",
    );
    for (const byte of sent.subarray(0, 45)) await server.write(Buffer.from([byte]));
    await server.write(sent.subarray(45));
    expect((await iterator.next()).value).toEqual({ id: "1", event: "added", data: "ä\nb" });
    await server.write('data\r\n\r\ndata: {"x":1}\r\n\r\ndata: unfinished');
    expect((await iterator.next()).value).toEqual({ data: "" });
    expect((await iterator.next()).value).toEqual({ data: '{"x":1}' });
    (await server.response).end();
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  test("may end its lines with CR, LF or both, also where a chunk ends between them", async () => {
    const server = await streamingServer(sse);
    const { data } = await ownCall({ own: events }, server.url)("own");
    const iterator = (data as AsyncIterable<ServerSentEvent>)[Symbol.asyncIterator]();
    const next = async () => (await iterator.next()).value;
    await server.write("data: 1\rdata: 2\r\r");
    expect(await next()).toEqual({ data: "1\n2" });
    const third = next();
    for (const byte of "data: 3\r\ndata: 4\r\n\r\n") await server.write(byte);
    expect(await third).toEqual({ data: "3\n4" });
    await server.write("data: 5\n\r\n");
    expect(await next()).toEqual({ data: "5" });
  });

  test("closes its connection when the loop is left", async () => {
    const server = await streamingServer(sse);
    const { data } = await ownCall({ own: events }, server.url)("own");
    await server.write("data: 1\n\ndata: 2\n\n");
    for await (const event of data as AsyncIterable<ServerSentEvent>) {
      expect(event.data).toBe("1");
      break;
    }
    await server.closed;
  });
});

test.each([
  { type: sse, before: ": ping\n: ping\ndata: €\n\n", over: "data: €€\n", read: [{ data: "€" }] },
  { type: sse, before: "data: 1\n\n", over: "id: 1\ndata: 2\n\n", read: [{ data: "1" }] },
  { type: jsonl, before: '1\n"€€"\n', over: '"€€€"', read: [1, "€€"] },
])("$type is refused at the same byte in one chunk as in many: $over", async (row) => {
  const body = row.before + row.over;
  for (const chunks of [[body], [...body], [row.before, row.over]]) {
    const { readable, writable } = new TextEncoderStream();
    const writer = writable.getWriter();
    for (const chunk of chunks) writer.write(chunk).catch(() => {});
    const fetch = async () => new Response(readable, { headers: { "content-type": row.type } });
    const call = ownCall({ own: answers(row.type) }, base, { fetch });
    const { data } = await call("own", { maxResponseBytes: 10 });
    const read: unknown[] = [];
    const reading = (async () => {
      for await (const one of data as AsyncIterable<unknown>) read.push(one);
    })();
    expect(await rejectionOf(reading)).toMatchObject({ code: "response_too_large" });
    expect(read).toEqual(row.read);
  }
});

describe("JSON lines", () => {
  test.each([
    "application/x-ndjson",
    "application/jsonl",
    "application/x-jsonlines",
    "application/x-json-lines",
  ])("of %s are values, without empty lines", async (type) => {
    const body = '\ufeff{"a":"ä"}\r\n\n[1]\n  \n"last"';
    const { data } = await answered(answers(type), { type, body });
    expect(await allOf(data)).toEqual([{ a: "ä" }, [1], "last"]);
  });

  test.each(["Application/JSON-SEQ", undefined])(
    "of a JSON text sequence that comes as %s are its records",
    async (type) => {
      const body = '\u001e{"a":\n1}\n\u001e[2]\n';
      const { data } = await answered(answers("application/json-seq"), { type, body });
      expect(await allOf(data)).toEqual([{ a: 1 }, [2]]);
    },
  );

  test("arrive one by one, and a line that is not JSON ends them", async () => {
    const server = await streamingServer(jsonl);
    const { data } = await ownCall({ own: answers(jsonl) }, server.url)("own");
    const iterator = (data as AsyncIterable<unknown>)[Symbol.asyncIterator]();
    await server.write('{"a":');
    await server.write('1}\n\n{"b"');
    expect((await iterator.next()).value).toEqual({ a: 1 });
    await server.write(" planted}\n");
    const error = (await rejectionOf(iterator.next())) as Error;
    expect(error).toMatchObject({ code: "response_not_json" });
    expect(error.message).toContain("but line 3 of the answer is not JSON.");
    expect(error.message).not.toContain("planted");
    await server.closed;
  });

  test("of a JSON text sequence count its records", async () => {
    const type = "application/json-seq";
    const { data } = await answered(answers(type), { type, body: "\u001e1\n\u001e{\n\u001e2" });
    const message = expect.stringContaining("but record 2 of the answer is not JSON.");
    expect(await rejectionOf(allOf(data))).toMatchObject({ message });
  });
});

describe.each(["stream", "events", "lines"] as const)("a stream of %s", (kind) => {
  const type = kind === "events" ? sse : jsonl;
  const row = kind === "stream" ? {} : answers(type);
  const init = kind === "stream" ? { parseAs: "stream" } : {};
  const line = kind === "events" ? `data: ${"x".repeat(1_000)}\n\n` : `"${"x".repeat(1_000)}"\n`;

  test("has the backpressure of its connection: the server waits for the reader", async () => {
    const total = 32 * 1024 * 1024;
    let written = 0;
    let isWaiting = false;
    const server = await recordingServer(() => async (response) => {
      response.writeHead(200, { "content-type": type });
      const block = line.repeat(64);
      while (written < total) {
        written += block.length;
        if (response.write(block)) continue;
        isWaiting = true;
        await once(response, "drain");
        isWaiting = false;
      }
      response.end();
    });
    const { data } = await ownCall({ own: row }, server.url)("own", init);
    const iterator = (data as AsyncIterable<unknown>)[Symbol.asyncIterator]();
    await iterator.next();
    let before = -1;
    await expect
      .poll(() => {
        const isStill = isWaiting && before === written;
        before = written;
        return isStill;
      })
      .toBe(true);
    expect(written).toBeLessThan(total);
    await iterator.return?.();
  });

  test("has a time limit for its head only", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
      const fetch = vi.fn(
        async () => new Response(readable, { headers: { "content-type": type } }),
      );
      const call = ownCall({ own: row }, base, { fetch, timeoutMs: 1_000 });
      const { data } = await call("own", init);
      const reading = allOf(data);
      await vi.advanceTimersByTimeAsync(3_600_000);
      const writer = writable.getWriter();
      await writer.write(new TextEncoder().encode(line));
      await writer.close();
      expect(await reading).toHaveLength(1);
      fetch.mockReturnValue(new Promise(() => {}));
      const failed = rejectionOf(call("own", init));
      await vi.advanceTimersByTimeAsync(1_000);
      expect(await failed).toMatchObject({ code: "timed_out" });
    } finally {
      vi.useRealTimers();
    }
  });

  test("that is aborted after the head ends its connection", async () => {
    const server = await streamingServer(type);
    const abort = new AbortController();
    const { signal } = abort;
    const { data } = await ownCall({ own: row }, server.url)("own", { ...init, signal });
    await server.write(line);
    const reading = rejectionOf(allOf(data));
    await settle();
    abort.abort(new Error("enough"));
    expect(await reading).toMatchObject({ message: "enough" });
    await server.closed;
  });
});

test("a stream that is aborted ends, although the body of a fetch of the caller's does not", async () => {
  const cancel = vi.fn();
  const headers = { "content-type": sse };
  const fetch = async () => new Response(new ReadableStream({ cancel }), { headers });
  const abort = new AbortController();
  const { signal } = abort;
  const { data } = await ownCall({ own: events }, base, { fetch })("own", { signal });
  const reading = rejectionOf(allOf(data));
  await settle();
  abort.abort(new Error("enough"));
  expect(await reading).toMatchObject({ message: "enough" });
  expect(cancel).toHaveBeenCalledOnce();
});

test("what is read whole has the time limit to its last byte", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const fetch = async () =>
      new Response(new ReadableStream(), { headers: { "content-type": png } });
    const call = ownCall({ own: answers(png) }, base, { fetch, timeoutMs: 1_000 });
    const failed = rejectionOf(call("own"));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await failed).toMatchObject({ code: "timed_out" });
  } finally {
    vi.useRealTimers();
  }
});

test("validate sees the data of JSON only, whatever else a success may be", async () => {
  const seen: unknown[] = [];
  const validate = ({ data }: { readonly data: unknown }) => void seen.push(data);
  const calls: [answer: Answer, init?: object][] = [
    [{ type: json, body: "[1]" }],
    [{ type: csv, body: "a" }],
    [{ type: sse, body: "data: 1\n\n" }],
    [{ type: json, body: "[2]" }, { parseAs: "text" }],
    [{ type: csv, body: "[3]" }, { parseAs: "json" }],
    [{ type: json, body: "[4]" }, { envelope: "wrapped" }],
  ];
  for (const [answer, init] of calls)
    await answered(answers(json, csv, sse), answer, init, { validate });
  expect(seen).toEqual([[1], [3]]);
});
