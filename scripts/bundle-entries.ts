// Joins the compiled modules of every entry point into few files: a module of its own for each source costs its
// reader, who loads them one by one, several times what it costs to run them.
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { type BuildOptions, build } from "esbuild";
import { oneChunk } from "./one-chunk.js";
import type { Manifest } from "./package/manifest.js";

/** Below dist/: where the files lie that Node loads. */
const FOR_NODE = "node";

/** The entry points that package.json names, as sources: all of them, and those with a file for Node of their own. */
function entryPoints(root: string): { readonly all: readonly string[]; readonly forNode: readonly string[] } {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
  const targets = Object.values(manifest.exports).filter((target) => typeof target !== "string");
  const sourceOf = (file: string, folder: string): string => relative(folder, file).replace(/\.js$/, ".ts");
  const exported = targets.flatMap((target) => target.default ?? []);
  return {
    all: [...exported, ...Object.values(manifest.bin ?? {})].map((file) => sourceOf(file, "dist")),
    forNode: targets.flatMap(({ node }) => node ?? []).map((file) => sourceOf(file, join("dist", FOR_NODE))),
  };
}

/**
 * Writes each entry where package.json expects it, and what several of them share into chunks beside them: an error
 * class is then one class, whichever entry it came from. Packages stay imports; nothing is minified.
 *
 * Bundlers get a chunk for every set of entries, so that what an app does not use is in none that it loads. Node, which
 * would wait for each of those files and leaves nothing out, gets one chunk for all that the first entry loads.
 */
export async function bundleEntries(root: string, outdir: string): Promise<void> {
  const { all, forNode } = entryPoints(root);
  const shared: BuildOptions = {
    absWorkingDir: root,
    outbase: ".",
    chunkNames: "chunks/[name]-[hash]",
    bundle: true,
    splitting: true,
    packages: "external",
    format: "esm",
    platform: "node",
    target: "es2022",
    logLevel: "warning",
  };
  await build({ ...shared, entryPoints: [...all], outdir });
  const [main, ...others] = forNode.map((entry) => join(root, entry));
  if (main === undefined) return;
  const plugins = [oneChunk(main, others)];
  await build({ ...shared, entryPoints: [...forNode], outdir: join(outdir, FOR_NODE), plugins });
}
