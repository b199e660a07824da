// Reads what one module imports, from its syntax tree: static, dynamic, type-only, re-exported and referenced.
import ts from "typescript";

export interface Import {
  /** As written; undefined when it is computed and so cannot be known. */
  readonly specifier: string | undefined;
  /** "type" is erased by the compiler; "dynamic" is loaded when the line runs. */
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
    callee.kind === ts.SyntaxKind.ImportKeyword || (ts.isIdentifier(callee) && callee.text === "require")
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
      // `import { type X }` counts as a value: verbatimModuleSyntax keeps the empty import in the output.
      const erased = node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
      add(erased ? "type" : "value", textOf(node.moduleSpecifier), start);
    } else if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined) {
      add(node.isTypeOnly ? "type" : "value", textOf(node.moduleSpecifier), start);
    } else if (ts.isImportEqualsDeclaration(node) && ts.isExternalModuleReference(node.moduleReference)) {
      add(node.isTypeOnly ? "type" : "value", textOf(node.moduleReference.expression), start);
    } else if (ts.isImportTypeNode(node)) {
      add("type", ts.isLiteralTypeNode(node.argument) ? textOf(node.argument.literal) : undefined, start);
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
