/** Results as CSV, for spreadsheets. */
import { stringify } from "csv-stringify/sync";
import { type SurveyResult, stateOf } from "./result.js";

/** The names of the columns, in order, each with its cell. */
const cells = new Map<string, (one: SurveyResult) => unknown>(
  Object.entries({
    tenantId: (one) => one.tenantId,
    baseUrl: (one) => one.baseUrl,
    variant: (one) => one.variant,
    works: (one) => String(one.works),
    state: stateOf,
    code: (one) => one.code,
    problem: (one) => one.problem,
    remedy: (one) => one.remedy,
    servedA: (one) => one.served.A,
    servedB: (one) => one.served.B,
    changes: (one) => one.changes?.join(" "),
    at: (one) => new Date(one.at).toISOString(),
    aClientId: (one) => one.aClientId,
    bClientId: (one) => one.bClientId,
  }),
);

/**
 * After a separator of another country's spreadsheets, or a line break, a formula could begin
 * within a cell.
 */
const formulaWithin = /([,;\t\r\n])(["']*[=+\-@＝＋－＠])/g;

/**
 * Writes a line for each result, with the other columns of its row at the end, unless they have the
 * name of one of these. A cell that a spreadsheet would take for a formula begins with a quote.
 *
 * @example
 * import { writeFile } from "node:fs/promises";
 *
 * const results: SurveyResult[] = [];
 * for await (const result of survey(customers)) results.push(result);
 * await writeFile("survey.csv", resultsCsv(results));
 */
export function resultsCsv(results: readonly SurveyResult[]): string {
  const others = results.flatMap(({ other = {} }) => Object.keys(other));
  const names = [...new Set([...cells.keys(), ...others])];
  const rows = results.map((one) => {
    const other = new Map(Object.entries(one.other ?? {}));
    return names.map((name) => {
      const cell = cells.get(name);
      return cell === undefined ? other.get(name) : cell(one);
    });
  });
  const safe = (value: unknown) =>
    typeof value === "string" ? value.replace(formulaWithin, "$1'$2") : value;
  const lines = [names, ...rows].map((line) => line.map(safe));
  return stringify(lines, { escape_formulas: true });
}

/** Removes the quotes that `resultsCsv` has added. */
export function withoutQuotes(cell: string): string {
  const whole = cell.replace(/^'(["']*[=+\-@\t\r＝＋－＠])/, "$1");
  return whole.replace(/([,;\t\r\n])'(["']*[=+\-@＝＋－＠])/g, "$1$2");
}
