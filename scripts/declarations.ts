// Removes the declarations that no entry reaches, such as those of the command line, and finds
// types that name a package which is bundled and so is not there for the compiler of a user.
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import ts from "typescript";
import { installedPackages, type Manifest } from "./build.js";

/** Returns what is wrong, in sentences. */
export function pruneDeclarations(root: string, manifest: Manifest): readonly string[] {
  const dist = join(root, "dist");
  const installed = installedPackages(manifest);
  const left = Object.values(manifest.exports).flatMap((target) =>
    typeof target === "string" || target.types === undefined ? [] : join(root, target.types),
  );
  const reached = new Set<string>();
  const wrong: string[] = [];
  for (let file = left.pop(); file !== undefined; file = left.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    for (const { fileName: specifier } of ts.preProcessFile(readFileSync(file, "utf8"))
      .importedFiles) {
      if (specifier.startsWith("."))
        left.push(join(dirname(file), specifier.replace(/\.js$/, ".d.ts")));
      else if (
        !specifier.startsWith("node:") &&
        !installed.some((name) => `${specifier}/`.startsWith(`${name}/`))
      )
        wrong.push(
          `${relative(root, file)} names the types of ${specifier}, which is not installed.`,
        );
    }
  }
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (entry.name.endsWith(".d.ts") && !reached.has(file)) rmSync(file);
  }
  return wrong;
}
