// Small faults in the sources, drawn by a seed: a comparison turned around, a call left out, a
// number one higher.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { randomOf } from "../../test/simulation/random.js";
import { git } from "./git.js";
import { inTurn, partOf, testsFor } from "./trial.js";

export interface Mutant {
  readonly source: string;
  readonly line: number;
  readonly from: number;
  readonly to: number;
  readonly text: string;
  readonly was: string;
}

const swapped: Readonly<Record<string, string>> = {
  "===": "!==",
  "!==": "===",
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "&&": "||",
  "||": "&&",
};

/** The replacement of a node, if it is one that a fault is made of. */
function replacementOf(node: ts.Node, text: string): readonly [ts.Node, string] | undefined {
  const of = (part: ts.Node) => text.slice(part.getStart(), part.end);
  if (ts.isBinaryExpression(node)) {
    const operator = swapped[node.operatorToken.getText()];
    if (operator !== undefined) return [node.operatorToken, operator];
    if (node.operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken)
      return [node, of(node.left)];
  }
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken)
    return [node, of(node.operand)];
  if (ts.isConditionalExpression(node))
    return [node, `${of(node.condition)} ? ${of(node.whenFalse)} : ${of(node.whenTrue)}`];
  if (ts.isIfStatement(node)) return [node.expression, `!(${of(node.expression)})`];
  if (ts.isNumericLiteral(node)) return [node, `(${of(node)} + 1)`];
  if (node.kind === ts.SyntaxKind.TrueKeyword) return [node, "false"];
  if (node.kind === ts.SyntaxKind.FalseKeyword) return [node, "true"];
  if (ts.isExpressionStatement(node)) {
    const { expression } = node;
    const call = ts.isAwaitExpression(expression) ? expression.expression : expression;
    if (ts.isCallExpression(call) && call.expression.kind !== ts.SyntaxKind.SuperKeyword)
      return [node, ";"];
  }
  return undefined;
}

/**
 * Every fault that can be made in a source. Types, imports and tables of option names (`true` each)
 * have none.
 */
export function mutantsOf(source: string, text: string): Mutant[] {
  const file = ts.createSourceFile(source, text, ts.ScriptTarget.Latest, true);
  const found: Mutant[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isImportDeclaration(node))
      return;
    const made = replacementOf(node, text);
    const isName =
      ts.isPropertyAssignment(node.parent ?? node) && node.kind === ts.SyntaxKind.TrueKeyword;
    if (made !== undefined && !isName) {
      const [part, replacement] = made;
      const from = part.getStart();
      const line = file.getLineAndCharacterOfPosition(from).line + 1;
      found.push({
        source,
        line,
        from,
        to: part.end,
        text: replacement,
        was: text.slice(from, part.end),
      });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

export function sample<T>(rows: readonly T[], count: number, seed: number): T[] {
  const draw = randomOf(seed);
  const keyed = rows.map((row) => [draw(), row] as const);
  return keyed
    .sort(([a], [b]) => a - b)
    .slice(0, count)
    .map(([, row]) => row);
}

/** A mutant or a fix taken back, with the folder of src/ that it is in. */
export interface Tried {
  readonly part: string;
  readonly name: string;
  readonly isNoticed: boolean;
}

export interface Trials {
  readonly repository: string;
  readonly commit: string;
  readonly jobs: number;
  readonly workers: number;
  /** Whether an earlier run has tried it. */
  readonly isTried: (name: string) => boolean;
  readonly onTried: (one: Tried) => void;
}

function nameOf({ source, line, from, was, text }: Mutant): string {
  const short = (part: string) => part.replace(/\s+/g, " ").slice(0, 60);
  return `${source}:${line} (${from}) ${short(was)} -> ${short(text)}`;
}

export async function tryMutants(
  { repository, commit, jobs, workers, isTried, onTried }: Trials,
  { count, seed, folder }: { count: number; seed: number; folder: string },
): Promise<void> {
  const sources = git(repository, "ls-tree", "-r", "--name-only", commit, folder)
    .split("\n")
    .filter((path) => path.endsWith(".ts"));
  const all = sources.flatMap((path) =>
    mutantsOf(path, git(repository, "show", `${commit}:${path}`)),
  );
  const left = sample(all, count, seed).filter((mutant) => !isTried(nameOf(mutant)));
  await inTurn(left, { repository, commit, jobs }, async (trial, mutant) => {
    const path = join(trial.folder, mutant.source);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.slice(0, mutant.from) + mutant.text + text.slice(mutant.to));
    const isNoticed = await trial.fails(testsFor(mutant.source), workers);
    writeFileSync(path, text);
    onTried({ part: partOf(mutant.source), name: nameOf(mutant), isNoticed });
  });
}
