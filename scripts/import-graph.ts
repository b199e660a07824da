// Reads every import of the modules in src/ and generated/ from their syntax trees (static,
// dynamic, type-only, re-exported and referenced) and resolves it to a file, a package or a builtin
// of Node.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join, posix, relative, resolve, sep } from "node:path";
import ts from "typescript";

export interface Edge {
  readonly from: string;
  readonly kind: "value" | "type" | "dynamic";
  readonly line: number;
  /**
   * A path from the root ("src/errors.ts"), a package ("jose"), a builtin ("node:fs"), or undefined
   * if computed.
   */
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

/** Sources name the emitted file ("./a.js"); the file in the tree is "./a.ts". */
function resolveFile(root: string, from: string, specifier: string): Pick<Edge, "to" | "target"> {
  const written = resolve(root, dirname(from), specifier);
  const candidates = [
    written.replace(/\.([cm]?)js$/, ".$1ts"),
    written.replace(/\.js$/, ".tsx"),
    written,
  ];
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
  if (isBuiltin(specifier))
    return { to: `node:${specifier.replace(/^node:/, "")}`, target: "builtin" };
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
      ({ specifier, kind, line }): Edge => ({
        from,
        kind,
        line,
        ...resolveTarget(root, from, specifier),
      }),
    ),
  );
  return { files, edges };
}

export interface Import {
  /** The specifier as written; undefined if it is computed. */
  readonly specifier: string | undefined;
  /** The compiler erases "type" imports; "dynamic" ones are loaded when the line runs. */
  readonly kind: "value" | "type" | "dynamic";
  readonly line: number;
}

function textOf(node: ts.Node | undefined): string | undefined {
  return node !== undefined && ts.isStringLiteralLike(node) ? node.text : undefined;
}

/** `import(x)`, `require(x)` and `require.resolve(x)`. */
function isLoad(call: ts.CallExpression): boolean {
  const callee = ts.isPropertyAccessExpression(call.expression)
    ? call.expression.expression
    : call.expression;
  return (
    callee.kind === ts.SyntaxKind.ImportKeyword ||
    (ts.isIdentifier(callee) && callee.text === "require")
  );
}

export function readImports(fileName: string, source: string): readonly Import[] {
  const tree = ts.createSourceFile(fileName, source, ts.ScriptTarget.Latest, false);
  const found: Import[] = [];
  const add = (kind: Import["kind"], specifier: string | undefined, position: number): void => {
    found.push({ kind, specifier, line: tree.getLineAndCharacterOfPosition(position).line + 1 });
  };

  for (const reference of [...tree.referencedFiles, ...tree.typeReferenceDirectives]) {
    add("type", reference.fileName, reference.pos);
  }

  const visit = (node: ts.Node): void => {
    const start = node.getStart(tree);
    if (ts.isImportDeclaration(node)) {
      // `import { type X }` counts as a value: verbatimModuleSyntax keeps the empty import in the
      // output.
      const erased = node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
      add(erased ? "type" : "value", textOf(node.moduleSpecifier), start);
    } else if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined) {
      add(node.isTypeOnly ? "type" : "value", textOf(node.moduleSpecifier), start);
    } else if (
      ts.isImportEqualsDeclaration(node) &&
      ts.isExternalModuleReference(node.moduleReference)
    ) {
      add(node.isTypeOnly ? "type" : "value", textOf(node.moduleReference.expression), start);
    } else if (ts.isImportTypeNode(node)) {
      add(
        "type",
        ts.isLiteralTypeNode(node.argument) ? textOf(node.argument.literal) : undefined,
        start,
      );
    } else if (ts.isModuleDeclaration(node) && ts.isStringLiteral(node.name)) {
      add("type", node.name.text, start);
    } else if (ts.isCallExpression(node) && isLoad(node)) {
      add("dynamic", textOf(node.arguments[0]), start);
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return found;
}
