// `diffDocuments` and `diffVariants`: levels of changes, differences of variants, refusals.
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findRedocly, runRedocly } from "../../src/generate/diff.js";
import {
  type Change,
  diffDocuments,
  diffVariants,
  type GenerateErrorCode,
  type Level,
} from "../../src/generate/index.js";
import { servingOn } from "../support/recording-server.js";
import { ONE_OPERATION, openapi } from "./sample-documents.js";

const folder = await mkdtemp(join(tmpdir(), "bivariant-diff-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Writes files into a folder below the one of this test, and returns its path. */
async function written(name: string, files: Readonly<Record<string, unknown>>): Promise<string> {
  await mkdir(join(folder, name), { recursive: true });
  for (const [file, content] of Object.entries(files)) {
    const text = typeof content === "string" ? content : JSON.stringify(content, undefined, 1);
    await writeFile(join(folder, name, file), text);
  }
  return join(folder, name);
}

const text = { type: "string" };
const object = (properties: object, ...required: string[]) => ({
  type: "object",
  properties,
  required,
});
const json = (schema: object) => ({ "application/json": { schema } });
const empty = { 200: { description: "Done." } };
const request = (schema: object, required = true) => ({
  requestBody: { required, content: json(schema) },
  responses: empty,
});
const response = (schema: object, more: object = {}) => ({
  responses: { 200: { description: "Done.", content: json(schema) }, ...more },
});
const query = (...parameters: readonly object[]) => ({
  parameters: parameters.map((parameter) => ({
    name: "page",
    in: "query",
    schema: text,
    ...parameter,
  })),
  responses: empty,
});
const plain = { responses: empty };
const scopes = (...names: readonly string[]) => ({
  security: [{ bearer: names }],
  responses: empty,
});

const probe = (name: string, old: object, revised: object) => ({ name, old, revised });
type Probe = ReturnType<typeof probe>;
const at = (level: Level | undefined, ...rows: readonly Probe[]) =>
  rows.map((row) => ({ ...row, level, isCorrected: false }));
/** The level is not the one of Redocly. */
const corrected = (level: Level, ...rows: readonly Probe[]) =>
  rows.map((row) => ({ ...row, level, isCorrected: true }));

const none = {};
const a = object({ a: text });
const ab = object({ a: text, b: text });
const needed = object({ a: text }, "a");
const wide = object({ a: { enum: ["x", "y"] } });
const narrow = object({ a: { enum: ["x"] } });
const nullable = object({ a: { type: ["string", "null"] } });
const shapeless = {
  responses: { 200: { description: "Done.", content: { "application/json": {} } } },
};
const described = { type: "array", items: a };
const accepted = { 202: { description: "Accepted." } };
const conflict = { 409: { description: "Conflict." } };
const inPath = (name: string) => ({
  path: `/{${name}}`,
  ...query({ name, in: "path", required: true }),
});

/** The level that a client needs. */
const probes = [
  ...at(undefined, probe("nothing", response(a), response(a))),
  ...at(
    "neutral",
    probe("a description", plain, { ...plain, description: "Now." }),
    probe("a deprecation", plain, { ...plain, deprecated: true }),
  ),
  ...corrected(
    "neutral",
    probe("a server that is removed", { ...plain, servers: [{ url: "/a" }] }, plain),
    probe("a link", plain, { ...plain, externalDocs: { url: "/" } }),
  ),
  ...at(
    "additive",
    probe("an operation that is added", none, { path: "/somewhere/else", ...plain }),
    probe("an optional parameter", plain, query({})),
    probe("an optional request field", request(a), request(ab)),
    probe("an optional request body", plain, request(a, false)),
    probe("a response field that is added", response(a), response(ab)),
    probe("another failure", response(a), response(a, conflict)),
  ),
  ...corrected(
    "additive",
    probe("a parameter that is optional now", query({ required: true }), query({})),
    probe("a request field that is optional now", request(needed), request(a)),
    probe("a request value that is added", request(narrow), request(wide)),
    probe("null that a request may hold", request(a), request(nullable)),
    probe("a response field that is required now", response(a), response(needed)),
    probe("a response that is described now", response({}), response(described)),
    probe("one scope less", scopes("x:read", "y:read"), scopes("x:read")),
  ),
  ...at(
    "breaking",
    probe("an operation that is removed", request(ab), none),
    probe("another operationId", plain, { ...plain, operationId: "other" }),
    probe("a required parameter", plain, query({ required: true })),
    probe("a parameter that is removed", query({ name: "x" }, {}), query({ name: "x" })),
    probe("a required request field", request(a), request({ ...ab, required: ["b"] })),
    probe("a request value that is removed", request(wide), request(narrow)),
    probe("a response field that is removed", response(ab), response(a)),
    probe("a response field that is optional now", response(needed), response(a)),
    probe("null that a response may hold", response(a), response(nullable)),
    probe("a response value that is added", response(narrow), response(wide)),
    probe("a failure that is removed", response(a, conflict), response(a)),
    probe("one more scope", scopes("x:read"), scopes("x:read", "y:read")),
  ),
  ...corrected(
    "breaking",
    probe("another name of a path parameter", inPath("id"), inPath("no")),
    probe("a request field that is removed", request(ab), request(a)),
    probe("a required request body", plain, request(a)),
    probe("a response that has no schema now", response(a), shapeless),
    probe("another success", response(a), response(a, accepted)),
    probe("no plugin token", plain, { ...plain, "x-plugin-enabled": false }),
  ),
];

describe("the level of a change", () => {
  const changesAt = new Map<string, Change[]>();

  // One pair of documents holds all probes, because Redocly takes 0.3 s to start.
  beforeAll(async () => {
    const documentOf = (side: "old" | "revised") => {
      const paths = probes.flatMap(({ [side]: operation }, index) => {
        const { path = "", ...rest } = operation as { readonly path?: string };
        const item = { post: { operationId: `probe${index}`, ...rest } };
        return operation === none ? [] : [[`/${index}${path}`, item] as const];
      });
      const bearer = { type: "http", scheme: "bearer" };
      return openapi(Object.fromEntries(paths), { securitySchemes: { bearer } });
    };
    const at = await written("probes", {
      "old.json": documentOf("old"),
      "new.json": documentOf("revised"),
    });
    const { changes } = await diffDocuments(join(at, "old.json"), join(at, "new.json"));
    for (const change of changes) {
      const [index = ""] = /\d+/.exec(change.operation ?? "") ?? [];
      changesAt.set(index, [...(changesAt.get(index) ?? []), change]);
    }
  });

  const rows = probes.map((row, index) => ({ ...row, index }));
  test.each(rows)("is $level for $name", ({ index, level, isCorrected }) => {
    const [worst] = changesAt.get(String(index)) ?? [];
    expect(worst?.level).toBe(level);
    expect(worst?.corrected !== undefined, worst?.corrected).toBe(isCorrected);
  });
});

/** Small documents that are recognised as those of a variant. */
const inA = openapi({
  "/api/v1/{tenantId}/devices": { get: { operationId: "listDevices", ...response(a) } },
});
const inB = openapi({ "/v1/devices": { get: { operationId: "listDevices", ...response(ab) } } });

describe("diffDocuments", () => {
  test("compares each variant of two folders, and reports a variant that only one of them has", async () => {
    const old = await written("old", { "variant-a.yaml": inA, "variant-b.json": inB });
    const revised = await written("new", {
      "Variant-B.yml": openapi({
        "/v1/devices": { get: { operationId: "listDevices", ...response(a) } },
      }),
    });
    const { level, summary, changes } = await diffDocuments(old, revised);
    expect({ level, summary }).toEqual({
      level: "breaking",
      summary: { breaking: 2, additive: 0, neutral: 0 },
    });
    expect(changes).toMatchObject([
      { variant: "A", message: "The document was removed.", file: join(old, "variant-a.yaml") },
      {
        variant: "B",
        operation: "GET /v1/devices",
        part: "response 200 b",
        rules: ["property-removed"],
        file: join(old, "variant-b.json"),
      },
    ]);
    // Without a variant in common there is nothing to start Redocly for.
    const onlyA = await written("only-a", { "variant-a.yaml": inA });
    const { changes: exchanged } = await diffDocuments(onlyA, revised);
    expect(exchanged).toMatchObject([
      { variant: "A", level: "breaking", message: "The document was removed." },
      { variant: "B", level: "additive", message: "The document was added." },
    ]);
  });

  test("reports each x-not-shown mark that was answered, and each new one, with its line", async () => {
    const marked = (id: string) => ({
      ...inB,
      "x-not-shown": [{ id, section: "4.3", says: "A shape." }],
    });
    const at = await written("marks", {
      "old.json": marked("device-body"),
      "new.json": marked("envelope"),
    });
    const [old, revised] = [join(at, "old.json"), join(at, "new.json")];
    const part = { variant: "B", part: "x-not-shown", line: expect.any(Number), rules: [] };
    expect((await diffDocuments(old, revised)).changes).toEqual([
      { ...part, level: "additive", message: "Answered: device-body. A shape.", file: old },
      {
        ...part,
        level: "neutral",
        message: "Marked as not shown: envelope. A shape.",
        file: revised,
      },
    ]);
  });

  test("follows references to other files, and names file and line of a change in them", async () => {
    const state = (name: string, required: boolean, folder = ".") =>
      written(name, {
        "variant-b.yaml": openapi({ "/v1/devices": { $ref: `${folder}/common.yaml#/devices` } }),
        "common.yaml":
          "x-not-shown: []\ndevices:\n  get:\n    operationId: listDevices\n    parameters:\n" +
          `      - { name: page, in: query, required: ${required}, schema: { type: string } }\n` +
          "    responses:\n      200: { description: Done. }\n",
      });
    const [old, revised] = [await state("files", false), await state("later-files", true)];
    const file = join(revised, "common.yaml");
    const { changes } = await diffDocuments(old, revised);
    expect(changes).toMatchObject([
      { operation: "GET /v1/devices", level: "breaking", file, line: 6 },
    ]);
    const outside = await state("outside", false, "../later-files");
    await expect(diffDocuments(outside, revised)).rejects.toThrow("or the option refs");
    expect(await diffDocuments(outside, revised, { refs: folder })).toMatchObject({ changes: [] });
  });

  test("requests no address that an example names", async () => {
    let requests = 0;
    const server = createServer((_, response) => {
      requests += 1;
      response.end("{}");
    });
    const $ref = `http://127.0.0.1:${await servingOn(server)}/secret`;
    const content = { "text/plain": { schema: text, example: { $ref } } };
    const responses = { 200: { description: ".", content } };
    const document = openapi({ "/v1/a": { get: { operationId: "a", responses } } });
    const at = await written("address", {
      "old.json": openapi({ "/v1/a": {} }),
      "new.json": document,
    });
    const { changes } = await diffDocuments(join(at, "old.json"), join(at, "new.json"));
    expect({ changes, requests }).toMatchObject({ changes: [{ level: "additive" }], requests: 0 });
  });

  const misspelt = openapi({ "/v1/a": { psot: {} } });
  test.each<[name: string, document: unknown, code: GenerateErrorCode, says: string]>([
    ["a file that is missing", undefined, "document_unreadable", "no such file"],
    ["a document of the other variant", inA, "document_swapped", "of Variant B"],
    ["a misspelt method", misspelt, "document_invalid", '"psot" is not a method'],
  ])("refuses %s", async (name, document, code, says) => {
    const files = document === undefined ? {} : { "document.json": document };
    const at = await written(name, { ...files, "variant-b.json": inB });
    const refused = diffDocuments(join(at, "variant-b.json"), join(at, "document.json"));
    await expect(refused).rejects.toMatchObject({ code, message: expect.stringContaining(says) });
  });

  test("refuses a folder without documents, and a folder against a document", async () => {
    const [bare, full] = [
      await written("bare", {}),
      await written("full", { "variant-b.json": inB }),
    ];
    await expect(diffDocuments(bare, full)).rejects.toMatchObject({ code: "document_unreadable" });
    const mixed = diffDocuments(full, join(full, "variant-b.json"));
    await expect(mixed).rejects.toMatchObject({ code: "option_invalid" });
  });
});

describe("the program of Redocly", () => {
  test("is an optional package: without it the error has the command that installs it", () => {
    const find = () => {
      throw Object.assign(new Error("not found"), { code: "MODULE_NOT_FOUND" });
    };
    const message = expect.stringContaining("npm install --save-dev --save-exact @redocly/cli@");
    expect(() => findRedocly(find)).toThrow(
      expect.objectContaining({ code: "peer_missing", message }),
    );
  });

  const run = async (source: string, signal?: AbortSignal) => {
    const at = await written("programs", { "program.cjs": source });
    return runRedocly(join(at, "program.cjs"), "old.yaml", "new.yaml", signal);
  };

  test("gets no variable of the environment, so no secret", async () => {
    const report = await run(
      'console.log(JSON.stringify({ reportVersion: "1", changes: Object.keys(process.env) }))',
    );
    expect(report.changes).toEqual(["REDOCLY_TELEMETRY", "REDOCLY_SUPPRESS_UPDATE_NOTICE"]);
  });

  const crash = 'process.stderr.write("║ Node.js 20 ║\\nthe disk is full\\n"); process.exit(2)';
  test.each([
    ["crashes", crash, "the disk is full"],
    ["prints another report", 'console.log("{}")', "it printed no report"],
  ])("is reported when it %s", async (_, source, says) => {
    const words = `redocly diff failed: [^║]*${says}[^║]*npm install`;
    const message = expect.stringMatching(words);
    await expect(run(source)).rejects.toMatchObject({ code: "diff_failed", message });
  });

  test("is stopped by the signal", async () => {
    const stop = new AbortController();
    const pidFile = join(folder, "pid");
    const source =
      `require("fs").writeFileSync(${JSON.stringify(pidFile)}, ` +
      "String(process.pid)); setInterval(() => {}, 1e3)";
    const running = expect(run(source, stop.signal)).rejects.toThrow("Ctrl-C");
    const pid = () => Number(existsSync(pidFile) && readFileSync(pidFile, "utf8"));
    await expect.poll(pid).toBeGreaterThan(0);
    stop.abort(new Error("Ctrl-C"));
    await running;
    // The signal 0 only asks whether the process exists.
    const ask = async () => process.kill(pid(), 0);
    await expect.poll(() => ask().catch(({ code }) => code)).toBe("ESRCH");
  });
});

describe("diffVariants", () => {
  test("lists what differs in input and output of one operation", async () => {
    const [tokens, ...others] = await diffVariants({}, "requestToken");
    expect(others).toEqual([]);
    for (const difference of [
      {
        part: "operation",
        A: "POST /api/v1/{tenantId}/external-plugin/oauth/token",
        B: "POST /v1/auth/token",
      },
      { part: "path parameter tenantId", A: "required", B: undefined },
      { part: "request", A: "application/x-www-form-urlencoded", B: "application/json" },
      { part: "request client_assertion", A: "string, required", B: undefined },
      { part: "request client_secret", A: undefined, B: "string, required in some alternatives" },
      { part: "response 200 revo.roles[].name", A: "string, optional", B: undefined },
      { part: "response 200 refresh_token", A: undefined, B: "string, optional" },
      { part: "response 400", A: "application/json", B: undefined },
    ])
      expect(tokens?.differences).toContainEqual(difference);
    expect(tokens?.differences.map(({ part }) => part)).not.toContain("response 200 access_token");
  });

  test("compares all operations, and names one that only one variant has", async () => {
    const withMore = openapi(
      {
        ...ONE_OPERATION,
        "/tree": {
          get: { operationId: "tree", ...response({ $ref: "#/components/schemas/Tree" }) },
        },
      },
      { schemas: { Tree: object({ child: { $ref: "#/components/schemas/Tree" } }) } },
    );
    const at = await written("variants", { "a.json": openapi(ONE_OPERATION), "b.json": withMore });
    expect(await diffVariants({ A: join(at, "a.json"), B: join(at, "b.json") })).toEqual([
      { operationId: "listThings", differences: [] },
      { operationId: "tree", differences: [{ part: "operation", A: undefined, B: "GET /tree" }] },
    ]);
    const unknown = diffVariants({}, "nothing");
    await expect(unknown).rejects.toMatchObject({
      code: "option_invalid",
      message: expect.stringContaining("requestToken"),
    });
  });
});
