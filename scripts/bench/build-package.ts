// Compiles the package as npm packs it into a folder of its own: tsx would measure its own wrappers too.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Build } from "./row.js";

/** Below node_modules, where the dependencies resolve; whoever calls removes it. @throws when nothing compiles */
export function buildPackage(root: string): Build {
  const cache = join(root, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "bench-"));
  const compiler = join(root, "node_modules/typescript-7/bin/tsc");
  // Whether the types hold is asked elsewhere.
  const { status } = spawnSync(
    process.execPath,
    [compiler, "--project", join(root, "tsconfig.build.json"), "--outDir", join(folder, "dist"), "--noCheck"],
    { stdio: ["ignore", 2, 2] },
  );
  if (status !== 0) throw new Error("the package does not compile: nothing was measured");
  const { name, type, sideEffects } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name, type, sideEffects }));
  return { folder, main: pathToFileURL(join(folder, "dist/src/index.js")).href };
}
