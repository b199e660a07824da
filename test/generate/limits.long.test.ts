// The limits of `generate` that take large files: each is an error with a code, and none is met by
// a quadratic loop.
import { expect, test } from "vitest";
import { generate } from "../../src/generate/index.js";
import { openapi, sample } from "./sample-documents.js";

const rows: { name: string; code: string; text: () => string }[] = [
  {
    name: "a file of 70 MB",
    code: "document_too_large",
    text: () => JSON.stringify({ "x-many": Array(35e6).fill(1) }),
  },
  {
    name: "more JSON objects than a Map holds",
    code: "document_too_large",
    text: () => `{"x-many":[${"{},".repeat(17e6)}{}]}`,
  },
  {
    name: "YAML of too many tokens",
    code: "document_too_large",
    text: () => `a: 1${"\n".repeat(20e6)}`,
  },
  {
    name: "a YAML mapping of 200,000 keys, of which the last is given twice",
    code: "document_not_yaml",
    text: () => `${Array.from({ length: 200_000 }, (_, at) => `k${at}: 1`).join("\n")}\nk0: 2\n`,
  },
];

test.each(rows)("$name is refused with $code", async ({ code, text }) => {
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
