// What publint and Are The Types Wrong find in a packed tarball.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import type { Manifest } from "./manifest.js";
import { runQuietly } from "./run-quietly.js";

/** publint as a library: files that are missing, not packed or of the wrong format, in the order of package.json. */
async function lintContents(tarball: string): Promise<readonly string[]> {
  const bytes = new Uint8Array(readFileSync(tarball)).buffer;
  const { messages, pkg } = await publint({ pack: { tarball: bytes }, level: "warning" });
  return messages.map((message) => `publint: ${formatMessage(message, pkg, { color: false })}`);
}

/** It passes a package without any types, so that is asked here first. */
async function lintTypes(manifest: Manifest, root: string, tarball: string): Promise<readonly string[]> {
  const untyped = Object.entries(manifest.exports)
    .filter(([, target]) => typeof target !== "string" && target.types === undefined)
    .map(([entry]) => `package.json: the entry point ${entry} has no types`);
  if (untyped.length > 0) return untyped;
  const attw = createRequire(import.meta.url).resolve("@arethetypeswrong/cli/package.json");
  const { ok, output } = await runQuietly(root, process.execPath, [
    attw.replace("package.json", "dist/index.js"),
    tarball,
    ...["--profile", "esm-only", "--format", "ascii", "--no-emoji", "--no-color", "--no-definitely-typed"],
  ]);
  return ok ? [] : [`attw: ${output}`];
}

export async function lintTarball(
  manifest: Manifest,
  root: string,
  tarball: string,
): Promise<readonly string[]> {
  return [...(await lintContents(tarball)), ...(await lintTypes(manifest, root, tarball))];
}
