// Programs of the repository that tests run as processes of their own.
import { createHash } from "node:crypto";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));

/**
 * Bundles a module, which then starts in a tenth of the time that tsx needs. Returns the path of
 * its file, in a folder that finds the packages and is named by a hash of its content. Modules that
 * are loaded lazily stay files of their own.
 */
export function bundledProgram(module: URL): string {
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(module)],
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    packages: "external",
    outdir: "out",
    outExtension: { ".js": ".mjs" },
    write: false,
  });
  const hash = createHash("sha256");
  for (const { path, contents } of outputFiles) hash.update(basename(path)).update(contents);
  const folder = join(root, "node_modules/.cache/programs", hash.digest("hex").slice(0, 16));
  mkdirSync(folder, { recursive: true });
  for (const { path, contents } of outputFiles) {
    const file = join(folder, basename(path));
    // Another test process may be writing or running the same file.
    writeFileSync(`${file}.${process.pid}`, contents);
    renameSync(`${file}.${process.pid}`, file);
  }
  return join(folder, basename(module.pathname).replace(/\.ts$/, ".mjs"));
}
