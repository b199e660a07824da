// Measures how large the code is and how it is divided: files, TypeScript tokens, lines, their
// median and 90th percentile, relative imports per 1,000 lines. src/ as a whole, its two parts
// (client, tools) and its folders, and the tests. `--json` prints the same as data; a root may be
// named.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import ts from "typescript";

export interface Measured {
  readonly name: string;
  readonly files: number;
  /** Leaves of the syntax trees, which longer lines do not make fewer. Comments are not counted. */
  readonly tokens: number;
  readonly lines: number;
  /** Lines of the middle file, and of the file that nine of ten do not exceed. */
  readonly median: number;
  readonly p90: number;
  readonly relativeImportsPer1000Lines: number;
}

interface Source {
  readonly path: string;
  readonly tokens: number;
  readonly lines: number;
  readonly relativeImports: number;
}

/** What a test writes when it runs; git does not keep it. */
const GENERATED_BY_A_TEST = "test/examples/consumer/generated/";

/** What only the tools need. The rest of src/ is the client. */
const TOOLS = /^src\/(?:emulator|contract|doctor|generate|cli|survey)\//;

/**
 * `import … from "./x.js"`, `export … from "../x.js"` and `import("./x.js")`; type imports count
 * too.
 */
const RELATIVE_IMPORT = /(?:\bfrom\s+|\bimport\s*\(\s*|\bimport\s+)["']\.{1,2}\//g;

function tokensOf(text: string): number {
  const file = ts.createSourceFile("source.ts", text, ts.ScriptTarget.Latest, true);
  const count = (node: ts.Node): number => {
    if (ts.isJSDoc(node)) return 0;
    const children = node.getChildren(file);
    if (children.length === 0) return node.getWidth(file) > 0 ? 1 : 0;
    return children.reduce((total, child) => total + count(child), 0);
  };
  return count(file);
}

function sources(root: string, folder: string): Source[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => ({ file, path: relative(root, file).split(sep).join("/") }))
    .filter(({ path }) => !path.startsWith(GENERATED_BY_A_TEST))
    .map(({ file, path }) => {
      const text = readFileSync(file, "utf8");
      return {
        path,
        tokens: tokensOf(text),
        lines: text.split("\n").length - 1,
        relativeImports: text.match(RELATIVE_IMPORT)?.length ?? 0,
      };
    });
}

function measure(name: string, files: readonly Source[]): Measured {
  const lengths = files.map(({ lines }) => lines).sort((a, b) => a - b);
  const sum = (values: readonly number[]): number =>
    values.reduce((total, value) => total + value, 0);
  const atShare = (share: number): number => lengths[Math.ceil(share * lengths.length) - 1] ?? 0;
  const lines = sum(lengths);
  const imports = sum(files.map(({ relativeImports }) => relativeImports));
  return {
    name,
    files: files.length,
    tokens: sum(files.map(({ tokens }) => tokens)),
    lines,
    median: atShare(0.5),
    p90: atShare(0.9),
    relativeImportsPer1000Lines: lines === 0 ? 0 : Math.round((imports * 1000) / lines),
  };
}

/**
 * src/ as a whole, the client and the tools, then its folders (the entries at its top level as
 * "src/*.ts"), then the tests.
 */
export function measureHouse(root: string): readonly Measured[] {
  const all = sources(root, "src");
  const folderOf = ({ path }: Source): string =>
    path.replace(/^src\/[^/]+$/, "src/*.ts").replace(/^(src\/[^/*]+\/).*/, "$1");
  const isTool = ({ path }: Source): boolean => TOOLS.test(path);
  const folders = [...new Set(all.map(folderOf))].sort();
  return [
    measure("src", all),
    measure(
      "client",
      all.filter((source) => !isTool(source)),
    ),
    measure("tools", all.filter(isTool)),
    ...folders.map((name) =>
      measure(
        name,
        all.filter((source) => folderOf(source) === name),
      ),
    ),
    measure("test", sources(root, "test")),
  ];
}

function print(rows: readonly Measured[]): void {
  const titles = [
    "",
    "files",
    "tokens",
    "lines",
    "median",
    "p90",
    "relative imports per 1,000 lines",
  ];
  const cells = [titles, ...rows.map((row) => Object.values(row).map(String))];
  const widths = titles.map((_, column) =>
    Math.max(...cells.map((line) => line[column]?.length ?? 0)),
  );
  for (const line of cells) {
    const padded = line.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
    console.log(padded.join("  "));
  }
}

/**
 * What exceeds the figures that src/budgets.md holds for the client, the tools and the tests, and
 * comments of more than 100 characters, which the formatter leaves as they are.
 */
export function overBudget(root: string): readonly string[] {
  const page = readFileSync(join(root, "src/budgets.md"), "utf8");
  const rows = measureHouse(root);
  const held = { client: "tokens", tools: "tokens", test: "lines" } as const;
  const exceeded = Object.entries(held).flatMap(([name, unit]) => {
    const row = new RegExp(`^\\| (?:the )?${name}s?\\b.*\\| ([\\d,]+) ${unit} \\|$`, "m").exec(
      page,
    );
    if (row === null) return `src/budgets.md holds no figure for ${name}`;
    const most = Number(row[1]?.replaceAll(",", ""));
    const is = rows.find((one) => one.name === name)?.[unit] ?? 0;
    return is > most ? `${name} has ${is} ${unit}, ${most} are allowed: take something away` : [];
  });
  const long = ["src", "test", "scripts"].flatMap((folder) =>
    sources(root, folder).flatMap(({ path }) =>
      readFileSync(join(root, path), "utf8")
        .split("\n")
        .flatMap((line, index) =>
          line.length > 100 && /^\s*(?:\/\/|\/?\*)/.test(line)
            ? `${path}:${index + 1} is a comment of ${line.length} characters, 100 are allowed`
            : [],
        ),
    ),
  );
  return [...exceeded, ...long];
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { values, positionals } = parseArgs({
    options: { json: { type: "boolean", default: false }, check: { type: "boolean" } },
    allowPositionals: true,
  });
  const root = positionals[0] ?? process.cwd();
  const rows = measureHouse(root);
  if (values.check) {
    const findings = overBudget(root);
    for (const finding of findings) console.error(finding);
    if (findings.length > 0) process.exitCode = 1;
    else console.log("house: within its budgets");
  } else if (values.json) console.log(JSON.stringify(rows, null, 2));
  else print(rows);
}
