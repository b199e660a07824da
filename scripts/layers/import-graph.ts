// Walks the modules of src/ and generated/ and resolves every import to a file, a package or a builtin of Node.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join, posix, relative, resolve, sep } from "node:path";
import { readImports } from "./read-imports.js";

export interface Edge {
  readonly from: string;
  readonly kind: "value" | "type" | "dynamic";
  readonly line: number;
  /** A path from the root ("src/errors.ts"), a package ("jose"), a builtin ("node:fs"), or undefined if computed. */
  readonly to: string | undefined;
  readonly target: "file" | "missing" | "package" | "builtin" | "computed";
}

const SOURCE = /\.[cm]?[jt]sx?$/;
const PACKAGE = /^(@[^/]+\/)?[^/]+/;

function sourceFiles(root: string, folder: string): string[] {
  const start = join(root, folder);
  if (!existsSync(start)) return [];
  return readdirSync(start, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && SOURCE.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join(posix.sep))
    .sort();
}

/** Sources name the emitted file ("./a.js"); what stands there is the TypeScript file ("./a.ts"). */
function resolveFile(root: string, from: string, specifier: string): Pick<Edge, "to" | "target"> {
  const written = resolve(root, dirname(from), specifier);
  const candidates = [written.replace(/\.([cm]?)js$/, ".$1ts"), written.replace(/\.js$/, ".tsx"), written];
  const file = candidates.find((path) => statSync(path, { throwIfNoEntry: false })?.isFile());
  const to = relative(root, file ?? written)
    .split(sep)
    .join(posix.sep);
  return { to, target: file === undefined ? "missing" : "file" };
}

function resolveTarget(
  root: string,
  from: string,
  specifier: string | undefined,
): Pick<Edge, "to" | "target"> {
  if (specifier === undefined) return { to: undefined, target: "computed" };
  if (/^\.{0,2}\//.test(specifier)) return resolveFile(root, from, specifier);
  if (isBuiltin(specifier)) return { to: `node:${specifier.replace(/^node:/, "")}`, target: "builtin" };
  return { to: PACKAGE.exec(specifier)?.[0] ?? specifier, target: "package" };
}

/** Every edge that starts in src/ or generated/, in the order of the files. */
export function importGraph(root: string): {
  readonly files: readonly string[];
  readonly edges: readonly Edge[];
} {
  const files = ["src", "generated"].flatMap((folder) => sourceFiles(root, folder));
  const edges = files.flatMap((from) =>
    readImports(from, readFileSync(join(root, from), "utf8")).map(
      ({ specifier, kind, line }): Edge => ({ from, kind, line, ...resolveTarget(root, from, specifier) }),
    ),
  );
  return { files, edges };
}
