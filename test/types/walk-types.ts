/**
 * Finds `any` in the exports of a module: in types, members, parameters and results, as deep as our
 * own code goes.
 */
import ts from "typescript";

/** The places of `any`, each as the way from an export down to it; sorted. */
export function findAny(program: ts.Program, file: string): readonly string[] {
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  const module = source && checker.getSymbolAtLocation(source);
  if (source === undefined || module === undefined) throw new Error(`${file} is not a module`);
  const seen = new Set<ts.Type>();
  const found: string[] = [];

  /**
   * A foreign type, such as the DOM's `json(): Promise<any>`, is skipped, but its type arguments
   * are searched.
   */
  const isForeign = (symbol: ts.Symbol | undefined): boolean =>
    symbol?.declarations?.every((one) => one.getSourceFile().fileName.includes("/node_modules/")) ??
    false;

  const visit = (type: ts.Type, way: string): void => {
    if (type.flags & ts.TypeFlags.Any) {
      found.push(way);
      return;
    }
    if (seen.has(type)) return;
    seen.add(type);
    for (const argument of type.aliasTypeArguments ?? []) visit(argument, `${way}<>`);
    if (checker.isArrayType(type) || checker.isTupleType(type) || isForeign(type.symbol)) {
      for (const argument of checker.getTypeArguments(type as ts.TypeReference))
        visit(argument, `${way}[]`);
      return;
    }
    if (type.isUnionOrIntersection()) for (const part of type.types) visit(part, way);
    if (type.flags & ts.TypeFlags.TypeParameter) {
      const constraint = checker.getBaseConstraintOfType(type);
      if (constraint !== undefined) visit(constraint, `${way} extends`);
      return;
    }
    if (type.flags & ts.TypeFlags.Conditional) {
      const { root } = type as ts.ConditionalType;
      visit(checker.getTypeFromTypeNode(root.node.trueType), `${way} ?`);
      visit(checker.getTypeFromTypeNode(root.node.falseType), `${way} :`);
      return;
    }
    if (!(type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection))) return;
    for (const info of checker.getIndexInfosOfType(type)) visit(info.type, `${way}[key]`);
    for (const property of checker.getPropertiesOfType(type)) {
      // The language itself types a class's `prototype` with `any` for each type parameter.
      if (isForeign(property) || property.flags & ts.SymbolFlags.Prototype) continue;
      visit(checker.getTypeOfSymbolAtLocation(property, source), `${way}.${property.name}`);
    }
    for (const signature of [...type.getCallSignatures(), ...type.getConstructSignatures()]) {
      if (signature.declaration?.getSourceFile().fileName.includes("/node_modules/")) continue;
      for (const parameter of signature.typeParameters ?? [])
        visit(parameter, `${way}<${parameter.symbol.name}>`);
      for (const parameter of signature.parameters)
        visit(checker.getTypeOfSymbolAtLocation(parameter, source), `${way}(${parameter.name})`);
      visit(signature.getReturnType(), `${way}()`);
    }
  };

  for (const exported of checker.getExportsOfModule(module)) {
    const symbol =
      exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
    if (symbol.flags & ts.SymbolFlags.Value)
      visit(checker.getTypeOfSymbolAtLocation(symbol, source), exported.name);
    if (symbol.flags & ts.SymbolFlags.Type)
      visit(checker.getDeclaredTypeOfSymbol(symbol), exported.name);
  }
  return found.sort();
}
