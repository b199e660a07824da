/** Documents that mean harm to whoever reads them: each is refused with a typed error. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { GenerateError, generate } from "../../src/generate/index.js";

const folder = mkdtempSync(join(tmpdir(), "bivariant-hostile-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const sound = readFileSync(new URL("../../openapi/variant-b.yaml", import.meta.url), "utf8");

test.each([
  {
    name: "an alias that names what it stands in",
    text: `${sound}\nx-loop: &loop\n  self: *loop\n`,
    code: "reference_circular",
  },
  {
    name: "a tag that the parser does not know",
    text: `${sound}\nx-odd: !!js/function 'return 1'\n`,
    code: "document_not_yaml",
  },
  {
    name: "a property named __proto__",
    text: sound.replace(
      /^ {2}schemas:\n/m,
      "  schemas:\n    Odd:\n      type: object\n      properties:\n        __proto__:\n          type: string\n",
    ),
    code: "schema_unsupported",
  },
])("$name is refused", async ({ text, code }) => {
  const path = join(folder, "hostile.yaml");
  writeFileSync(path, text);
  const documents = { A: new URL("../../openapi/variant-a.yaml", import.meta.url).pathname, B: path };
  const error = await generate({ documents, out: join(folder, "out") }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(GenerateError);
  expect((error as GenerateError).code).toBe(code);
});
