/** The operation table of a document with everything awkward in it: what is written, and that it compiles. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { generate } from "../../src/generate/index.js";
import { type CompiledSample, compiledSample } from "./compiled-sample.js";
import { ONE_OPERATION, openapi, sample } from "./sample-documents.js";

type Entry = { success: number[]; failure: number[] };

const json = (schema: object) => ({ "application/json": { schema } });
const parameter = (place: string, name: string, required = place === "path") => ({
  name,
  in: place,
  required,
  schema: { type: "string" },
});

const AWKWARD = openapi(
  {
    "/tenants/{tenantId}/things/{thing-id}": {
      parameters: [parameter("path", "tenantId"), parameter("path", "thing-id")],
      get: {
        operationId: "get-thing",
        parameters: [
          parameter("query", "fields"),
          parameter("header", "X-Envelope"),
          parameter("header", "X-Trace"),
          parameter("header", "Authorization"),
          parameter("cookie", "session"),
        ],
        responses: {
          200: { description: "One.", content: json({ type: "string" }) },
          404: { $ref: "#/components/responses/NotFound" },
          "4XX": { description: "Other.", content: json({ type: "number" }) },
          default: { description: "Any.", content: { "text/plain": { schema: { type: "string" } } } },
        },
      },
      put: {
        operationId: "constructor",
        parameters: [parameter("query", "version", true)],
        requestBody: { $ref: "#/components/requestBodies/Thing" },
        responses: { 204: { description: "Done." }, 299: { description: "Unregistered." } },
      },
    },
    "/things": {
      post: {
        operationId: "things.create",
        requestBody: {
          content: { "text/csv": {}, "application/problem+json": { schema: { type: "object" } } },
        },
        security: [],
        responses: { "2XX": { description: "Done.", content: {} } },
      },
      delete: { operationId: "'quo\"ted`", responses: { default: { description: "Any." } } },
    },
    "/shared": { $ref: "#/components/pathItems/Shared" },
  },
  {
    responses: { NotFound: { description: "None.", content: json({ type: "boolean" }) } },
    requestBodies: { Thing: { required: true, content: json({ type: "object", required: ["a"] }) } },
    pathItems: {
      Shared: { get: { operationId: "getShared", responses: { 200: { description: "Shared." } } } },
    },
  },
);

describe("operations.ts of an awkward document", () => {
  let compiled: CompiledSample;
  let text: string;

  beforeAll(async () => {
    compiled = await compiledSample(AWKWARD);
    text = await compiled.text("operations.ts");
    return compiled.remove;
  });

  test("compiles with the repository's own compiler options, and so do the other files", () => {
    expect(compiled.diagnostics()).toEqual([]);
  });

  test("holds each documented status at run time, ranges spelt out", async () => {
    const { operationsA } = await compiled.load<{ operationsA: Record<string, Entry> }>("operations");
    expect(operationsA["get-thing"]).toMatchObject({ method: "GET", success: [200] });
    expect(operationsA["get-thing"]?.failure).toContain(418);
    expect(operationsA["get-thing"]?.failure.filter((status) => status === 404)).toHaveLength(1);
    expect(operationsA.constructor).toMatchObject({ success: [204, 299], contentType: "application/json" });
    expect(operationsA["things.create"]).toMatchObject({
      contentType: "application/problem+json",
      anonymous: true,
      success: [200, 201, 202, 203, 204, 205, 206, 207, 208, 226],
      failure: [],
    });
    expect(operationsA.getShared).toMatchObject({ path: "/shared", success: [200] });
  });

  test("looks types up and computes none", () => {
    expect(text).not.toMatch(/ extends /);
    expect(text).toContain(
      `404: A.operations["get-thing"]["responses"][404]["content"]["application/json"];`,
    );
    expect(text).toContain(
      `418: A.operations["get-thing"]["responses"]["4XX"]["content"]["application/json"];`,
    );
    expect(text).toContain(
      `otherBody: A.operations["get-thing"]["responses"]["default"]["content"]["text/plain"];`,
    );
    expect(text).toContain("otherBody: undefined;");
  });

  test("leaves X-Envelope to the call options, and what are no parameters to nobody", () => {
    expect(text).not.toMatch(/\["X-Envelope"\]|\["Authorization"\]/);
    expect(text).toContain(`"X-Trace"?:`);
  });

  test("requires init exactly when something in it is required", () => {
    expect(text).toContain('args: [init: InitsA["get-thing"]]');
    expect(text).toContain('args: [init: InitsA["constructor"]]');
    expect(text).toContain('args: [init?: InitsA["things.create"]]');
    expect(text).toContain('args: [init?: InitsB["listThings"]]');
  });
});

test("tenantId is optional in A and required in B", async () => {
  const paths = {
    "/{tenantId}": {
      get: { operationId: "one", parameters: [parameter("path", "tenantId")], responses: {} },
    },
  };
  const { documents, out } = await sample(openapi(paths), openapi(paths));
  await generate({ documents, out });
  const text = await readFile(join(out, "operations.ts"), "utf8");
  expect(text).toContain('args: [init?: InitsA["one"]]');
  expect(text).toContain('args: [init: InitsB["one"]]');
  expect(text).toContain('one: { args: [init: InitsA["one"] & InitsB["one"]] }');
});

test("a document without a common operation gives an empty table for both", async () => {
  const { documents, out } = await sample(openapi({}), openapi(ONE_OPERATION));
  await generate({ documents, out });
  expect(await readFile(join(out, "operations.ts"), "utf8")).toContain(
    "export interface OperationsBoth {\n}",
  );
});
