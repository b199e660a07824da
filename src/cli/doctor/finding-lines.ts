/** A finding as a person should see it. */
import type { Paint } from "../paint.js";
import type { Finding } from "./finding.js";

const styles = { pass: "green", fail: "red", unknown: "yellow" } as const;

const verdictColumns = "unknown ".length;
const checkColumns = "reachability  ".length;
/** Narrower terminals get the evidence under the check, not beside it. */
const narrowColumns = 70;
/** Below this nothing is gained by breaking lines. */
const leastTextColumns = 20;

/** `columns`: of the terminal. Left out, as for a pipe: a finding and a remedy are one line each, for grep. */
export function findingLines(
  { check, verdict, evidence, remedy }: Finding,
  paint: Paint,
  columns: number = Number.POSITIVE_INFINITY,
): string[] {
  const isNarrow = columns < narrowColumns;
  const indent = isNarrow ? 2 : verdictColumns + checkColumns;
  const [first = "", ...rest] = wrap(evidence, columns - indent);
  const [firstOfRemedy, ...restOfRemedy] = remedy === undefined ? [] : wrap(remedy, columns - indent - 3);
  const margin = " ".repeat(indent);
  const head = `${paint(styles[verdict], verdict.padEnd(verdictColumns))}${check}`;
  return [
    ...(isNarrow ? [head, margin + first] : [`${head}${" ".repeat(checkColumns - check.length)}${first}`]),
    ...rest.map((line) => margin + line),
    ...(firstOfRemedy === undefined ? [] : [`${margin}-> ${firstOfRemedy}`]),
    ...restOfRemedy.map((line) => `${margin}   ${line}`),
  ];
}

/** The last line: how many of each, and which failed. */
export function summaryLine(findings: readonly Finding[], paint: Paint): string {
  const count = (verdict: Finding["verdict"]) => findings.filter((one) => one.verdict === verdict).length;
  const failed = findings.filter(({ verdict }) => verdict === "fail").map(({ check }) => check);
  const told = `${count("pass")} pass, ${count("fail")} fail, ${count("unknown")} unknown.`;
  return failed.length === 0 ? told : `${told} ${paint("red", `Look at: ${failed.join(", ")}.`)}`;
}

/** Breaks between words alone: a URL or a kid stays whole, to be copied. */
function wrap(text: string, columns: number): string[] {
  if (columns < leastTextColumns) return [text];
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= columns)
      lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}
