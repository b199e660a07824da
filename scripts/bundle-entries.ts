// Joins the compiled modules of every entry point into few files: a module of its own for each source costs its
// reader, who loads them one by one, several times what it costs to run them.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import type { Manifest } from "./package/manifest.js";

/** What package.json points into dist/ for, as sources. */
function entryPoints(root: string): string[] {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
  const exported = Object.values(manifest.exports).flatMap((target) =>
    typeof target === "string" ? [] : [target.default ?? ""],
  );
  return [...exported, ...Object.values(manifest.bin ?? {})].map((file) =>
    file.replace(/^\.\/dist\//, "").replace(/\.js$/, ".ts"),
  );
}

/**
 * Writes each entry where package.json expects it, and what several of them share into chunks beside them: an error
 * class is then one class, whichever entry it came from. Packages stay imports; nothing is minified.
 */
export async function bundleEntries(root: string, outdir: string): Promise<void> {
  await build({
    entryPoints: entryPoints(root),
    absWorkingDir: root,
    outdir,
    outbase: ".",
    chunkNames: "chunks/[name]-[hash]",
    bundle: true,
    splitting: true,
    packages: "external",
    format: "esm",
    platform: "node",
    target: "es2022",
    logLevel: "warning",
  });
}
