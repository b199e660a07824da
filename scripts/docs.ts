// Makes the site of the package in site/: its pages, and a reference of every public name of every
// entry. `--check` writes nothing and fails where a name has no docstring, a function has no
// example, an example does not compile, a link leads nowhere, or a type that a signature names is
// missing.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import {
  Application,
  Converter,
  type DeclarationReflection,
  type DocumentationEntryPoint,
  Logger,
  LogLevel,
  type MinimalSourceFile,
  OptionDefaults,
  type ProjectReflection,
  type Reflection,
  ReflectionKind,
  TSConfigReader,
} from "typedoc";
import ts from "typescript";
import { readManifest } from "./build.js";
import { compile, entrySources } from "./examples.js";

/** README.md is the first page of the site. */
const PAGES = ["!(README).md", "openapi/*.md", "src/**/*.md", "test/README.md"];

/** Interfaces, classes and variables included; a member needs a docstring if it is a method. */
const DOCUMENTED = [
  "Variable",
  "Function",
  "Class",
  "Interface",
  "TypeAlias",
  "Enum",
  "Method",
] as const;

/** Keeps what typedoc has to say, since each warning of it is a finding. */
class Findings extends Logger {
  readonly list: string[] = [];
  /** A finding at a place in a file has the file's name. */
  protected override addContext(
    message: string,
    _level: LogLevel,
    ...[, file]: [ts.Node?] | [number, MinimalSourceFile]
  ): string {
    return file === undefined ? message : `${file.fileName}: ${message}`;
  }
  override log(message: string, level: LogLevel): void {
    // Types without a public name may explain themselves by their members.
    const isOther =
      message.includes(`.${OTHER_TYPES}.`) && message.endsWith("does not have any documentation");
    if (level >= LogLevel.Warn && !isOther) this.list.push(message);
  }
}

/**
 * The module of the types that a public signature names, but which users of the package do not
 * import.
 */
const OTHER_TYPES = "Other types";

interface Documentation {
  readonly app: Application;
  readonly project: ProjectReflection;
  readonly findings: readonly string[];
}

/** Reads the package at `root`, and finds what is wrong with its docstrings and pages. */
export async function readDocumentation(root: string): Promise<Documentation> {
  const entries = entrySources(root);
  const app = await Application.bootstrapWithPlugins(
    {
      tsconfig: join(root, "tsconfig.build.json"),
      basePath: root,
      packageOptions: {},
      entryPoints: Object.values(entries),
      projectDocuments: PAGES.map((pages) => join(root, pages)),
      readme: join(root, "README.md"),
      name: readManifest(root).name,
      includeVersion: true,
      plugin: [fileURLToPath(import.meta.resolve("typedoc-plugin-missing-exports"))],
      internalModule: OTHER_TYPES,
      logLevel: "Warn",
      excludeInternal: true,
      excludePrivate: true,
      excludeExternals: true,
      disableSources: true,
      skipErrorChecking: true,
      groupOrder: [
        "Functions",
        "Classes",
        "Interfaces",
        "Type Aliases",
        "Variables",
        "*",
        "Modules",
      ],
      blockTags: [...OptionDefaults.blockTags, "@description"],
      modifierTags: [...OptionDefaults.modifierTags, "@constant"],
      highlightLanguages: [...OptionDefaults.highlightLanguages, "http", "csv", "mermaid"],
      searchInComments: true,
      searchInDocuments: true,
      githubPages: true,
      hideGenerator: true,
      customCss: join(import.meta.dirname, "docs.css"),
      navigation: {
        includeGroups: true,
        includeCategories: false,
        includeFolders: false,
        excludeReferences: false,
      },
      validation: {
        notExported: true,
        invalidLink: true,
        invalidPath: true,
        rewrittenLink: true,
        notDocumented: true,
        unusedMergeModuleWith: true,
      },
      requiredToBeDocumented: [...DOCUMENTED],
      // By openapi-typescript, in the types of the documents. Their members have docstrings.
      intentionallyNotDocumented: Object.keys(entries)
        .filter((name) => /\/variant-[ab]$/.test(name))
        .flatMap((name) => [`${name}.components`, `${name}.operations`]),
    } as Parameters<typeof Application.bootstrapWithPlugins>[0],
    // Without the compiler's options, null and undefined would be missing from all types.
    [new TSConfigReader()],
  );
  const findings = new Findings();
  app.logger = findings;
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, page) => {
    page.frontmatter.group = groupOf(root, page.name);
    page.name = HEADING.exec(page.content[0]?.text ?? "")?.[1]?.replaceAll("`", "") ?? page.name;
  });
  const points = app.getEntryPoints() ?? [];
  for (const point of points)
    for (const [name, source] of Object.entries(entries))
      if (join(point.sourceFile.fileName) === source) point.displayName = name;
  const project = app.converter.convert(points);
  // A search for a task should find its page before the members of types that have the word.
  for (const page of project.documents ?? []) page.relevanceBoost = 20;
  // The site shows the name of the package above its first page.
  const [readme] = project.readme ?? [];
  if (readme !== undefined) readme.text = readme.text.replace(HEADING, "");
  app.validate(project);
  findings.list.push(...withoutExample(points));
  findings.list.push(...compileExamples(project, root));
  return { app, project, findings: findings.list };
}

/** The heading that a page begins with. */
const HEADING = /^# (.+)\n/;

/**
 * The pages of a folder are under the title of its README.md, and those of no folder of src under
 * "Project".
 */
function groupOf(root: string, path: string): string {
  const [, folder] = /^(src\/[\w-]+)\//.exec(path) ?? [];
  if (folder === undefined) return "Project";
  const [, title = folder] =
    HEADING.exec(readFileSync(join(root, folder, "README.md"), "utf8")) ?? [];
  return title;
}

/** The modules of the entries, without those that hold other types. */
function entriesOf(project: ProjectReflection): readonly DeclarationReflection[] {
  return project.getChildrenByKind(ReflectionKind.Module);
}

/** A public function is what can be called, a constant such as a type guard included. */
function withoutExample(points: readonly DocumentationEntryPoint[]): string[] {
  const found = points.flatMap(({ program, sourceFile, displayName }) => {
    const checker = program.getTypeChecker();
    const module = checker.getSymbolAtLocation(sourceFile);
    return (module === undefined ? [] : checker.getExportsOfModule(module))
      .map((one) => (one.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(one) : one))
      .filter((one) => one.valueDeclaration !== undefined)
      .filter((one) => checker.getTypeOfSymbol(one).getCallSignatures().length > 0)
      .filter((one) => !one.getJsDocTags(checker).some(({ name }) => name === "example"))
      .map(
        ({ name }) => `${displayName}.${name} is a function, and its docstring has no @example.`,
      );
  });
  return found;
}

/** Compiles all examples. They need no import of a name of their own entry, or of the main one. */
function compileExamples(project: ProjectReflection, root: string): string[] {
  const [main, ...others] = entriesOf(project);
  if (main === undefined) return [];
  const programs: Record<string, string> = {};
  const places: string[] = [];
  for (const entry of [main, ...others])
    for (const { place, code } of examplesIn(entry, project)) {
      programs[`example-${places.length}`] = withImports(code, [entry, main]);
      places.push(place);
    }
  // An example need not use what it makes.
  const complaints = compile(programs, join(root, "generated"), root).filter(
    (line) => !/ TS61(?:33|98):/.test(line),
  );
  return complaints.map((line) =>
    line.replace(
      /^example-(\d+)\(\d+\)/,
      (_, index) => `The example of ${places[Number(index)]} does not compile:`,
    ),
  );
}

interface Example {
  readonly place: string;
  readonly code: string;
}

/** Those in generated/ are values of a document. */
function examplesIn(entry: DeclarationReflection, project: ProjectReflection): Example[] {
  const found: Example[] = [];
  const visit = (one: Reflection) => {
    if (project.getSymbolIdFromReflection(one)?.packagePath.startsWith("generated/")) return;
    for (const tag of one.comment?.getTags("@example") ?? [])
      for (const { kind, text } of tag.content) {
        const [, code] = (kind === "code" && /^```tsx?\n([\s\S]*)```$/.exec(text)) || [];
        if (code !== undefined) found.push({ place: one.getFullName(), code });
      }
    one.traverse((child) => {
      visit(child);
      return true;
    });
  };
  visit(entry);
  return found;
}

/** What an example may use besides, as its reader has it already. */
const KNOWN: Readonly<Record<string, string>> = {
  auth: 'import("bivariant").Auth',
  backend: 'import("bivariant/backend").Backend',
  clientSecret: "string",
  code: "string",
  codeVerifier: "string",
  customers: 'readonly import("bivariant/survey").Customer[]',
  emulator: 'import("bivariant/emulator").Emulator',
  redirectUri: "string",
  service: 'import("bivariant").Service',
  sessionId: "string",
  store: 'import("bivariant").TokenStore',
  visit: "(url: string) => Promise<URL>",
};

/**
 * Adds imports of the public names, and declarations of the known ones, that the code uses and does
 * not declare.
 */
function withImports(code: string, entries: readonly DeclarationReflection[]): string {
  const used = new Set<string>();
  const declared = new Set<string>();
  const visit = (node: ts.Node) => {
    if (ts.isIdentifier(node)) {
      const { parent } = node;
      const isDeclared =
        "name" in parent && parent.name === node && !ts.isShorthandPropertyAssignment(parent);
      if (!isDeclared) used.add(node.text);
      else if (!ts.isPropertyAccessExpression(parent) && !ts.isPropertyAssignment(parent))
        declared.add(node.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("example.ts", code, ts.ScriptTarget.ES2022, true));
  const imports = entries.flatMap((entry) => {
    const names = (entry.children ?? []).map(({ name }) => name);
    const needed = names.filter((name) => used.has(name) && !declared.has(name));
    for (const name of needed) declared.add(name);
    return needed.length > 0 ? [`import { ${needed.join(", ")} } from "${entry.name}";\n`] : [];
  });
  const known = Object.keys(KNOWN).filter((name) => used.has(name) && !declared.has(name));
  return [
    ...imports,
    ...known.map((name) => `declare const ${name}: ${KNOWN[name]};\n`),
    code,
  ].join("");
}

async function main(root: string): Promise<number> {
  const { values } = parseArgs({ options: { check: { type: "boolean" } } });
  const { app, project, findings } = await readDocumentation(root);
  const count = `${entriesOf(project).length} entries and ${project.documents?.length} pages`;
  // What is only seen when a page is rendered is a finding too.
  if (!values.check && findings.length === 0) await app.generateDocs(project, join(root, "site"));
  for (const finding of findings) console.error(finding);
  if (findings.length === 0)
    console.log(values.check ? `docs: ${count} are sound` : `site/: ${count}`);
  return findings.length === 0 ? 0 : 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href)
  process.exitCode = await main(process.cwd());
