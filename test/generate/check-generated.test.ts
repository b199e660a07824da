/** The drift check sees a file that is missing, one that differs and one that does not belong there. */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { checkGenerated, generate } from "../../src/generate/index.js";
import { ONE_OPERATION, openapi, sample } from "./sample-documents.js";

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
    name: "a new file stands there",
    change: (out: string) => writeFile(join(out, "extra.ts"), ""),
    drift: { ...NONE, extra: ["extra.ts"] },
  },
  {
    name: "a new file stands in a folder below",
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
    name: "the folder is not there",
    change: (out: string) => rm(out, { recursive: true }),
    drift: {
      ...NONE,
      missing: ["lock.json", "operations.ts", "schemas.ts", "unknowns.ts", "variant-a.ts", "variant-b.ts"],
    },
  },
];

describe("the drift check", () => {
  test.each(drifts)("reports when $name", async ({ change, drift }) => {
    const { documents, out } = await sample(openapi(ONE_OPERATION));
    await generate({ documents, out });
    await change(out);
    expect(await checkGenerated({ documents, out })).toEqual(drift);
  });

  test("reports every source file when a document changed", async () => {
    const { documents, out } = await sample(openapi(ONE_OPERATION));
    await generate({ documents, out });
    await writeFile(documents.A, `${await readFile(documents.A, "utf8")}# a comment\n`);
    const { different } = await checkGenerated({ documents, out });
    expect(different).toEqual(["lock.json", "operations.ts", "schemas.ts", "unknowns.ts", "variant-a.ts"]);
  });

  test("finds no drift in this repository", async () => {
    const fromRoot = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
    const documents = { A: fromRoot("openapi/variant-a.yaml"), B: fromRoot("openapi/variant-b.yaml") };
    expect(await checkGenerated({ documents, out: fromRoot("generated") })).toEqual(NONE);
  });
});
