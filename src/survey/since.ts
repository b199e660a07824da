/**
 * Compares the results of a survey with those of an earlier one: who moved, who broke, who
 * recovered.
 */
import { parseJson } from "../http/exchange.js";
import { withoutUndefined } from "../options.js";
import { withoutQuotes } from "./csv.js";
import { identityOf } from "./customers.js";
import { SurveyError } from "./errors.js";
import type { Change, SurveyResult } from "./result.js";
import { type ReadRows, readCsv } from "./rows.js";

/** What is compared. */
export type EarlierResult = Pick<
  SurveyResult,
  "baseUrl" | "tenantId" | "variant" | "works" | "aClientId" | "bClientId"
>;

/** The most characters of an earlier result: 100 000 customers take about half of it. */
export const mostCharacters: number = 2 ** 29 - 2 ** 20;

/**
 * Reads the results of an earlier survey: JSON lines, or the CSV. Those of an interrupted survey
 * end with its error, and are incomplete.
 *
 * @throws SurveyError `earlier_invalid`
 * @example
 * import { readFile } from "node:fs/promises";
 *
 * const comparison = compareWith(parseResults(await readFile("yesterday.json", "utf8")));
 */
export function parseResults(text: string): EarlierResult[] {
  if (text.length > mostCharacters) throw notResults("The earlier result is too long");
  return /^\s*\{/.test(text) ? fromJsonLines(text) : fromCsv(text);
}

function fromJsonLines(text: string): EarlierResult[] {
  const written = text.split("\n").map((line) => line.trim());
  const last = written.findLastIndex((line) => line !== "");
  return written.flatMap((line, index) => {
    if (line === "") return [];
    const value = parseJson(line);
    return index === last && isInterruption(value) ? [] : earlierOf(value, index + 1);
  });
}

/** What `--json` writes after Ctrl-C. */
function isInterruption(value: unknown): boolean {
  return Object(Object(value).error).code === "interrupted";
}

export function isResult(value: unknown): value is SurveyResult {
  const { baseUrl, tenantId, variant, works, aClientId, bClientId } = Object(value);
  const isText = (one: unknown) => one === undefined || typeof one === "string";
  return (
    typeof baseUrl === "string" &&
    (tenantId === null || typeof tenantId === "string") &&
    (variant === null || variant === "A" || variant === "B") &&
    typeof works === "boolean" &&
    isText(aClientId) &&
    isText(bClientId)
  );
}

function fromCsv(text: string): EarlierResult[] {
  return readRowsOf(text).map((row) => {
    // A row that cannot be read has no result.
    if ("problem" in row) return earlierOf(undefined, row.line);
    const cell = (name: string) => withoutQuotes(row.fields.get(name) ?? "") || undefined;
    const value = {
      baseUrl: cell("baseUrl"),
      tenantId: cell("tenantId") ?? null,
      variant: cell("variant") ?? null,
      works: { true: true, false: false }[cell("works") ?? ""],
      aClientId: cell("aClientId"),
      bClientId: cell("bClientId"),
    };
    return earlierOf(value, row.line);
  });
}

function readRowsOf(text: string): ReadRows {
  const neither = () =>
    notResults("The earlier result is neither JSON lines nor the CSV of a survey");
  try {
    return readCsv(text, (names) => {
      if (!["baseUrl", "tenantId", "variant", "works"].every((name) => names.includes(name)))
        throw neither();
    });
  } catch (error) {
    throw error instanceof SurveyError ? neither() : error;
  }
}

/** The part of a result that is compared. @throws SurveyError `earlier_invalid` */
function earlierOf(value: unknown, line: number): EarlierResult {
  if (!isResult(value)) throw notResults(`Line ${line} is not a result of a survey`);
  const { baseUrl, tenantId, variant, works, aClientId, bClientId } = value;
  const compared = { baseUrl, tenantId, variant, works, aClientId, bClientId };
  return withoutUndefined(compared) as EarlierResult;
}

function notResults(problem: string): SurveyError {
  const message = `${problem}. Name the output of bivariant survey --json or --csv.`;
  return new SurveyError("earlier_invalid", message);
}

/** Compares the results of a survey with earlier ones, as they come. */
export interface Comparison {
  /** The changes of a customer; each customer may be asked about once. */
  changesOf(result: SurveyResult): Change[];
  /** The earlier customers that were not asked about. */
  gone(): EarlierResult[];
}

/**
 * Compares results with earlier ones. Customers are the same if base URL, tenant and client ids
 * are.
 *
 * @example
 * import { readFile } from "node:fs/promises";
 *
 * const comparison = compareWith(parseResults(await readFile("yesterday.csv", "utf8")));
 * for await (const result of survey(customers))
 *   console.log(result.tenantId, comparison.changesOf(result));
 */
export function compareWith(earlier: readonly EarlierResult[]): Comparison {
  const left = new Map(earlier.map((one) => [identityOf(one), one]));
  return {
    changesOf(result) {
      const key = identityOf(result);
      const before = left.get(key);
      left.delete(key);
      if (before === undefined) return ["new"];
      const { variant, works } = result;
      // That a variant is unknown does not show that it is another.
      const hasMoved = variant !== null && before.variant !== null && variant !== before.variant;
      return [
        ...(hasMoved ? ["moved" as const] : []),
        ...(works === before.works ? [] : [works ? ("recovered" as const) : ("broke" as const)]),
      ];
    },
    gone: () => [...left.values()],
  };
}
