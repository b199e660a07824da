// Limits of `generate` that take large files. Each has a code, and none is met quadratically.
import { expect, test } from "vitest";
import { generate } from "../../src/generate/index.js";
import { openapi, sample } from "./sample-documents.js";

const large = "document_too_large";
const keys = () => Array.from({ length: 200_000 }, (_, at) => `k${at}: 1`).join("\n");
const rows: [name: string, code: string, text: () => string][] = [
  ["a file of 70 MB", large, () => JSON.stringify({ "x-many": Array(35e6).fill(1) })],
  ["more JSON objects than a Map holds", large, () => `{"x-many":[${"{},".repeat(17e6)}{}]}`],
  ["YAML of too many tokens", large, () => `a: 1${"\n".repeat(20e6)}`],
  ["a YAML mapping of 200,000 keys, one twice", "document_not_yaml", () => `${keys()}\nk0: 2\n`],
];

test.each(rows)("%s is refused with %s", async (_, code, text) => {
  const { documents, out } = await sample(text());
  await expect(generate({ documents, out })).rejects.toMatchObject({ name: "GenerateError", code });
});

test("a schema with an allOf of 200,000 members does not overflow the stack", async () => {
  const part = { type: "object", required: ["id"] };
  const content = { "application/json": { schema: { allOf: Array(200_000).fill(part) } } };
  const get = {
    operationId: "listThings",
    responses: { 200: { description: "Things.", content } },
  };
  const { documents, out } = await sample(JSON.stringify(openapi({ "/things": { get } })));
  expect(await generate({ documents, out })).toContain("schemas.ts");
});
