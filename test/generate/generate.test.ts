/** Generating is deterministic, marks what it writes and notes what it came from. */
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { generate } from "../../src/generate/index.js";
import { ONE_OPERATION, openapi, sample } from "./sample-documents.js";

const FILES = ["lock.json", "operations.ts", "schemas.ts", "unknowns.ts", "variant-a.ts", "variant-b.ts"];

async function contents(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder)).sort();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), "utf8")])),
  );
}

test("the same documents give the same bytes", async () => {
  const { documents, out } = await sample(openapi(ONE_OPERATION));
  expect(await generate({ documents, out })).toEqual(FILES);
  const first = await contents(out);
  await generate({ documents, out: `${out}-again` });
  expect(await contents(`${out}-again`)).toEqual(first);
});

test("every source file says that it is generated, and from which document", async () => {
  const { documents, out } = await sample(openapi(ONE_OPERATION));
  await generate({ documents, out });
  const hash = createHash("sha256")
    .update(await readFile(documents.A))
    .digest("hex");
  for (const [name, text] of Object.entries(await contents(out))) {
    if (name !== "variant-b.ts") expect(text, name).toContain(hash);
    expect(text, name).toContain("do not edit");
  }
});

test("line ends and a byte order mark do not change the hash", async () => {
  const { documents, out } = await sample(openapi(ONE_OPERATION));
  await generate({ documents, out });
  const before = await contents(out);
  const text = await readFile(documents.A, "utf8");
  await writeFile(documents.A, `\uFEFF${text.replaceAll("\n", "\r\n")}`);
  await generate({ documents, out });
  expect(await contents(out)).toEqual(before);
});

test("the lock names the documents and the versions of every generator", async () => {
  const { documents, out } = await sample(openapi(ONE_OPERATION));
  await generate({ documents, out });
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
