/** Finds `any` in whatever a module exports: in types, members, parameters and returns, as deep as our own code goes. */
import { fileURLToPath } from "node:url";
import ts from "typescript";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export interface Walk {
  /** Names of exported types that are not classes, sorted. */
  readonly types: readonly string[];
  /** Where `any` stands, from the export down to it; sorted. */
  readonly found: readonly string[];
  /** How many types were looked at. */
  readonly visited: number;
}

/** One program for several modules: checking them anew for each would take most of the test's time. */
export function walkTypes(files: readonly string[]): ReadonlyMap<string, Walk> {
  const { config } = ts.readConfigFile(`${ROOT}/tsconfig.json`, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files }, ts.sys, ROOT);
  const program = ts.createProgram(
    files.map((file) => ROOT + file),
    options,
  );
  return new Map(files.map((file) => [file, walkModule(program, ROOT + file)]));
}

function walkModule(program: ts.Program, file: string): Walk {
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  const module = source && checker.getSymbolAtLocation(source);
  if (source === undefined || module === undefined) throw new Error(`${file} is no module`);
  const seen = new Set<ts.Type>();
  const found: string[] = [];

  /** What others wrote, the DOM's `json(): Promise<any>` say, is theirs; its type arguments are ours. */
  const isForeign = (symbol: ts.Symbol | undefined): boolean =>
    symbol?.declarations?.every((declaration) => {
      const { fileName } = declaration.getSourceFile();
      return fileName.includes("/node_modules/");
    }) ?? false;

  const visit = (type: ts.Type, way: string): void => {
    if (type.flags & ts.TypeFlags.Any) {
      found.push(way);
      return;
    }
    if (seen.has(type)) return;
    seen.add(type);
    for (const argument of type.aliasTypeArguments ?? []) visit(argument, `${way}<>`);
    if (checker.isArrayType(type) || checker.isTupleType(type) || isForeign(type.symbol)) {
      for (const argument of checker.getTypeArguments(type as ts.TypeReference)) visit(argument, `${way}[]`);
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
      // A class's `prototype` has `any` for its type parameters by the language's own rule.
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

  const symbols = checker.getExportsOfModule(module);
  for (const exported of symbols) {
    const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
    if (symbol.flags & ts.SymbolFlags.Value)
      visit(checker.getTypeOfSymbolAtLocation(symbol, source), exported.name);
    if (symbol.flags & ts.SymbolFlags.Type) visit(checker.getDeclaredTypeOfSymbol(symbol), exported.name);
  }
  const types = symbols.filter((symbol) => !isValue(symbol, checker)).map(({ name }) => name);
  return { types: types.sort(), found: found.sort(), visited: seen.size };
}

function isValue(exported: ts.Symbol, checker: ts.TypeChecker): boolean {
  const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
  return (symbol.flags & ts.SymbolFlags.Value) !== 0;
}
