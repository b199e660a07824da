/** Checks every OpenAPI document of a folder: Redocly's rules, then each example against its schema. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { readDocument } from "../../src/generate/read-document.js";
import { checkExamples } from "./check-examples.js";
import { lintDocument } from "./lint-document.js";

/** What is wrong, one line for each, with file and place; empty when nothing is. */
export async function checkFolder(folder: string): Promise<string[]> {
  const files = (await readdir(folder)).filter((name) => /^variant-[ab]\.yaml$/.test(name)).sort();
  if (files.length === 0) return [`${folder}: holds no variant-a.yaml or variant-b.yaml`];
  const problems: string[] = [];
  for (const file of files) {
    const document = await readDocument(file === "variant-a.yaml" ? "A" : "B", join(folder, file));
    problems.push(...(await lintDocument(folder, file)), ...checkExamples(document));
  }
  return problems;
}
