// `generate` and `checkGenerated`: what they write, which drift they report, and which documents they refuse.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test, vi } from "vitest";
import { loadPeer } from "../../src/generate/emit-variant-types.js";
import { checkGenerated, GenerateError, generate } from "../../src/generate/index.js";
import { ONE_OPERATION, openapi, sample } from "./sample-documents.js";

const FILES = ["lock.json", "operations.ts", "schemas.ts", "unknowns.ts", "variant-a.ts", "variant-b.ts"];

async function generated() {
  const { documents, out } = await sample(openapi(ONE_OPERATION));
  const names = await generate({ documents, out });
  return { documents, out, names };
}

async function contents(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder)).sort();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), "utf8")])),
  );
}

describe("generate", () => {
  test("writes the same bytes for the same documents", async () => {
    const { documents, out, names } = await generated();
    expect(names).toEqual(FILES);
    await generate({ documents, out: `${out}-again` });
    expect(await contents(`${out}-again`)).toEqual(await contents(out));
  });

  test("writes into every file that it is generated, and the hash of its document", async () => {
    const { documents, out } = await generated();
    const hash = createHash("sha256")
      .update(await readFile(documents.A))
      .digest("hex");
    for (const [name, text] of Object.entries(await contents(out))) {
      if (name !== "variant-b.ts") expect(text, name).toContain(hash);
      expect(text, name).toContain("do not edit");
    }
  });

  test("ignores line ends and a byte order mark", async () => {
    const { documents, out } = await generated();
    const before = await contents(out);
    const text = await readFile(documents.A, "utf8");
    await writeFile(documents.A, `\uFEFF${text.replaceAll("\n", "\r\n")}`);
    await generate({ documents, out });
    expect(await contents(out)).toEqual(before);
  });

  test("writes the documents and the version of every generator into the lock", async () => {
    const { out } = await generated();
    expect(JSON.parse(await readFile(join(out, "lock.json"), "utf8"))).toMatchObject({
      documents: { A: { file: "a.yaml" }, B: { file: "b.yaml" } },
      generators: {
        bivariant: expect.any(Number),
        "openapi-typescript": expect.stringMatching(/^7\.13\./),
        typescript: expect.stringMatching(/^5\./),
        zod: expect.stringMatching(/^4\./),
      },
    });
  });
});

describe("a package that only generating needs", () => {
  const failing = (cause: Error) => loadPeer("openapi-typescript", () => Promise.reject(cause));

  test("is named with the command that installs it when it is missing", async () => {
    const missing = failing(Object.assign(new Error(), { code: "ERR_MODULE_NOT_FOUND" }));
    await expect(missing).rejects.toMatchObject({ name: "GenerateError", code: "peer_missing" });
    await expect(missing).rejects.toThrow(
      /package openapi-typescript\. .*npm install .*openapi-typescript@7\.13\.0 typescript@5\.9/,
    );
  });

  test("keeps its own error when it fails to load", async () => {
    const broken = new Error("broken");
    await expect(failing(broken)).rejects.toBe(broken);
  });

  test("is refused when it is a TypeScript without a compiler API", async () => {
    vi.doMock("typescript", () => ({ default: { version: "7.0.2" } }));
    const { documents, out } = await sample(openapi({}));
    const unsuitable = generate({ documents, out });
    await expect(unsuitable).rejects.toMatchObject({ code: "peer_unsuitable" });
    await expect(unsuitable).rejects.toThrow(/typescript 7\.0\.2 .*npm install .*typescript@5\.9/);
    vi.doUnmock("typescript");
  });
});

const NONE = { missing: [], different: [], extra: [] };

const drifts = [
  { name: "nothing changed", change: async () => {}, drift: NONE },
  {
    name: "a file was deleted",
    change: (out: string) => rm(join(out, "schemas.ts")),
    drift: { ...NONE, missing: ["schemas.ts"] },
  },
  {
    name: "a file was edited",
    change: (out: string) => writeFile(join(out, "operations.ts"), "export {};\n"),
    drift: { ...NONE, different: ["operations.ts"] },
  },
  {
    name: "there is a new file",
    change: (out: string) => writeFile(join(out, "extra.ts"), ""),
    drift: { ...NONE, extra: ["extra.ts"] },
  },
  {
    name: "there is a new file in a folder below",
    change: async (out: string) => {
      await mkdir(join(out, "more"));
      await writeFile(join(out, "more", "extra.ts"), "");
    },
    drift: { ...NONE, extra: ["more/extra.ts"] },
  },
  {
    name: "a checkout changed the line ends",
    change: async (out: string) => {
      const text = await readFile(join(out, "unknowns.ts"), "utf8");
      await writeFile(join(out, "unknowns.ts"), text.replaceAll("\n", "\r\n"));
    },
    drift: NONE,
  },
  {
    name: "the folder is missing",
    change: (out: string) => rm(out, { recursive: true }),
    drift: { ...NONE, missing: FILES },
  },
];

describe("checkGenerated", () => {
  test.each(drifts)("reports the drift when $name", async ({ change, drift }) => {
    const { documents, out } = await generated();
    await change(out);
    expect(await checkGenerated({ documents, out })).toEqual(drift);
  });

  test("reports every file that depends on a document that changed", async () => {
    const { documents, out } = await generated();
    await writeFile(documents.A, `${await readFile(documents.A, "utf8")}# a comment\n`);
    const { different } = await checkGenerated({ documents, out });
    expect(different).toEqual(["lock.json", "operations.ts", "schemas.ts", "unknowns.ts", "variant-a.ts"]);
  });

  test("reports no drift in this repository", async () => {
    const fromRoot = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
    const documents = { A: fromRoot("openapi/variant-a.yaml"), B: fromRoot("openapi/variant-b.yaml") };
    expect(await checkGenerated({ documents, out: fromRoot("generated") })).toEqual(NONE);
  });
});

const get = (operation: object) => openapi({ "/things": { get: operation } });
const answer = (schema: object, components: object = {}) =>
  openapi(
    {
      "/things": {
        get: {
          operationId: "listThings",
          responses: { 200: { description: "Things.", content: { "application/json": { schema } } } },
        },
      },
    },
    components,
  );
const SCHEMA = "/paths/~1things/get/responses/200/content/application~1json/schema";

const refused = [
  { name: "text that is not YAML", document: "a: [1", code: "document_not_yaml" },
  { name: "a list at the top", document: "- 1\n", code: "document_not_yaml" },
  {
    name: "a YAML tag that the parser does not know",
    document: "a: !!js/function 'x'\n",
    code: "document_not_yaml",
  },
  {
    name: "a YAML alias that refers to a node that contains it",
    document: "openapi: 3.1.0\nx-loop: &loop\n  self: *loop\n",
    code: "reference_circular",
  },
  {
    name: "a property named __proto__",
    document: `{ "openapi": "3.1.0", "components": { "schemas": { "Odd": { "properties": { "__proto__": {} } } } } }`,
    code: "schema_unsupported",
  },
  {
    name: "OpenAPI 3.0",
    document: { ...openapi(ONE_OPERATION), openapi: "3.0.3" },
    code: "document_version_unsupported",
    pointer: "/openapi",
  },
  { name: "a document of another kind", document: { swagger: "2.0" }, code: "document_version_unsupported" },
  {
    name: "a $ref to a missing place",
    document: answer({ $ref: "#/components/schemas/Missing" }),
    code: "reference_missing",
    pointer: SCHEMA,
  },
  { name: "a $ref to another file", document: answer({ $ref: "other.yaml#/A" }), code: "reference_external" },
  {
    name: "references in a circle",
    document: answer(
      {},
      { schemas: { A: { $ref: "#/components/schemas/B" }, B: { $ref: "#/components/schemas/A" } } },
    ),
    code: "reference_circular",
  },
  {
    name: "an operation without operationId",
    document: get({ responses: {} }),
    code: "operation_id_missing",
    pointer: "/paths/~1things/get",
  },
  {
    name: "an operationId given twice",
    document: openapi({ ...ONE_OPERATION, "/more": ONE_OPERATION["/things"] }),
    code: "operation_id_duplicate",
    pointer: "/paths/~1more/get/operationId",
  },
  {
    name: "a key that is not a status",
    document: get({ operationId: "a", responses: { "2OO": { description: "Letters." } } }),
    code: "status_invalid",
  },
  {
    name: "an x-not-shown mark without an id",
    document: { ...openapi(ONE_OPERATION), "x-not-shown": [{ section: "1", says: "This." }] },
    code: "not_shown_invalid",
    pointer: "/x-not-shown/0",
  },
  {
    name: "a mark without an id at a property named default",
    document: answer({
      type: "object",
      properties: { default: { "x-not-shown": [{ section: "1", says: "This." }] } },
    }),
    code: "not_shown_invalid",
    pointer: `${SCHEMA}/properties/default`,
  },
  {
    name: "one id for two unknowns",
    document: {
      ...openapi(ONE_OPERATION),
      "x-not-shown": [
        { id: "a", section: "1", says: "This." },
        { id: "a", section: "1", says: "That." },
      ],
    },
    code: "not_shown_invalid",
  },
  {
    name: "a parameter without a place",
    document: get({ operationId: "a", parameters: [{ name: "b" }], responses: {} }),
    code: "document_invalid",
  },
  ...[
    { if: { type: "string" } },
    { not: { type: "string" } },
    { type: "object", unevaluatedProperties: false },
    { type: "object", dependentRequired: { a: ["b"] } },
    { type: "object", dependentSchemas: { a: {} } },
    { $dynamicRef: "#here" },
    { type: "string", nullable: true },
    { type: "string", minLenght: 1 },
    { enum: [{ a: 1 }] },
    { const: [1] },
    { type: "object", patternProperties: { "\\p{L}": {} } },
    { type: "object", propertyNames: { anyOf: [{ pattern: "^a" }, { pattern: "b$" }] } },
    { type: "string", pattern: "\\p{L}" },
    { type: "string", pattern: "(" },
    { items: [{ type: "string" }] },
  ].map((schema) => ({
    name: `the schema ${JSON.stringify(schema)}`,
    document: answer({ type: "object", properties: { a: schema } }),
    code: "schema_unsupported",
    pointer: `${SCHEMA}/properties/a`,
  })),
];

describe("a refused document", () => {
  test.each(refused)("$name is refused with $code", async ({ document, code, pointer }) => {
    const { documents, out } = await sample(document);
    const error = await generate({ documents, out }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(GenerateError);
    const refusal = error as GenerateError;
    expect(refusal.code).toBe(code);
    if (code !== "reference_circular") expect(refusal.document).toBe("a.yaml");
    if (pointer !== undefined) expect(refusal.pointer).toContain(pointer);
    expect(existsSync(out)).toBe(false);
  });

  test("a file that is missing is refused with document_unreadable", async () => {
    const { documents, out } = await sample(openapi(ONE_OPERATION));
    const missing = { ...documents, A: `${documents.A}.missing` };
    await expect(generate({ documents: missing, out })).rejects.toMatchObject({
      code: "document_unreadable",
    });
  });

  test("the message names the method and path of an operation without operationId", async () => {
    const { documents, out } = await sample(get({ responses: {} }));
    await expect(generate({ documents, out })).rejects.toThrow("GET /things");
  });
});
