// Checks that each regular expression of src/ and generated/ takes linear time: prints pattern,
// place and verdict, and exits with 1 if a search with one can take longer, if it cannot be judged,
// or if it is built at run time unlisted.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { check } from "recheck";
import ts from "typescript";

/**
 * Patterns that are built at run time, by file and source text, with the reason why none can be
 * slow.
 */
const DYNAMIC: readonly Dynamic[] = [
  {
    file: "src/json-schema/formats.ts",
    text: "new RegExp(pattern, flags)",
    reason: "the patterns of a document are its owner's, and are used as they are",
  },
  {
    file: "src/generate/schemas/sample-scalars.ts",
    text: "new RegExp(pattern)",
    reason: "only taken apart, to make a text that it matches",
  },
];

interface Dynamic {
  readonly file: string;
  readonly text: string;
  readonly reason: string;
}

interface Found {
  readonly file: string;
  readonly line: number;
  /** As written. */
  readonly text: string;
  /** Undefined if it is built at run time. */
  readonly pattern: { readonly source: string; readonly flags: string } | undefined;
}

export interface Verdict extends Pick<Found, "file" | "line" | "text"> {
  readonly ok: boolean;
  readonly verdict: string;
}

/** These methods of a string make a regular expression of a string argument. */
const METHODS = ["match", "matchAll", "search"];

function patternsIn(file: string, source: string): Found[] {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, false);
  const found: Found[] = [];
  const add = (node: ts.Node, pattern: Found["pattern"]): void => {
    const line = tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1;
    found.push({ file, line, text: node.getText(tree), pattern });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf("/");
      add(node, { source: node.text.slice(1, end), flags: node.text.slice(end + 1) });
    } else if (ts.isNewExpression(node) || ts.isCallExpression(node)) {
      const { expression: callee, arguments: [source, flags] = [] } = node;
      const isConstructor = ts.isIdentifier(callee) && callee.text === "RegExp";
      const isMethod = ts.isPropertyAccessExpression(callee) && METHODS.includes(callee.name.text);
      const isText =
        source !== undefined && (ts.isStringLiteralLike(source) || ts.isTemplateLiteral(source));
      if (isConstructor || (isMethod && isText)) {
        const [constant, constantFlags] = [source, flags].map((argument) =>
          argument !== undefined && ts.isStringLiteralLike(argument) ? argument.text : undefined,
        );
        const isConstant =
          constant !== undefined && (flags === undefined || constantFlags !== undefined);
        add(node, isConstant ? { source: constant, flags: constantFlags ?? "" } : undefined);
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return found;
}

function filesIn(root: string): string[] {
  return ["src", "generated"].flatMap((folder) => {
    const start = join(root, folder);
    if (!existsSync(start)) return [];
    return readdirSync(start, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.[cm]?[jt]sx?$/.test(entry.name))
      .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join("/"))
      .sort();
  });
}

/** Without fuzzing, so that the verdict is the same on every machine. */
async function judge({
  source,
  flags,
}: NonNullable<Found["pattern"]>): Promise<Omit<Verdict, keyof Found>> {
  const result = await check(source, flags, { checker: "automaton", timeout: 600_000 });
  if (result.status === "safe") return { ok: true, verdict: result.complexity.type };
  if (result.status === "unknown") {
    const message = "message" in result.error ? result.error.message : result.error.kind;
    return {
      ok: false,
      verdict: `cannot be judged (${message}). Write it without, or use string functions`,
    };
  }
  const { attack, complexity } = result;
  return {
    ok: false,
    verdict: `${complexity.summary}, for example on ${attack.pattern}. Make it linear`,
  };
}

/** One verdict for each pattern, and one for each listed pattern that is gone. */
export async function checkPatterns(
  root: string,
  dynamic: readonly Dynamic[] = DYNAMIC,
): Promise<readonly Verdict[]> {
  const found = filesIn(root).flatMap((file) =>
    patternsIn(file, readFileSync(join(root, file), "utf8")),
  );
  const verdicts = await Promise.all(
    found.map(async ({ file, line, text, pattern }): Promise<Verdict> => {
      if (pattern !== undefined) return { file, line, text, ...(await judge(pattern)) };
      const listed = dynamic.find((one) => one.file === file && one.text === text);
      const verdict =
        listed?.reason ?? "built at run time. List it in scripts/check-patterns.ts with a reason";
      return { file, line, text, ok: listed !== undefined, verdict };
    }),
  );
  const gone = dynamic
    .filter(({ file, text }) => !found.some((one) => one.file === file && one.text === text))
    .map(({ file, text }) => ({
      file,
      line: 0,
      text,
      ok: false,
      verdict: "is not there. Remove it from the list",
    }));
  return [...verdicts, ...gone];
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const verdicts = await checkPatterns(process.cwd());
  const bad = verdicts.filter(({ ok }) => !ok);
  for (const { file, line, text, ok, verdict } of verdicts) {
    (ok ? console.log : console.error)(`${ok ? "" : "SLOW "}${file}:${line} ${text}: ${verdict}`);
  }
  console.log(
    bad.length === 0
      ? `patterns: all ${verdicts.length} take linear time`
      : `patterns: ${bad.length} of ${verdicts.length} are findings`,
  );
  process.exitCode = bad.length === 0 && verdicts.length > 0 ? 0 : 1;
}
