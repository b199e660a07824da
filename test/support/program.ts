// Programs of the tests that run as processes of their own.
import { createHash } from "node:crypto";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));

/**
 * Bundles a module of the tests, which starts in a tenth of the time that tsx needs. Returns the
 * path of a file that finds the packages, and is named by a hash of its content.
 */
export function bundledProgram(module: URL): string {
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(module)],
    ...{ bundle: true, format: "esm", platform: "node", packages: "external", write: false },
  });
  const text = outputFiles[0]?.text ?? "";
  const folder = join(root, "node_modules/.cache/programs");
  mkdirSync(folder, { recursive: true });
  const name = createHash("sha256").update(text).digest("hex").slice(0, 16);
  const file = join(folder, `${name}.mjs`);
  // Another test process may be writing or running the same file.
  writeFileSync(`${file}.${process.pid}`, text);
  renameSync(`${file}.${process.pid}`, file);
  return file;
}
