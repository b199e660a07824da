// Packs the package as npm would publish it and holds that what arrives in an empty folder works.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { lintTarball } from "./package/lint-tarball.js";
import { readManifest } from "./package/manifest.js";
import { runQuietly } from "./package/run-quietly.js";
import { tryInstalled } from "./package/try-installed.js";

async function pack(root: string, into: string): Promise<string> {
  const args = ["pack", "--json", "--ignore-scripts", "--loglevel=error", "--pack-destination", into];
  const { ok, stdout, output } = await runQuietly(root, "npm", args);
  if (!ok) throw new Error(`npm pack fails: ${output}`);
  return join(into, JSON.parse(stdout)[0].filename);
}

/** What the first stage that fails finds in the built package under `root`; it leaves nothing behind. */
export async function checkPackage(root: string): Promise<readonly string[]> {
  const manifest = readManifest(root);
  const folder = mkdtempSync(join(tmpdir(), "package-"));
  try {
    const tarball = await pack(root, folder);
    const findings = await lintTarball(manifest, root, tarball);
    return findings.length > 0 ? findings : await tryInstalled(manifest, join(folder, "empty"), tarball);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const root = process.cwd();
  const build = await runQuietly(root, "npm", ["run", "--silent", "build"]);
  const findings = build.ok ? await checkPackage(root) : [`the build fails: ${build.output}`];
  for (const finding of findings) console.error(finding);
  if (findings.length === 0) console.log("package: packs, lints, installs, imports and runs");
  process.exitCode = findings.length === 0 ? 0 : 1;
}
