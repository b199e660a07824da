/**
 * `bivariant diff`: what changed between two states of the documents, or what differs between
 * variants.
 */
import { type Command, Option } from "commander";
import type { Change, DocumentDiff, Level, OperationDifference } from "../../generate/index.js";
import { invalidFlag } from "../arguments.js";
import { exitCodes } from "../error-report.js";
import type { Paint } from "../output.js";
import type { Context } from "../run.js";

interface Flags {
  readonly variants?: string | true;
  readonly variantA?: string;
  readonly variantB?: string;
  readonly refs?: string;
  readonly failOn: Level | "never";
  readonly markdown?: true;
}

export function define(command: Command, { output, signal, finish }: Context): void {
  command
    .argument(
      "[old]",
      "an OpenAPI document, or a folder with variant-a and variant-b (.yaml, .yml or .json)",
    )
    .argument("[new]", "its later state")
    .addOption(
      new Option("--fail-on <level>", "exit 1 for changes of this level or a worse one")
        .choices([...levels, "never"])
        .default("breaking"),
    )
    .addOption(
      new Option(
        "--variants [operationId]",
        "compare the two variants of each operation, or of one",
      ).conflicts("failOn"),
    )
    .option(
      "--variant-a <path>",
      "with --variants: document of Variant A (default: the one of this package)",
    )
    .option(
      "--variant-b <path>",
      "with --variants: document of Variant B (default: the one of this package)",
    )
    .option("--refs <folder>", "folder that references may reach (default: that of the document)")
    .option("--markdown", "print a table for a pull request, of at most 65,536 characters")
    .action(async (old: string | undefined, revised: string | undefined, flags: Flags) => {
      const { variants, variantA, variantB, refs, failOn, markdown } = flags;
      const { diffDocuments, diffVariants } = await import("../../generate/index.js");
      if (old === undefined && variants !== undefined) {
        const id = variants === true ? undefined : variants;
        const found = await output.during("comparing", () =>
          diffVariants({ A: variantA, B: variantB }, id, { signal, refs }),
        );
        if (output.json) output.value(found);
        else if (markdown) output.lines(bounded(found.flatMap(variantTable)));
        else output.lines(...found.flatMap(variantLines));
        return;
      }
      const ofVariants = variants ?? variantA ?? variantB;
      if (old === undefined || revised === undefined || ofVariants !== undefined)
        throw old !== undefined && ofVariants === undefined
          ? invalidFlag(
              "<new>",
              "is missing: pass the later state too, as in bivariant diff <old> <new>.",
            )
          : invalidFlag(
              "<old>",
              "and <new> exclude --variants, --variant-a and --variant-b: pass two documents or " +
                "folders, or --variants, with the other two for documents of your own.",
            );
      const diff = await output.during("comparing", () =>
        diffDocuments(old, revised, { signal, refs }),
      );
      if (output.json) output.value(diff);
      else if (markdown) output.lines(bounded(changeTable(diff)));
      else
        output.lines(
          ...diff.changes.flatMap((one) => changeLines(one, output.paint)),
          countsOf(diff),
        );
      if (diff.level !== undefined && levels.indexOf(diff.level) <= levels.indexOf(failOn as Level))
        finish(exitCodes.checkSaidNo);
    })
    .addHelpText(
      "after",
      `
Comparing two states requires @redocly/cli in the same project:
  $ npm install --save-dev --save-exact @redocly/cli@2.77.0

breaking: code that uses the old document fails with the new one. additive: it
can do more. neutral: it notices nothing.

Examples:
  $ git worktree add ../main main && bivariant diff ../main/openapi openapi \\
      --markdown
  $ bivariant diff ../main/generated generated  # as generate --overlay writes
  $ bivariant diff --variants requestToken

With --json: { "level", "summary", "changes" }, or with --variants a list of {
"operationId", "differences" }.`,
    );
}

/** The worst level is the first. */
const colours = { breaking: "red", additive: "green", neutral: "dim" } as const;
const levels = Object.keys(colours) as Level[];

function countsOf({ summary, level }: DocumentDiff): string {
  return level === undefined
    ? "No changes."
    : levels.map((one) => `${summary[one]} ${one}`).join(", ");
}

/** Where a change is in the interface, what it is, and where it is in the file. */
function cellsOf({ variant, operation, part, message, corrected, file, line }: Change): string[] {
  const where = [variant && `Variant ${variant}`, operation, part].filter(Boolean).join(", ");
  return [
    where,
    [message, corrected].filter(Boolean).join(" "),
    [file, line].filter(Boolean).join(":"),
  ];
}

function changeLines(change: Change, paint: Paint): string[] {
  const label = paint(colours[change.level], change.level) + " ".repeat(10 - change.level.length);
  const [where, what, place] = cellsOf(change);
  return [`${label}${where}`, `          ${what}`, paint("dim", `          ${place}`)];
}

function changeTable(diff: DocumentDiff): string[] {
  const rows = diff.changes.map((change) => [change.level, ...cellsOf(change)]);
  return [`### ${countsOf(diff)}`, "", ...table(["Level", "Where", "Change", "File"], rows)];
}

function variantLines({ operationId, differences }: OperationDifference): string[] {
  const sides = differences.flatMap(({ part, A = "not described", B = "not described" }) => [
    `  ${part}`,
    `    A  ${A}`,
    `    B  ${B}`,
  ]);
  return [operationId, ...sides];
}

function variantTable({ operationId, differences }: OperationDifference): string[] {
  const rows = differences.map(({ part, A, B }) => [part, A, B]);
  return [`### ${code(operationId)}`, "", ...table(["Part", "Variant A", "Variant B"], rows), ""];
}

function table(
  head: readonly string[],
  rows: readonly (readonly (string | undefined)[])[],
): string[] {
  if (rows.length === 0) return ["Nothing differs."];
  return [head, head.map(() => "---"), ...rows.map((row) => row.map(code))].map(
    (row) => `| ${row.join(" | ")} |`,
  );
}

/**
 * As code no value becomes markup, a link or a mention: a stranger may have written the documents.
 */
function code(value: string | undefined): string {
  return value
    ? `\`${value.replaceAll("`", "'").replaceAll("|", "\\|").replace(/\s+/g, " ")}\``
    : "";
}

/** GitHub refuses longer comments. */
const MOST_CHARACTERS = 65_536;

function bounded(lines: readonly string[]): string {
  let left = MOST_CHARACTERS - 100;
  const kept = lines.filter((line) => {
    left -= line.length + 1;
    return left >= 0;
  });
  const missing = lines.length - kept.length;
  return [...kept, ...(missing === 0 ? [] : ["", `${missing} more lines do not fit.`])]
    .join("\n")
    .trimEnd();
}
