// The examples of the pages about calls, bodies, answers and streams: compiled, and run.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { beforeAll, describe, expect, test } from "vitest";
import { generate } from "../../src/generate/index.js";
import { createService } from "../../src/index.js";
import { DONE, json, openapi } from "../generate/sample-documents.js";
import { numberedAuth } from "../support/numbered-auth.js";
import {
  type RecordedRequest,
  recordingServer,
  type ScriptedAnswer,
} from "../support/recording-server.js";
import { blockWith, compile, makeCacheFolder } from "./pages.js";

const text = { type: "string" };
const list = (items: object) => ({ type: "array", items });
const device = { type: "object", properties: { name: text }, required: ["name"] };
const numbers = { type: "object", additionalProperties: { type: "number" } };
const binary = { ...text, format: "binary" };
const photo = { title: text, place: numbers, tags: list(text), photo: binary };
const area = { name: "area", required: true, schema: list({ type: ["string", "number"] }) };
const filter = { name: "filter", schema: { type: "object", properties: { state: text } } };
const parameters = [
  { in: "path", style: "matrix", ...area },
  { in: "query", name: "tags", style: "pipeDelimited", schema: list(text) },
  { in: "query", style: "deepObject", explode: true, ...filter },
  { in: "query", name: "near", content: json(numbers) },
  { in: "header", name: "X-Zones", schema: list(text) },
  { in: "cookie", name: "theme", schema: text },
];
const taking = (content: object) => ({ requestBody: { required: true, content }, responses: DONE });
const answering = (content: object, more: object = {}) => ({
  responses: { 200: { description: "Done.", content, ...more } },
});
const multipart = taking({
  "multipart/form-data": { schema: { type: "object", properties: photo } },
});
const imported = taking({ ...json(list(device)), "text/csv": { schema: text } });
const firmware = taking({ "application/octet-stream": {} });
const pages = { "X-Pages": { required: true, schema: { type: "integer" } } };
const report = answering({ "application/pdf": { schema: binary } }, { headers: pages });
const events = answering({ "text/event-stream": { schema: text } });
const lines = answering({ "application/x-ndjson": { schema: device } });
const found = answering(json(list(device)));

/** The document of the pages. */
const document = openapi({
  "/v1/areas/{area}/devices": { get: { operationId: "findDevices", parameters, ...found } },
  "/v1/photos": { post: { operationId: "addPhoto", ...multipart } },
  "/v1/devices": {
    get: { operationId: "listDevices", ...found },
    post: { operationId: "importDevices", ...imported },
  },
  "/v1/firmware": { put: { operationId: "uploadFirmware", ...firmware } },
  "/v1/report": { get: { operationId: "getReport", ...report } },
  "/v1/events": { get: { operationId: "watchDevices", ...events } },
  "/v1/export": { get: { operationId: "exportDevices", ...lines } },
});

const examples = {
  parameters: blockWith("ts", '"findDevices"'),
  key: blockWith("ts", '"Idempotency-Key"'),
  bodies: blockWith("ts", '"addPhoto"'),
  answers: blockWith("ts", "use(report.data.size)"),
  streams: blockWith("ts", '"watchDevices"'),
};

/** What the page says that a reader has. */
const scope = `import { createService, type Auth } from "bivariant";
import * as api from "./generated/operations.js";
declare const auth: Auth & { readonly variant: "B" };
declare const jpeg: ArrayBuffer, signal: AbortSignal;
const service = createService(auth, { api });
use(service);
`;

describe("the examples of the client's pages", () => {
  let folder = "";
  beforeAll(async () => {
    folder = makeCacheFolder();
    writeFileSync(join(folder, "b.yaml"), JSON.stringify(document));
    mkdirSync(join(folder, "generated"));
    await generate({ documents: { B: join(folder, "b.yaml") }, out: join(folder, "generated") });
    return () => rmSync(folder, { recursive: true, force: true });
  });

  test("compile against the code that is generated of their documents", () => {
    const programs = Object.entries(examples).map(([name, code]) => [name, scope + code] as const);
    expect(compile(Object.fromEntries(programs), join(folder, "generated"))).toEqual([]);
    const wrong = { wrong: `${scope}await service.call("addPhoto", { body: { title: 7 } });` };
    expect(compile(wrong, join(folder, "generated"))).toEqual([
      expect.stringMatching(/^wrong\(\d+\) TS/),
    ]);
  });

  /** Runs an example against a real server, and returns what was sent and used. */
  async function run(
    name: keyof typeof examples,
    answer: (request: RecordedRequest) => ScriptedAnswer,
  ) {
    const server = await recordingServer(answer);
    const file = join(folder, `${name}.mjs`);
    const contents = `export async function run(service, use, jpeg, signal) {\n${examples[name]}\n}`;
    await build({
      stdin: { contents, loader: "ts" },
      outfile: file,
      format: "esm",
      target: "node20",
    });
    const example = (await import(pathToFileURL(file).href)) as {
      run(...args: unknown[]): Promise<void>;
    };
    const api = await import(pathToFileURL(join(folder, "generated", "operations.ts")).href);
    const auth = numberedAuth({ variant: "B", baseUrl: server.url, now: Date.now });
    const used: unknown[] = [];
    const service = createService(auth, { api, fetch: globalThis.fetch, maxRetries: 0 });
    await example.run(
      service,
      (one: unknown) => used.push(one),
      new Uint8Array([255, 216]).buffer,
      new AbortController().signal,
    );
    return { requests: server.requests, used };
  }

  const answerOf = (type: string, body: string) => (): ScriptedAnswer => ({
    status: 200,
    headers: { "content-type": type },
    body,
  });

  test("about parameters send what their comments say", async () => {
    const { requests } = await run("parameters", answerOf("application/json", "[]"));
    const comments = [...examples.parameters.matchAll(/\/\/ \w+: \S+ +(\S.*)$/gm)].map(
      ([, sent = ""]) => sent,
    );
    const [path, ...rest] = comments;
    const query = rest.filter((one) => /^[?&]/.test(one)).join("");
    expect(requests.map((request) => request.path)).toEqual([`${path}${query}`]);
    const headers = rest.filter((one) => /^[A-Z]/.test(one)).map((one) => one.split(": "));
    expect(headers).toHaveLength(2);
    for (const [name = "", value] of headers)
      expect(requests[0]?.headers[name.toLowerCase()]).toBe(value);
  });

  test("about a call that may be sent again sends a key of its own", async () => {
    const { requests } = await run("key", answerOf("application/json", ""));
    const sent = requests.map(({ method, headers, body }) => [
      method,
      headers["idempotency-key"],
      body,
    ]);
    expect(sent).toEqual([["POST", expect.stringMatching(/^[\da-f-]{36}$/), '[{"name":"Pump"}]']]);
  });

  test("about bodies send each by its media type", async () => {
    const { requests } = await run("bodies", answerOf("application/json", ""));
    const sent = requests.map(({ method, path, headers }) => [
      method,
      path,
      headers["content-type"],
    ]);
    expect(sent).toEqual([
      ["POST", "/v1/photos", expect.stringMatching(/^multipart\/form-data; boundary=/)],
      ["POST", "/v1/devices", "application/json"],
      ["POST", "/v1/devices", "text/csv"],
      ["PUT", "/v1/firmware", "application/octet-stream"],
    ]);
    const [photo, ...others] = requests;
    const bytes = Buffer.from(photo?.body ?? "", "latin1");
    const form = await new Response(bytes, { headers: photo?.headers ?? {} }).formData();
    expect([...form.keys()]).toEqual(["title", "place", "tags", "tags", "photo"]);
    expect(form.get("photo")).toMatchObject({ name: "roof.jpg", type: "image/jpeg", size: 2 });
    expect(others.map(({ body }) => body)).toEqual(['[{"name":"Pump"}]', "name\nPump\n", "ÿØ"]);
  });

  test("about answers read each by its media type", async () => {
    const headers = { "content-type": "application/pdf", "x-pages": "12" };
    const report: ScriptedAnswer = { status: 200, headers, body: "%PDF" };
    const { used } = await run("answers", ({ path }) =>
      path === "/v1/report" ? report : answerOf("application/json", "[]")(),
    );
    expect(used).toEqual([4, 12, "[]"]);
  });

  test("about streams read them as they arrive", async () => {
    const answers: Record<string, () => ScriptedAnswer> = {
      "/v1/events": answerOf("text/event-stream", 'id: 1\nevent: added\ndata: {"a":1}\n\n'),
      "/v1/export": answerOf("application/x-ndjson", '{"name":"Pump"}\n{"name":"Fan"}\n'),
      "/v1/report": answerOf("application/pdf", "%PDF"),
    };
    const { used } = await run("streams", ({ path }) => answers[path]?.() ?? { status: 404 });
    expect(used).toEqual([["added", { a: 1 }, "1"], "Pump", "Fan", 4]);
  });
});
