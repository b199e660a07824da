/** Compares what stands in the folder of generated files with what the documents give now. */
import { readdir, readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import type { GenerateOptions } from "./generate.js";
import { render } from "./render.js";

/** File names relative to the folder, sorted. All three empty: no drift. */
export interface Drift {
  readonly missing: readonly string[];
  readonly different: readonly string[];
  /** Files that generating would not write. */
  readonly extra: readonly string[];
}

/**
 * Generates in memory and reports every file of `out` that is missing, differs or does not belong there. Nothing is
 * written.
 *
 * @throws {GenerateError} as `generate` does.
 * @example
 * const drift = await checkGenerated({ documents, out: "generated" });
 * if (drift.missing.length + drift.different.length + drift.extra.length > 0) process.exitCode = 1;
 */
export async function checkGenerated(options: GenerateOptions): Promise<Drift> {
  const expected = await render(options.documents);
  const found = new Set(await filesBelow(options.out));
  const different: string[] = [];
  for (const [name, content] of expected) {
    if (!found.has(name)) continue;
    const text = await readFile(join(options.out, name), "utf8");
    // Line ends are the checkout's business.
    if (text.replaceAll("\r\n", "\n") !== content) different.push(name);
  }
  return {
    missing: [...expected.keys()].filter((name) => !found.has(name)).sort(),
    different: different.sort(),
    extra: [...found].filter((name) => !expected.has(name)).sort(),
  };
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    if ((error as { code?: unknown }).code === "ENOENT") return [];
    throw error;
  });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/"));
}
