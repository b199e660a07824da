// Compiles the package as npm packs it into a folder of its own: tsx would measure its own wrappers too.
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundleEntries } from "../bundle-entries.js";
import type { Build } from "./row.js";

/** Below node_modules, where the dependencies resolve; whoever calls removes it. @throws when it cannot be built */
export async function buildPackage(root: string): Promise<Build> {
  const cache = join(root, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "bench-"));
  await bundleEntries(root, join(folder, "dist"));
  const { name, type, sideEffects } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name, type, sideEffects }));
  return { folder, main: pathToFileURL(join(folder, "dist/node/src/index.js")).href };
}
