/**
 * Finds every place in the public entries that takes an object: parameters of functions, and of
 * methods of what they return.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

/**
 * A parameter such as `connect(options)` or `Emulator.reset(changes)`, and the names that its type
 * has.
 */
export interface OptionPlace {
  readonly place: string;
  readonly names: readonly string[];
}

/** The source files of the entries in package.json. */
function entriesOf(root: string): string[] {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const typed = Object.values(exports as Record<string, string | { types: string }>);
  return typed.flatMap((one) =>
    typeof one === "string"
      ? []
      : join(root, one.types.replace(/^\.\/dist\//, "").replace(/\.d\.ts$/, ".ts")),
  );
}

export function findOptionPlaces(root: string): readonly OptionPlace[] {
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(
    { ...config, include: [], files: [] },
    ts.sys,
    root,
  );
  const entries = entriesOf(root);
  const program = ts.createProgram(entries, options);
  const checker = program.getTypeChecker();
  const places = new Map<string, Set<string>>();
  const seen = new Set<ts.Type>();

  /** A type of the language or of a package, but not one that `Omit` or `Pick` has made of ours. */
  const isForeign = (symbol: ts.Symbol | undefined): boolean =>
    symbol?.name !== "__type" &&
    (symbol?.declarations?.every((one) =>
      one.getSourceFile().fileName.includes("/node_modules/"),
    ) ??
      false);
  /** The interface or class that declares a member, so that each member has one place. */
  const ownerOf = (member: ts.Symbol): string | undefined => {
    const parent = member.declarations?.[0]?.parent;
    const isNamed = parent && (ts.isInterfaceDeclaration(parent) || ts.isClassDeclaration(parent));
    return isNamed ? parent.name?.text : undefined;
  };
  const isInternal = (signature: ts.Signature): boolean =>
    signature.getJsDocTags().some(({ name }) => name === "internal");

  const addParameter = (type: ts.Type, place: string): void => {
    for (const one of type.isUnion() ? type.types : [checker.getApparentType(type)]) {
      if (!(one.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection))) continue;
      const isInit = one.symbol?.name === "RequestInit";
      if ((isForeign(one.symbol) && !isInit) || one.getCallSignatures().length > 0) continue;
      if (checker.isArrayLikeType(one)) continue;
      const names = places.get(place) ?? new Set();
      for (const { name } of checker.getPropertiesOfType(one)) names.add(name);
      if (names.size > 0) places.set(place, names);
    }
  };

  const visit = (type: ts.Type, owner: string): void => {
    if (seen.has(type)) return;
    seen.add(type);
    if (type.isUnionOrIntersection()) for (const part of type.types) visit(part, owner);
    for (const argument of checker.getTypeArguments(type as ts.TypeReference))
      visit(argument, owner);
    if (!(type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) || isForeign(type.symbol))
      return;
    const name = type.symbol && !type.symbol.name.startsWith("__") ? type.symbol.name : owner;
    for (const signature of type.getCallSignatures()) visitSignature(signature, owner);
    for (const property of checker.getPropertiesOfType(type)) {
      const isHidden = property.name.includes("#") || property.flags & ts.SymbolFlags.Prototype;
      if (isForeign(property) || isHidden) continue;
      const member = checker.getTypeOfSymbol(property);
      const place = `${ownerOf(property) ?? name}.${property.name}`;
      for (const signature of member.getCallSignatures()) visitSignature(signature, place);
      if (member.getCallSignatures().length === 0) visit(member, place);
    }
  };

  const visitSignature = (signature: ts.Signature, owner: string): void => {
    if (isInternal(signature) || owner.includes("#")) return;
    for (const parameter of signature.parameters)
      addParameter(checker.getTypeOfSymbol(parameter), `${owner}(${parameter.name})`);
    visit(signature.getReturnType(), `${owner}()`);
  };

  for (const entry of entries) {
    const source = program.getSourceFile(entry);
    const module = source && checker.getSymbolAtLocation(source);
    if (module === undefined) throw new Error(`${entry} is not a module`);
    for (const exported of checker.getExportsOfModule(module)) {
      const symbol =
        exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
      if (!(symbol.flags & ts.SymbolFlags.Value)) continue;
      const type = checker.getTypeOfSymbol(symbol);
      for (const signature of type.getCallSignatures()) visitSignature(signature, exported.name);
      if (type.getCallSignatures().length === 0) visit(type, exported.name);
    }
  }
  return [...places].map(([place, names]) => ({ place, names: [...names] }));
}
