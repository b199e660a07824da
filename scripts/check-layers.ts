// Checks the real import graph of src/ and generated/ against the table of layers, names every edge
// that breaks a rule, finds cycles, and finds time that is not from the clock.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import { BUNDLED } from "./build.js";
import { type Edge, importGraph } from "./import-graph.js";

interface Layer {
  /**
   * A file, a folder (with a slash), or "src/*.ts": the top-level files that have no row of their
   * own.
   */
  readonly holds: string;
  /**
   * Layers, single files and packages; "node:" is any builtin of Node, "*" is anything. A layer may
   * always import itself.
   */
  readonly may: readonly string[];
  /** Layers, files and packages of which only `import type` is allowed. */
  readonly mayType?: readonly string[];
}

/** What every layer of the core, the stores and the backend builds on. */
const GROUND = ["src/errors.ts", "src/options.ts", "src/clock.ts"];

/** The options of a client, which all of it takes. */
const OPTIONS = "src/client-options.ts";

const CORE = [
  ...GROUND,
  OPTIONS,
  "src/http/",
  "src/variants/",
  "src/auth/",
  "src/client/",
  "src/*.ts",
];

const LAYERS: readonly Layer[] = [
  { holds: "src/errors.ts", may: [] },
  { holds: "src/version.ts", may: [] },
  { holds: "src/option-names.ts", may: [] },
  { holds: "src/html-page.ts", may: [] },
  { holds: "src/input-file.ts", may: ["node:"] },
  {
    holds: "src/options.ts",
    may: ["src/errors.ts"],
    mayType: ["src/contract/learning/settings.ts"],
  },
  { holds: "src/clock.ts", may: ["src/errors.ts", "src/options.ts"] },
  { holds: "src/http/", may: GROUND, mayType: ["undici"] },
  {
    holds: OPTIONS,
    may: [...GROUND, "src/http/", "generated/"],
    mayType: ["src/auth/auth.ts", "src/auth/shared/token-store.ts", "src/client/outcome.ts"],
  },
  { holds: "src/variants/", may: [...GROUND, OPTIONS, "src/http/", "generated/"] },
  {
    holds: "src/auth/",
    may: [...GROUND, OPTIONS, "src/http/", "src/variants/", "jose", "oauth4webapi"],
  },
  {
    holds: "src/client/",
    may: [
      ...GROUND,
      OPTIONS,
      "src/http/",
      "src/variants/",
      "src/auth/auth.ts",
      "generated/",
      "openapi-fetch",
      "eventsource-parser",
    ],
    mayType: ["src/auth/"],
  },
  { holds: "src/*.ts", may: [...CORE, "generated/", "src/stores/memory.ts"] },
  {
    holds: "src/stores/",
    may: [...GROUND, "jose"],
    mayType: ["src/auth/shared/token-store.ts"],
  },
  { holds: "src/json-schema/", may: ["zod"] },
  {
    holds: "src/validate.ts",
    may: ["src/errors.ts", "src/options.ts", "src/json-schema/", "generated/"],
    mayType: ["src/client/", OPTIONS],
  },
  {
    holds: "src/opentelemetry/",
    may: [...GROUND, "src/http/", "src/variants/target.ts", "@opentelemetry/api"],
  },
  { holds: "src/page/", may: [] },
  { holds: "src/backend/", may: [...CORE, "generated/", "src/stores/memory.ts", "jose", "zod"] },
  {
    holds: "src/emulator/",
    may: [
      "@cfworker/json-schema",
      "generated/",
      "jose",
      "zod",
      "hono",
      "@hono/node-server",
      "yaml",
      "node:",
    ],
  },
  {
    holds: "src/contract/",
    may: ["generated/", "jose", "yaml", "zod", "src/emulator/rules.ts"],
  },
  {
    holds: "src/generate/",
    may: [
      "src/json-schema/",
      "@cfworker/json-schema",
      "json-p3",
      "openapi-typescript",
      "randexp",
      "typescript",
      "yaml",
      "zod",
      "node:",
    ],
  },
  { holds: "src/doctor/", may: [...CORE, "jose", "node:"] },
  {
    holds: "src/survey/",
    may: [...CORE, "src/doctor/", "csv-parse", "csv-stringify", "yaml", "node:"],
  },
  {
    holds: "src/internal.ts",
    may: [...CORE, "src/doctor/credentials.ts", "src/doctor/finding.ts"],
  },
  {
    holds: "src/cli/",
    may: [
      ...[
        "src/index.ts",
        "src/errors.ts",
        "src/stores/file.ts",
        "src/doctor/index.ts",
        "src/internal.ts",
      ],
      ...["contract", "emulator", "generate", "survey"].flatMap((tool) => [
        `src/${tool}/index.ts`,
        `src/${tool}/internal.ts`,
      ]),
      ...["generated/", "commander", "undici", "node:"],
    ],
    mayType: ["jose"],
  },
  { holds: "generated/", may: ["src/json-schema/"] },
];

/** Modules without imports that know nothing of the service, so they couple no layers. */
const FOR_EVERYONE = [
  "src/version.ts",
  "src/option-names.ts",
  "src/html-page.ts",
  "src/input-file.ts",
];
/** Single files (prefixes of paths) that may use builtins of Node although their layer may not. */
const NODE_FILES = ["src/stores/file", "src/backend/to-node-handler.ts"];
/**
 * Layers that load modules which a user names at run time, and a file that hides a package from
 * bundlers.
 */
const COMPUTED_IMPORTS = ["src/cli/", "src/generate/", "src/http/exchange.ts"];
/** Folders that are not shipped, so that nothing in src/ may import them. */
const NOT_SHIPPED = ["test/", "scripts/", "dist/"];
/** Modules that `from` may not load, not even lazily, because they cost start-up time and size. */
const UNREACHABLE = [
  { from: "src/index.ts", never: ["zod", "hono", "@hono/node-server", "commander", "yaml"] },
];

/** Layers that take time and jitter from the option `clock`, so that a test can own both. */
const CLOCKED = [...CORE, "src/stores/", "src/backend/"];
/** The default clock, and the disk of the file store, where processes watch each other. */
const UNCLOCKED = ["src/clock.ts", "src/stores/file"];
const TIME =
  /^(?:Date\.now|Date\(\)|performance\.now|Math\.random|AbortSignal\.timeout|set(?:Timeout|Interval|Immediate)|new Date(?:\(\))?)$/;
/** What has such members, so that it may not be passed on under another name. */
const HAS_TIME = /^(?:Date|performance|Math|AbortSignal)$/;
const TIME_MODULES = /^(?:node:)?(?:timers(?:\/promises)?|perf_hooks)$/;

function layerOf(file: string): Layer | undefined {
  const holding = LAYERS.find(
    ({ holds }) => holds === file || (holds.endsWith("/") && file.startsWith(holds)),
  );
  return (
    holding ??
    (/^src\/[^/]+$/.test(file) ? LAYERS.find(({ holds }) => holds === "src/*.ts") : undefined)
  );
}

function nameOf(layer: Layer): string {
  return layer.holds === "src/*.ts"
    ? "the top level"
    : layer.holds.replace(/^src\//, "").replace(/\/$/, "");
}

function grants(list: readonly string[], edge: Edge): boolean {
  if (list.includes("*")) return true;
  if (edge.target === "builtin") return list.includes("node:");
  if (edge.to === undefined || list.includes(edge.to)) return true;
  const layer = edge.target === "file" ? layerOf(edge.to) : undefined;
  return layer !== undefined && list.includes(layer.holds);
}

function checkEdge(edge: Edge, own: string | undefined): string | undefined {
  const { from, to, line, target } = edge;
  const layer = layerOf(from);
  if (layer === undefined) return undefined;
  if (to === undefined) {
    if (COMPUTED_IMPORTS.some((folder) => from.startsWith(folder))) return undefined;
    return `${from}:${line} imports a computed path, which this check cannot follow`;
  }
  const forbidden = `${from} imports ${to}: `;
  if (target === "missing") return `${forbidden}the file does not exist`;
  if (target === "package" && to === own)
    return `${forbidden}sources import each other by relative paths`;
  if (target === "file" && NOT_SHIPPED.some((folder) => to.startsWith(folder))) {
    return (
      `${forbidden}${from.startsWith("src/") ? "src" : "generated"} may not ` +
      `import ${to.split("/")[0]}`
    );
  }
  if (FOR_EVERYONE.includes(to)) return undefined;
  if (target === "builtin" && NODE_FILES.some((prefix) => from.startsWith(prefix)))
    return undefined;
  if (target === "file" && layerOf(to) === layer) return undefined;
  if (grants(layer.may, edge)) return undefined;
  if (layer.mayType !== undefined && grants(layer.mayType, edge)) {
    if (edge.kind === "type") return undefined;
    return `${forbidden}${nameOf(layer)} may import only types of it (import type)`;
  }
  const targetLayer = target === "file" ? layerOf(to) : undefined;
  return (
    `${forbidden}${nameOf(layer)} may not ` +
    `import ${targetLayer === undefined ? to : nameOf(targetLayer)}`
  );
}

function checkDeclared(edges: readonly Edge[], manifest: Manifest): string[] {
  const { dependencies, peerDependencies } = manifest;
  const declared = [...Object.keys({ ...dependencies, ...peerDependencies }), ...BUNDLED];
  return edges
    .filter(
      ({ target, to }) =>
        target === "package" &&
        to !== manifest.name &&
        !(to !== undefined && declared.includes(to)),
    )
    .map(
      ({ from, to }) =>
        `${from} imports ${to}: package.json declares it neither a dependency nor a peer, and ` +
        "scripts/build.ts does not bundle it",
    );
}

/** Each use of the time or randomness of the machine in a layer that takes both from its clock. */
function checkClock(root: string, file: string): string[] {
  const isClocked = CLOCKED.includes(layerOf(file)?.holds ?? "");
  if (!isClocked || UNCLOCKED.some((prefix) => file.startsWith(prefix))) return [];
  const text = readFileSync(join(root, file), "utf8");
  const tree = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const findings: string[] = [];
  const visit = (node: ts.Node): void => {
    const used = namesIn(node)
      .map((name) =>
        name.replace(/\?\.|\s*\.\s*/g, ".").replace(/^(?:globalThis|window|self)\./, ""),
      )
      .find((name) => TIME.test(name) || (HAS_TIME.test(name) && isPassedOn(node)));
    const module = ts.isStringLiteral(node) && TIME_MODULES.test(node.text) ? node.text : undefined;
    const name = used ?? module;
    if (name === undefined) {
      ts.forEachChild(node, visit);
      return;
    }
    const { line } = tree.getLineAndCharacterOfPosition(node.getStart(tree));
    findings.push(`${file}:${line + 1} uses ${name}, and not that of the clock (src/clock.ts)`);
  };
  visit(tree);
  return findings;
}

/** What an expression names: `a.b`, `a["b"]` and `const { b } = a` are all `a.b`. */
function namesIn(node: ts.Node): string[] {
  if (ts.isNewExpression(node)) return node.arguments?.length ? [] : [node.getText()];
  if (ts.isCallExpression(node)) return node.expression.getText() === "Date" ? ["Date()"] : [];
  if (ts.isPropertyAccessExpression(node)) return [node.getText()];
  if (ts.isElementAccessExpression(node)) {
    const { expression, argumentExpression: member } = node;
    return ts.isStringLiteralLike(member) ? [`${expression.getText()}.${member.text}`] : [];
  }
  if (ts.isVariableDeclaration(node) && ts.isObjectBindingPattern(node.name)) {
    const of = node.initializer?.getText() ?? "";
    return node.name.elements.map(
      ({ name, propertyName }) => `${of}.${(propertyName ?? name).getText()}`,
    );
  }
  return ts.isIdentifier(node) && !namesMember(node) ? [node.text] : [];
}

/** Whether the object itself is used, and not a member of it, an instance of it or its type. */
function isPassedOn(node: ts.Node): boolean {
  const { parent } = node;
  const isOwner =
    (ts.isPropertyAccessExpression(parent) || ts.isElementAccessExpression(parent)) &&
    parent.expression === node;
  const isChecked =
    ts.isBinaryExpression(parent) && parent.operatorToken.kind === ts.SyntaxKind.InstanceOfKeyword;
  const isTaken =
    ts.isVariableDeclaration(parent) &&
    parent.initializer === node &&
    ts.isObjectBindingPattern(parent.name);
  return !(isOwner || isChecked || isTaken || ts.isNewExpression(parent) || ts.isTypeNode(parent));
}

/**
 * Whether an identifier is the name of a member, as in `clock.setTimeout` or `{ setTimeout: one }`.
 */
function namesMember(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.name === node;
  const isNamed =
    ts.isPropertyAssignment(parent) || ts.isMethodSignature(parent) || ts.isBindingElement(parent);
  return (
    isNamed && (parent.name === node || ("propertyName" in parent && parent.propertyName === node))
  );
}

/**
 * One shortest cycle for each group of modules that lead back to themselves. `import type` counts,
 * `import()` does not.
 */
function checkCycles(edges: readonly Edge[]): string[] {
  const next = new Map<string, string[]>();
  for (const { from, to, kind, target } of edges) {
    if (kind !== "dynamic" && target === "file" && to !== undefined)
      next.set(from, [...(next.get(from) ?? []), to]);
  }
  const reported = new Set<string>();
  const findings: string[] = [];
  for (const start of [...next.keys()].sort()) {
    const cycle = reported.has(start) ? undefined : shortestCycle(next, start);
    if (cycle === undefined) continue;
    for (const module of cycle) reported.add(module);
    findings.push(`${cycle.join(" imports ")}: a cycle`);
  }
  return findings;
}

function shortestCycle(
  next: ReadonlyMap<string, readonly string[]>,
  start: string,
): string[] | undefined {
  const paths = new Map([[start, [start]]]);
  for (const [module, path] of paths) {
    for (const to of next.get(module) ?? []) {
      if (to === start) return [...path, start];
      if (!paths.has(to)) paths.set(to, [...path, to]);
    }
  }
  return undefined;
}

function checkReach(edges: readonly Edge[]): string[] {
  const findings: string[] = [];
  for (const { from: start, never } of UNREACHABLE) {
    const ways = new Map([[start, start]]);
    for (const [file, way] of ways) {
      for (const { from, to, kind } of edges) {
        if (from !== file || to === undefined || kind === "type" || ways.has(to)) continue;
        ways.set(to, `${way} imports ${to}`);
        if (never.includes(to)) findings.push(`${way} imports ${to}: ${start} may not load ${to}`);
      }
    }
  }
  return findings;
}

interface Manifest {
  readonly name?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** One line for every edge that breaks a rule, and for every cycle. */
export function checkLayers(root: string): readonly string[] {
  const path = join(root, "package.json");
  const manifest: Manifest | undefined = existsSync(path)
    ? JSON.parse(readFileSync(path, "utf8"))
    : undefined;
  const { files, edges } = importGraph(root);
  const withoutLayer = files
    .filter((file) => layerOf(file) === undefined)
    .map((file) => `${file} belongs to no layer: give its folder a row in scripts/check-layers.ts`);
  const findings = [
    ...(files.length === 0 ? [`${root} has no sources in src/ or generated/`] : []),
    ...withoutLayer,
    ...edges.flatMap((edge) => checkEdge(edge, manifest?.name) ?? []),
    ...files.flatMap((file) => checkClock(root, file)),
    ...(manifest === undefined ? [] : checkDeclared(edges, manifest)),
    ...checkCycles(edges),
    ...checkReach(edges),
  ];
  return [...new Set(findings)];
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const findings = checkLayers(process.cwd());
  for (const finding of findings) console.error(finding);
  console.log(
    findings.length === 0
      ? "layers: every import goes the right way"
      : `layers: ${findings.length} findings`,
  );
  process.exitCode = findings.length === 0 ? 0 : 1;
}
