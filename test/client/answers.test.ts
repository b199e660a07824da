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

/** Calls a real server that gives this answer once, with the type and the bytes as they are. */
async function answered(
  row: object,
  answer: {
    status?: number;
    type?: string | undefined;
    body?: string | Buffer;
    headers?: Record<string, string>;
  },
  init: object = {},
  options: object = {},
): Promise<Outcome> {
  const server = await recordingServer(() => (response) => {
    const { status = 200, type, body, headers } = answer;
    response.writeHead(status, {
      ...(type === undefined ? {} : { "content-type": type }),
      ...headers,
    });
    response.end(body);
  });
  return ownCall({ own: row }, server.url, options)("own", init);
}

async function blobOf(data: unknown): Promise<object> {
  expect(data).toBeInstanceOf(Blob);
  const blob = data as Blob;
  return { type: blob.type, text: await blob.text() };
}

describe("a success", () => {
  const data = (documented: string[], type: string | undefined, body: string, data: unknown) => ({
    documented,
    type,
    body,
    data,
  });
  test.each([
    data(["application/json", "text/csv"], "application/json; charset=utf-8", '{"a":1}', { a: 1 }),
    data(["application/json", "text/csv"], "Text/CSV", '{"a":1}', '{"a":1}'),
    data(["application/vnd.x+json"], "application/vnd.x+json", "[]", []),
    data(["application/vnd.x+json"], "application/json", "[]", []),
    data(["text/plain"], "text/plain", "7", "7"),
    data(["text/plain"], "application/json", "7", "7"),
    data(["text/*"], "text/markdown", "# a", "# a"),
    data(["application/xml"], "application/xml", "<a/>", "<a/>"),
    data(["application/xml"], "text/xml", "<a/>", "<a/>"),
    data(["image/svg+xml"], "image/svg+xml", "<svg/>", "<svg/>"),
    data(["text/html"], "text/html", page, page),
    data(["*/*"], "application/json", "{}", {}),
    data(["*/*"], "text/html", page, page),
    data(["text/plain"], undefined, "7", "7"),
    data(["text/plain", "application/json"], undefined, "7", 7),
  ])(
    "documented as $documented that comes as $type is $data",
    async ({ documented, type, body, data }) => {
      expect(await answered(answers(...documented), { type, body })).toMatchObject({
        ok: true,
        data,
      });
    },
  );

  test.each([
    { documented: ["image/png"], type: "image/png" },
    { documented: ["image/*"], type: "image/gif" },
    { documented: ["application/octet-stream"], type: "application/pdf" },
    { documented: ["application/octet-stream"], type: "text/plain" },
    { documented: ["application/octet-stream"], type: undefined },
    { documented: ["*/*"], type: "application/zip" },
  ])(
    "documented as $documented that comes as $type is a Blob of that type",
    async ({ documented, type }) => {
      const { data } = await answered(answers(...documented), { type, body: "bytes" });
      expect(await blobOf(data)).toEqual({ type: type ?? "", text: "bytes" });
    },
  );

  const refused = (documented: string[] | undefined, type: string, code: string) => ({
    documented,
    type,
    code,
  });
  test.each([
    refused(undefined, "text/html", "response_not_json"),
    refused(undefined, "text/plain", "response_not_json"),
    refused(["application/vnd.x+json"], "text/html", "response_not_json"),
    refused(["application/vnd.x+json"], "application/json", "response_not_json"),
    refused(["application/json", "text/csv"], "text/html", "response_media_type"),
    refused(["image/png"], "text/html", "response_media_type"),
    refused(["image/png"], "application/xhtml+xml", "response_media_type"),
    refused(["text/plain"], "text/html; charset=utf-8", "response_media_type"),
    refused(["text/plain"], "image/png", "response_media_type"),
    refused(["text/event-stream"], "application/json", "response_media_type"),
    refused(["application/json", "text/csv"], "image/png", "response_media_type"),
  ])(
    "documented as $documented that comes as $type is $code",
    async ({ documented, type, code }) => {
      const row = documented === undefined ? {} : answers(...documented);
      const error = (await rejectionOf(answered(row, { type, body: page }))) as Error;
      expect(error).toMatchObject({ name: "UnexpectedResponseError", code, status: 200 });
      expect(error.message).not.toContain("planted");
      for (const name of documented ?? [])
        if (code === "response_media_type") expect(error.message).toContain(name);
    },
  );

  const ofStatus = (row: object, status: number, type: string, body: string, data: unknown) => ({
    row,
    status,
    type,
    body,
    data,
  });
  test.each([
    ofStatus(
      { success: [200, 201], answers: { 201: ["text/csv"] } },
      200,
      "application/json",
      "1",
      1,
    ),
    ofStatus({ success: [200, 201], answers: { 201: ["text/csv"] } }, 201, "text/csv", "1", "1"),
    ofStatus({ success: [200, 206], answers: { "2XX": ["text/csv"] } }, 206, "text/csv", "1", "1"),
    ofStatus(
      { success: [200, 206], answers: { "2XX": ["text/csv"] } },
      200,
      "application/json",
      "1",
      1,
    ),
    ofStatus({ success: [], answers: { default: ["text/csv"] } }, 202, "text/csv", "1", "1"),
  ])(
    "of the status $status in $row is read as documented for it",
    async ({ row, data, ...answer }) => {
      expect(await answered(row, answer)).toMatchObject({ ok: true, status: answer.status, data });
    },
  );

  test("where the document names no 2xx is any 2xx, read by its own type", async () => {
    const row = { success: [], failure: [404] };
    expect(
      await answered(row, { status: 202, type: "application/json", body: "[1]" }),
    ).toMatchObject({ ok: true, data: [1] });
    expect(await answered(row, { type: "text/html", body: page })).toMatchObject({
      ok: true,
      data: page,
    });
    expect(await answered(row, { status: 204 })).toMatchObject({ ok: true, data: undefined });
    expect(
      await answered(row, { status: 404, type: "application/json", body: "[1]" }),
    ).toMatchObject({ ok: false, error: { code: "api_refused", body: [1] } });
    const { data } = await answered(row, { type: "image/png", body: "x" });
    expect(await blobOf(data)).toEqual({ type: "image/png", text: "x" });
  });

  const text = (name: string, type: string, body: Buffer, text: string) => ({
    name,
    type,
    body,
    text,
  });
  test.each([
    text("UTF-8", "text/plain", Buffer.from("ä"), "ä"),
    text("Latin-1", 'text/plain; charset="ISO-8859-1"', Buffer.from([0xe4]), "ä"),
    text("UTF-16", "text/plain;charset=utf-16le", Buffer.from("\ufeffä", "utf16le"), "ä"),
    text("a byte order mark", "text/plain", Buffer.from("\ufeffä"), "ä"),
    text("bytes that are no UTF-8", "text/plain", Buffer.from([0xff]), "\ufffd"),
  ])("of text in $name is decoded", async ({ type, body, text }) => {
    expect((await answered(answers("text/plain"), { type, body })).data).toBe(text);
  });

  test("of text in an unknown charset is response_media_type, and can be read as bytes", async () => {
    const answer = { type: "text/plain; charset=x-made-up", body: "a" };
    expect(await rejectionOf(answered(answers("text/plain"), answer))).toMatchObject({
      code: "response_media_type",
    });
    const { data } = await answered(answers("text/plain"), answer, { parseAs: "arrayBuffer" });
    expect(new Uint8Array(data as ArrayBuffer)).toEqual(new Uint8Array([97]));
  });

  test("of JSON with a byte order mark, or that names a charset, is read as UTF-8", async () => {
    const body = Buffer.from('\ufeff"ä"');
    for (const row of [{}, answers("application/json", "text/csv")])
      expect(
        (await answered(row, { type: "application/json; charset=iso-8859-1", body })).data,
      ).toBe("ä");
  });

  test.each<{ documented: string; data: unknown }>([
    { documented: "application/vnd.x+json", data: undefined },
    { documented: "text/plain", data: "" },
    { documented: "image/png", data: new Blob([], { type: "image/png" }) },
  ])(
    "of $documented that is empty is $data, and a 204 is undefined",
    async ({ documented, data }) => {
      const row = { success: [200, 204], answers: { 200: [documented] } };
      expect((await answered(row, { type: documented })).data).toEqual(data);
      expect(await answered(row, { status: 204 })).toMatchObject({
        ok: true,
        status: 204,
        data: undefined,
      });
    },
  );

  test("of a HEAD has no data", async () => {
    for (const parseAs of [undefined, "stream", "blob"])
      expect(
        (
          await answered(
            { method: "HEAD", ...answers("image/png") },
            { type: "image/png" },
            { parseAs },
          )
        ).data,
      ).toBe(undefined);
  });
});

describe("parseAs", () => {
  const json = { type: "application/json", body: '{"a":1}' };

  test.each<{ parseAs: string; answer: object; data: unknown }>([
    { parseAs: "json", answer: { type: "text/plain", body: '{"a":1}' }, data: { a: 1 } },
    { parseAs: "json", answer: {}, data: undefined },
    { parseAs: "text", answer: json, data: '{"a":1}' },
    { parseAs: "text", answer: { type: "text/html", body: page }, data: page },
  ])("$parseAs reads $answer as $data", async ({ parseAs, answer, data }) => {
    for (const row of [{}, answers("image/png")])
      expect(await answered(row, answer, { parseAs })).toMatchObject({ ok: true, data });
  });

  test("blob, arrayBuffer and stream give the bytes", async () => {
    expect(await blobOf((await answered({}, json, { parseAs: "blob" })).data)).toEqual({
      type: "application/json",
      text: '{"a":1}',
    });
    const { data } = await answered({}, json, { parseAs: "arrayBuffer" });
    expect(Buffer.from(data as ArrayBuffer).toString()).toBe('{"a":1}');
    const stream = (await answered({}, json, { parseAs: "stream" })).data as ReadableStream;
    expect(await new Response(stream).text()).toBe('{"a":1}');
  });

  test("json of what is not JSON is response_not_json", async () => {
    const reading = answered({}, { type: "text/html", body: page }, { parseAs: "json" });
    expect(await rejectionOf(reading)).toMatchObject({ code: "response_not_json" });
  });

  test("is for successes: an error is read as documented", async () => {
    const outcome = await answered(
      { failure: [404] },
      { ...json, status: 404 },
      { parseAs: "stream" },
    );
    expect(outcome).toMatchObject({ ok: false, error: { body: { a: 1 } } });
  });

  test("of another name is rejected before anything is sent", async () => {
    const fetch = scriptedFetch(() => Response.json({}));
    const call = ownCall({ own: {} }, base, { fetch });
    for (const parseAs of ["xml", "", null, 7])
      expect(await rejectionOf(call("own", { parseAs }))).toMatchObject({
        code: "option_invalid",
        option: "parseAs",
      });
    expect(fetch.calls).toEqual([]);
  });

  test("sends the same header accept as without it", async () => {
    const fetch = scriptedFetch(() => Response.json({}));
    const call = ownCall({ own: {} }, base, { fetch });
    for (const parseAs of [undefined, "blob"]) await call("own", { parseAs });
    expect(fetch.calls.map(({ headers }) => headers.get("accept"))).toEqual(
      Array(2).fill("application/json"),
    );
  });
});

test.each([
  { name: "of an unexpected media type", type: "text/html", code: "response_media_type" },
  { name: "in an unknown charset", type: "text/csv;charset=x", code: "response_media_type" },
  { name: "of a redirect that is refused", status: 302, code: "response_redirected" },
  { name: "that intercept fails after", intercept: true, code: "network_failed" },
])("a body $name is cancelled, so that its connection is free", async (row) => {
  const cancel = vi.fn();
  const { status = 200, type = "text/csv" } = row;
  const answer = { status, headers: { "content-type": type } };
  const fetch = scriptedFetch(() => new Response(new ReadableStream({ cancel }), answer));
  const intercept: Intercept = (_request, send) => send().then(() => Promise.reject(new Error()));
  const options = row.intercept ? { fetch, intercept } : { fetch };
  const call = ownCall({ own: answers("text/csv") }, base, options);
  expect(await rejectionOf(call("own", { redirect: "error" }))).toMatchObject({ code: row.code });
  expect(cancel).toHaveBeenCalledOnce();
});

test("an answer without a body is read by no media type, with maxResponseBytes too", async () => {
  const headers = { "content-type": "text/html" };
  const fetch = scriptedFetch(() => new Response(null, { status: 204, headers }));
  const call = ownCall({ own: { success: [204] } }, base, { fetch });
  expect(await call("own", { maxResponseBytes: 9 })).toMatchObject({ ok: true, data: undefined });
});

test.each([302, 200])("a %d after an abort that the fetch ignored is dropped", async (status) => {
  const cancel = vi.fn();
  const aborts = new AbortController();
  const urls: string[] = [];
  const fetch = async (url: string) => {
    urls.push(url);
    aborts.abort(new Error("enough"));
    const answer = { status, headers: { location: "/v1/other" } };
    return new Response(new ReadableStream({ cancel }), answer);
  };
  const call = ownCall({ own: {} }, base, { fetch: fetch as typeof globalThis.fetch });
  const { signal } = aborts;
  expect(await rejectionOf(call("own", { signal }))).toMatchObject({ message: "enough" });
  await settle();
  expect(urls).toEqual([`${base}/v1/own`]);
  expect(cancel).toHaveBeenCalledOnce();
});

describe("the header accept", () => {
  test.each<{ row: object; accept: string }>([
    { row: {}, accept: "application/json" },
    { row: { failure: [400], answers: { 400: ["image/png"] } }, accept: "application/json" },
    { row: answers("image/png"), accept: "image/png, application/json;q=0.5" },
    { row: answers("text/csv", "application/json"), accept: "text/csv;q=0.9, application/json" },
    {
      row: answers("application/vnd.x+json", "text/csv"),
      accept: "application/vnd.x+json, text/csv;q=0.9, application/json;q=0.5",
    },
    {
      row: answers("text/csv", "text/plain"),
      accept: "text/csv, text/plain, application/json;q=0.5",
    },
    {
      row: { success: [200, 204], ...answers("image/png") },
      accept: "image/png, application/json;q=0.5",
    },
    {
      row: { success: [200, 202], answers: { 202: ["text/csv"] } },
      accept: "application/json, text/csv;q=0.9",
    },
    {
      row: { answers: { 200: ["text/csv"], default: ["application/problem+xml"] } },
      accept: "text/csv, application/json;q=0.5, application/problem+xml;q=0.5",
    },
    {
      row: { success: [200, 206], answers: { "2XX": ["text/csv"] } },
      accept: "text/csv, application/json;q=0.5",
    },
    { row: { success: [] }, accept: "application/json, */*;q=0.9" },
  ])("of $row is $accept", async ({ row, accept }) => {
    const fetch = scriptedFetch(() => new Response(null, { status: 204 }));
    const call = ownCall({ own: row }, base, { fetch });
    await call("own");
    await call("own", { headers: { accept: "own/type" } });
    expect(fetch.calls.map(({ headers }) => headers.get("accept"))).toEqual([accept, "own/type"]);
  });
});

describe("an error", () => {
  const row = (row: object, type: string | undefined, body: string, error: unknown) => ({
    row,
    type,
    body,
    error,
  });
  test.each([
    row({}, "application/problem+json", '{"title":"t"}', { title: "t" }),
    row({ answers: { 404: ["application/xml"] } }, "application/problem+json", '{"title":"t"}', {
      title: "t",
    }),
    row({ answers: { 404: ["application/xml"] } }, "application/xml", "<a/>", "<a/>"),
    row({ answers: { "4XX": ["text/csv"] } }, "text/csv", "7", "7"),
    row({ answers: { default: ["text/csv"] } }, "text/csv", "7", "7"),
    row(answers("text/csv"), "text/plain", "7", 7),
    row(answers("text/csv"), "text/html", page, page),
    row(answers("text/csv"), undefined, "", undefined),
    row({ answers: { 404: ["text/csv"] } }, "text/csv", "", undefined),
    row({ answers: { 404: ["image/png"] } }, "image/png", "", undefined),
    row(answers("image/png"), "application/json", "x".repeat(1024 * 1024 + 1), undefined),
    row({ answers: { 404: ["image/png"] } }, "image/png", "x".repeat(1024 * 1024 + 1), undefined),
  ])("of $type has the body $error", async ({ row, type, body, error }) => {
    const outcome = await answered({ failure: [404], ...row }, { status: 404, type, body });
    expect(outcome).toMatchObject({ ok: false, error: { code: "api_refused" } });
    expect(outcome.error?.body).toEqual(error);
  });

  test("that is documented as a file has a Blob", async () => {
    const outcome = await answered(
      { answers: { 404: ["image/png"] } },
      { status: 404, type: "image/png", body: "x" },
    );
    expect(await blobOf(outcome.error?.body)).toEqual({ type: "image/png", text: "x" });
  });
});

describe("maxResponseBytes", () => {
  const body = "123456789";
  const chunked = (response: ServerResponse) => {
    response.writeHead(200, { "content-type": "text/plain" });
    response.write(body.slice(0, 5));
    response.end(body.slice(5));
  };
  const sized = (response: ServerResponse) => {
    response.writeHead(200, { "content-type": "text/plain", "content-length": body.length });
    response.end(body);
  };

  test.each([
    ...["json", "text", "blob", "arrayBuffer"].map((parseAs) => ({
      name: `parseAs: "${parseAs}"`,
      row: {},
      init: { parseAs },
    })),
    { name: "a documented text", row: answers("text/plain"), init: {} },
    { name: "a documented file", row: answers("application/octet-stream"), init: {} },
  ])("limits $name by call and by service, with and without a length", async ({ row, init }) => {
    for (const script of [chunked, sized]) {
      const server = await recordingServer(() => script);
      const refused = {
        name: "UnexpectedResponseError",
        code: "response_too_large",
        message: expect.stringContaining("maxResponseBytes (8)"),
      };
      const limited = ownCall({ own: row }, server.url, { maxResponseBytes: 8 });
      expect(await rejectionOf(limited("own", init))).toMatchObject(refused);
      expect(
        await rejectionOf(
          ownCall({ own: row }, server.url)("own", { ...init, maxResponseBytes: 8 }),
        ),
      ).toMatchObject(refused);
      expect(await limited("own", { ...init, maxResponseBytes: 9 })).toMatchObject({ ok: true });
    }
  });

  test.each([
    { name: "JSON", row: {}, type: "application/json" },
    {
      name: "a documented file",
      row: { answers: { "2XX": ["image/png"] }, success: [200] },
      type: "image/png",
    },
  ])("limits $name with a 2xx that is not documented", async ({ row, type }) => {
    const answer = { status: 201, type, body: '"123456"' };
    const isRead = await Promise.all(
      [7, 8].map(async (maxResponseBytes) => {
        const { error } = await answered(row, answer, { maxResponseBytes });
        expect(error).toMatchObject({ code: "api_undocumented" });
        return error?.body !== undefined;
      }),
    );
    expect(isRead).toEqual([false, true]);
  });

  test("limits a success that is only JSON", async () => {
    const server = await recordingServer(() => ({
      status: 200,
      headers: { "content-type": "application/json" },
      body: "[1,2,3]",
    }));
    const call = ownCall({ own: {} }, server.url, { maxResponseBytes: 6 });
    expect(await rejectionOf(call("own"))).toMatchObject({ code: "response_too_large" });
    expect(await call("own", { maxResponseBytes: 7 })).toMatchObject({ data: [1, 2, 3] });
  });

  test("limits neither a stream nor an error, and closes the connection of what is too large", async () => {
    const server = await recordingServer(() => chunked);
    const { data } = await ownCall({ own: {} }, server.url)("own", {
      parseAs: "stream",
      maxResponseBytes: 1,
    });
    expect(await new Response(data as ReadableStream).text()).toBe(body);
    const refused = await answered({}, { status: 404, body: "longer" }, { maxResponseBytes: 1 });
    expect(refused.error?.body).toBe("longer");
    let closed = false;
    const endless = await recordingServer(() => (response) => {
      response.on("close", () => {
        closed = true;
      });
      response.writeHead(200, { "content-type": "text/plain" });
      // By turns of the event loop, since Node 26 calls back at once, and the client is in the same
      // process.
      const write = () =>
        void (response.destroyed || response.write("x".repeat(9_000), () => setImmediate(write)));
      write();
    });
    const reading = ownCall({ own: {} }, endless.url)("own", {
      parseAs: "text",
      maxResponseBytes: 100_000,
    });
    expect(await rejectionOf(reading)).toMatchObject({ code: "response_too_large" });
    await expect.poll(() => closed).toBe(true);
  });

  test.each([0, -1, 1.5, "1", null, Number.NaN])(
    "that is %s is rejected by service and by call",
    async (maxResponseBytes) => {
      const refused = { code: "option_invalid", option: "maxResponseBytes" };
      const make = () =>
        ownCall({ own: {} }, base, { maxResponseBytes: maxResponseBytes as never });
      expect(make).toThrow(expect.objectContaining(refused));
      const call = ownCall({ own: {} }, base);
      expect(await rejectionOf(call("own", { maxResponseBytes }))).toMatchObject(refused);
    },
  );
});

/**
 * A server that writes what the test tells it, chunk by chunk, and says when its connection is
 * closed.
 */
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

const events = answers("text/event-stream");

async function allOf<T>(iterable: unknown): Promise<T[]> {
  const all: T[] = [];
  for await (const one of iterable as AsyncIterable<T>) all.push(one);
  return all;
}

describe("an event stream", () => {
  test.each([
    { method: "POST", retryable: false },
    { method: "GET", retryable: true },
  ])("of a $method that breaks is to be asked for again: $retryable", async (row) => {
    const broken = new ReadableStream({ pull: (its) => its.error(new TypeError("terminated")) });
    const fetch = scriptedFetch(
      () => new Response(broken, { headers: { "content-type": "text/event-stream" } }),
    );
    const call = ownCall({ own: { ...events, method: row.method } }, base, { fetch });
    const { data } = await call("own");
    expect(await rejectionOf(allOf(data))).toMatchObject({ retryable: row.retryable });
  });

  test("is read as it arrives, however it is cut", async () => {
    const server = await streamingServer("text/event-stream; charset=utf-8");
    const { data, ok } = await ownCall({ own: events }, server.url)("own");
    expect(ok).toBe(true);
    const iterator = (data as AsyncIterable<ServerSentEvent>)[Symbol.asyncIterator]();
    const bytes = Buffer.from(
      "\ufeff: comment\nid: 1\nevent: added\ndata: ä\ndata: b\nretry: 5\nunknown: x\n\n",
    );
    for (const byte of bytes.subarray(0, 45)) await server.write(Buffer.from([byte]));
    await server.write(bytes.subarray(45));
    expect((await iterator.next()).value).toEqual({ id: "1", event: "added", data: "ä\nb" });
    await server.write('data\r\n\r\ndata: {"x":1}\r\n\r\ndata: unfinished');
    expect((await iterator.next()).value).toEqual({ data: "" });
    expect((await iterator.next()).value).toEqual({ data: '{"x":1}' });
    (await server.response).end();
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  test("may end its lines with CR, LF or both, also where a chunk ends between them", async () => {
    const server = await streamingServer("text/event-stream");
    const { data } = await ownCall({ own: events }, server.url)("own");
    const iterator = (data as AsyncIterable<ServerSentEvent>)[Symbol.asyncIterator]();
    const next = async () => (await iterator.next()).value;
    await server.write("data: 1\rdata: 2\r\r");
    expect(await next()).toEqual({ data: "1\n2" });
    for (const byte of "data: 3\r\ndata: 4\r\n\r\n") await server.write(byte);
    expect(await next()).toEqual({ data: "3\n4" });
    await server.write("data: 5\n\r\n");
    expect(await next()).toEqual({ data: "5" });
  });

  test("closes its connection when the loop is left", async () => {
    const server = await streamingServer("text/event-stream");
    const { data } = await ownCall({ own: events }, server.url)("own");
    await server.write("data: 1\n\ndata: 2\n\n");
    for await (const event of data as AsyncIterable<ServerSentEvent>) {
      expect(event.data).toBe("1");
      break;
    }
    await server.closed;
  });

  test("ends with the signal, with its reason, also in the middle", async () => {
    const server = await streamingServer("text/event-stream");
    const abort = new AbortController();
    const { data } = await ownCall({ own: events }, server.url)("own", { signal: abort.signal });
    await server.write("data: 1\n\n");
    const reading = (async () => {
      for await (const { data: text } of data as AsyncIterable<ServerSentEvent>)
        if (text === "1") abort.abort(new Error("enough"));
    })();
    expect(await rejectionOf(reading)).toMatchObject({ message: "enough" });
    await server.closed;
  });

  test("whose connection breaks is network_failed", async () => {
    const server = await streamingServer("text/event-stream");
    const { data } = await ownCall({ own: events }, server.url)("own");
    await server.write("data: 1\n\n");
    const failed = rejectionOf(allOf(data));
    (await server.response).destroy();
    expect(await failed).toMatchObject({ name: "TransportError", code: "network_failed" });
  });

  test("has events of at most maxResponseBytes", async () => {
    const answer = { type: "text/event-stream", body: `data: 1\n\ndata: ${"x".repeat(500)}\n\n` };
    const { data } = await answered(events, answer, { maxResponseBytes: 510 });
    expect(await allOf(data)).toHaveLength(2);
    const server = await streamingServer("text/event-stream");
    const limited = await ownCall({ own: events }, server.url, { maxResponseBytes: 100 })("own");
    const failed = rejectionOf(allOf(limited.data));
    await server.write(`data: ${"x".repeat(200)}`);
    expect(await failed).toMatchObject({ code: "response_too_large" });
    await server.closed;
  });

  test("that is empty has no events, and a 204 has no data", async () => {
    expect(await allOf((await answered(events, { type: "text/event-stream" })).data)).toEqual([]);
    expect((await answered({ success: [200, 204], ...events }, { status: 204 })).data).toBe(
      undefined,
    );
  });
});

const sse = "text/event-stream";
const lines = "application/jsonl";
test.each([
  {
    type: sse,
    before: ": ping\n: ping\ndata: €\n\n",
    tooLarge: "data: €€\n\n",
    read: [{ data: "€" }],
  },
  { type: sse, before: "data: 1\n\n", tooLarge: "id: 1\ndata: 2\n\n", read: [{ data: "1" }] },
  { type: lines, before: '1\n"€€"\n', tooLarge: '"€€€"\n', read: [1, "€€"] },
])("$type is refused at the same byte in one chunk as in many: $tooLarge", async (row) => {
  const body = row.before + row.tooLarge;
  for (const chunks of [[body], [...body], [row.before, row.tooLarge]]) {
    const { readable, writable } = new TextEncoderStream();
    const writer = writable.getWriter();
    for (const chunk of chunks) writer.write(chunk).catch(() => {});
    writer.close().catch(() => {});
    const headers = { "content-type": row.type };
    const fetch = scriptedFetch(() => new Response(readable, { headers }));
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
    "application/ndjson",
    "application/x-json-lines",
  ])("of %s are values, without empty lines", async (type) => {
    const body = '\ufeff{"a":"ä"}\r\n\n[1]\n  \n"last"';
    expect(await allOf((await answered(answers(type), { type, body })).data)).toEqual([
      { a: "ä" },
      [1],
      "last",
    ]);
  });

  test.each(["application/json-seq", "Application/JSON-SEQ", undefined])(
    "of a JSON text sequence that comes as %s are its records",
    async (type) => {
      const body = '\u001e{"a":\n1}\n\u001e[2]\n';
      const { data } = await answered(answers("application/json-seq"), { type, body });
      expect(await allOf(data)).toEqual([{ a: 1 }, [2]]);
    },
  );

  test("arrive one by one, and a line that is not JSON ends them", async () => {
    const server = await streamingServer("application/jsonl");
    const { data } = await ownCall({ own: answers("application/jsonl") }, server.url)("own");
    const iterator = (data as AsyncIterable<unknown>)[Symbol.asyncIterator]();
    await server.write('{"a":');
    await server.write('1}\n{"b"');
    expect((await iterator.next()).value).toEqual({ a: 1 });
    await server.write(" planted}\n");
    const error = (await rejectionOf(iterator.next())) as Error;
    expect(error).toMatchObject({ code: "response_not_json" });
    expect(error.message).not.toContain("planted");
    await server.closed;
  });

  test("are at most maxResponseBytes long each", async () => {
    const row = answers("application/jsonl");
    const answer = { type: "application/jsonl", body: "1\n22\n333\n" };
    const { data } = await answered(row, answer, { maxResponseBytes: 3 });
    expect(await allOf(data)).toEqual([1, 22, 333]);
    const tooLong = allOf((await answered(row, answer, { maxResponseBytes: 2 })).data);
    expect(await rejectionOf(tooLong)).toMatchObject({ code: "response_too_large" });
  });

  test("of one long line in many chunks are read in linear time", async () => {
    const chunk = new TextEncoder().encode("x".repeat(1_000));
    const chunks = 40_000;
    let sent = 0;
    const body = new ReadableStream({
      pull(controller) {
        if (sent++ < chunks) controller.enqueue(chunk);
        else controller.close();
      },
    });
    const quotes = new ReadableStream({
      async start(controller) {
        controller.enqueue(new TextEncoder().encode('"'));
        for await (const one of body) controller.enqueue(one);
        controller.enqueue(new TextEncoder().encode('"\n'));
        controller.close();
      },
    });
    const type = "application/jsonl";
    const fetch = async () => new Response(quotes, { headers: { "content-type": type } });
    const { data } = await ownCall({ own: answers(type) }, base, { fetch })("own");
    const [line] = await allOf<string>(data);
    expect(line).toHaveLength(chunks * 1_000);
  });
});

describe.each(["stream", "events", "lines"] as const)("a stream of %s", (kind) => {
  const type = kind === "events" ? "text/event-stream" : "application/jsonl";
  const row = kind === "stream" ? {} : answers(type);
  const init = kind === "stream" ? { parseAs: "stream" } : {};
  const line = kind === "events" ? `data: ${"x".repeat(1_000)}\n\n` : `"${"x".repeat(1_000)}"\n`;

  test("has the backpressure of its connection: the server waits for the reader", async () => {
    const total = 64 * 1024 * 1024;
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
    expect(written).toBeLessThan(total / 2);
    let size = 0;
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) size++;
    expect(size).toBeGreaterThan(0);
    expect(written).toBeGreaterThanOrEqual(total);
  });

  test("has a time limit for its head only", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
      const fetch = async () => new Response(readable, { headers: { "content-type": type } });
      const call = ownCall({ own: row }, base, { fetch, timeoutMs: 1_000 });
      const { data } = await call("own", init);
      const reading = allOf(data);
      await vi.advanceTimersByTimeAsync(3_600_000);
      const writer = writable.getWriter();
      await writer.write(new TextEncoder().encode(line));
      await writer.close();
      expect(await reading).toHaveLength(1);
      const headless = ownCall({ own: row }, base, {
        fetch: () => new Promise(() => {}),
        timeoutMs: 1_000,
      })("own", init);
      const failed = rejectionOf(headless);
      await vi.advanceTimersByTimeAsync(1_000);
      expect(await failed).toMatchObject({ code: "timed_out" });
    } finally {
      vi.useRealTimers();
    }
  });

  test("that is aborted after the head ends its connection", async () => {
    const server = await streamingServer(type);
    const abort = new AbortController();
    const { data } = await ownCall({ own: row }, server.url)("own", {
      ...init,
      signal: abort.signal,
    });
    await server.write(line);
    const reading = rejectionOf(allOf(data));
    await settle();
    abort.abort(new Error("enough"));
    expect(await reading).toMatchObject({ message: "enough" });
    await server.closed;
  });

  if (kind === "stream") return;
  test("that is aborted ends, although the body of a fetch of the caller's does not", async () => {
    const cancel = vi.fn();
    const fetch = async () =>
      new Response(new ReadableStream({ cancel }), { headers: { "content-type": type } });
    const abort = new AbortController();
    const call = ownCall({ own: row }, base, { fetch });
    const { data } = await call("own", { signal: abort.signal });
    const reading = rejectionOf(allOf(data));
    await settle();
    abort.abort(new Error("enough"));
    expect(await reading).toMatchObject({ message: "enough" });
    expect(cancel).toHaveBeenCalledOnce();
  });
});

test("what is read whole has the time limit to its last byte", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const fetch = async () =>
      new Response(new ReadableStream(), { headers: { "content-type": "image/png" } });
    const call = ownCall({ own: answers("image/png") }, base, { fetch, timeoutMs: 1_000 });
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
  const row = {
    success: [200, 204],
    ...answers("application/json", "text/csv", "text/event-stream"),
  };
  const calls: [answer: object, init?: object][] = [
    [{ type: "application/json", body: "[1]" }],
    [{ type: "text/csv", body: "a" }],
    [{ type: "text/event-stream", body: "data: 1\n\n" }],
    [{ type: "application/json", body: "[2]" }, { parseAs: "text" }],
    [{ type: "text/csv", body: "[3]" }, { parseAs: "json" }],
    [{ type: "application/json", body: "[4]" }, { envelope: "wrapped" }],
  ];
  for (const [answer, init] of calls) await answered(row, answer, init, { validate });
  expect(seen).toEqual([[1], [3]]);
});
