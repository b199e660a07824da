/**
 * Compares the results of a survey with those of an earlier one: who moved, who broke, who
 * recovered.
 */
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
    if (index === last && isInterruption(value)) return [];
    if (!isResult(value)) throw notResults(`Line ${index + 1} is not a result of a survey`);
    const { baseUrl, tenantId, variant, works, aClientId, bClientId } = value;
    return [
      {
        baseUrl,
        tenantId,
        variant,
        works,
        ...(aClientId !== undefined && { aClientId }),
        ...(bClientId !== undefined && { bClientId }),
      },
    ];
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
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
  const { rows, wrong } = readRowsOf(text);
  const [first] = wrong;
  if (first !== undefined) throw notResults(`Line ${first.line} is not a result of a survey`);
  return rows.map(({ line, fields }) => {
    const cell = (name: string) => withoutQuotes(fields.get(name) ?? "") || undefined;
    const works = { true: true, false: false }[cell("works") ?? ""];
    const [tenantId, variant] = [cell("tenantId") ?? null, cell("variant") ?? null];
    const [aClientId, bClientId] = [cell("aClientId"), cell("bClientId")];
    const value: unknown = {
      baseUrl: cell("baseUrl"),
      tenantId,
      variant,
      works,
      aClientId,
      bClientId,
    };
    if (!isResult(value)) throw notResults(`Line ${line} is not a result of a survey`);
    return value;
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
