/** Reads rows with their lines from CSV, JSON lines or YAML. Every value is a text. */
import { CsvError, type InfoRecord, parse } from "csv-parse/sync";
import { Composer, type CST, isMap, isScalar, isSeq, Lexer, LineCounter, Parser } from "yaml";
import { parseJson, recordOf } from "../http/exchange.js";
import { SurveyError } from "./errors.js";

export interface Row {
  readonly line: number;
  readonly fields: ReadonlyMap<string, string>;
}

/** A row that is wrong. The message continues "The row". */
export interface WrongRow {
  readonly line: number;
  readonly problem: string;
}

export type ReadRows = readonly (Row | WrongRow)[];

/**
 * The limits of what is read: characters of a file (bytes, for the command line), characters of a
 * row, and rows.
 */
export const limits = { file: 33_554_432, yaml: 8_388_608, row: 65_536, rows: 100_000 } as const;

/**
 * Reads rows. The first character decides: `{` begins JSON lines; `-`, `[`, `#` and `%` begin a
 * list in YAML, and JSON is YAML; anything else is the first line of a CSV, with the names of its
 * columns, which `checkHeader` checks.
 *
 * @throws SurveyError `customers_invalid` if it is none of them, `customers_too_large`
 */
export function readRows(given: string, checkHeader: (names: readonly string[]) => void): ReadRows {
  const text = given.replace(/^\ufeff/, "");
  const first = /^\s*([{[#%-]?)/.exec(text)?.[1] ?? "";
  const isYaml = first !== "" && first !== "{";
  requireSize(text.length, isYaml ? limits.yaml : limits.file, "characters");
  const rows = isYaml
    ? fromYaml(text)
    : first === "{"
      ? fromJsonLines(text)
      : readCsv(text, checkHeader);
  requireSize(rows.length, limits.rows, "rows");
  return rows;
}

function requireSize(size: number, most: number, of: string): void {
  if (size > most)
    throw new SurveyError(
      "customers_too_large",
      `The file has more than ${most} ${of}. Split it, and survey the parts.`,
    );
}

function invalid(message: string): SurveyError {
  return new SurveyError("customers_invalid", message);
}

export function readCsv(text: string, checkHeader: (names: readonly string[]) => void): ReadRows {
  // Spreadsheets of many countries separate by semicolons.
  const delimiter = /^[\r\n]*[^\r\n]*?([,;\t])/.exec(text)?.[1] ?? ",";
  let header: readonly string[] | undefined;
  const rows: (Row | WrongRow)[] = [];
  const take = (cells: readonly string[], { lines: lastLine }: InfoRecord) => {
    const line = lastLine - cells.reduce((sum, cell) => sum + cell.split("\n").length - 1, 0);
    if (header === undefined) {
      checkHeader(cells);
      header = cells;
    } else if (cells.length > header.length)
      rows.push({
        line,
        problem: `has ${cells.length} cells, but the first line names ${header.length} columns.`,
      });
    else if (cells.some((cell) => cell !== ""))
      rows.push({ line, fields: new Map(cells.map((cell, at) => [header?.[at] ?? "", cell])) });
    requireSize(rows.length, limits.rows, "rows");
    return null;
  };
  try {
    // The package counts a CRLF within quotes as two lines.
    parse(text.replaceAll("\r\n", "\n"), {
      delimiter,
      trim: true,
      relax_column_count: true,
      skip_empty_lines: true,
      max_record_size: limits.row,
      on_record: (cells: string[], info) => take(cells, info),
    });
  } catch (fault) {
    if (!(fault instanceof CsvError)) throw fault;
    const { lines = 1 } = fault as { readonly lines?: number };
    const what = fault.code.replace(/^CSV_/, "").replaceAll("_", " ").toLowerCase();
    throw invalid(`Line ${lines} is not CSV: ${what}. Correct it, or write JSON lines.`);
  }
  if (header === undefined)
    throw invalid("The file is empty. Its first line must name the columns.");
  return rows;
}

function fromJsonLines(text: string): ReadRows {
  return text.split("\n").flatMap((written, index) => {
    if (written.trim() === "") return [];
    const line = index + 1;
    if (written.length > limits.row) return { line, problem: tooLong };
    const value = parseJson(written);
    const record = recordOf(value);
    if (record === undefined)
      return { line, problem: value === undefined ? "is not JSON." : "is not a JSON object." };
    const members = Object.entries(record);
    return rowOf(
      line,
      members.map(([name, member]) => [name, scalar(name, member)]),
    );
  });
}

const tooLong = `is longer than ${limits.row} characters.`;

type Scalar = string | undefined | { readonly problem: string };

/** A number as an id would lose its leading zeros and, beyond 2^53, its last digits. */
function scalar(name: string, value: unknown): Scalar {
  if (value === null || value === undefined) return undefined;
  if (typeof value === "string") return value.trim();
  if (typeof value === "boolean" || (typeof value === "number" && !/Id$/.test(name)))
    return String(value);
  return { problem: typeof value === "number" ? "a text in quotes" : "a text" };
}

function rowOf(
  line: number,
  members: readonly (readonly [name: string, value: Scalar])[],
): Row | WrongRow {
  const fields = new Map<string, string>();
  for (const [name, value] of members) {
    if (value === undefined) continue;
    if (typeof value === "object" || fields.has(name)) {
      const must = typeof value === "object" ? `must be ${value.problem}` : "occurs twice";
      return { line, problem: `has a member that ${must}: ${shownName(name)}.` };
    }
    fields.set(name, value);
  }
  return { line, fields };
}

/** A name with digits may be a secret by mistake, so it is not shown. */
export function shownName(name: string): string {
  return /^[A-Za-z_.$ -]{1,40}$/.test(name) ? name : "…";
}

/**
 * Reads every scalar as a text, so that `no` and `0123` stay what they are. Aliases, which can
 * grow, are refused.
 */
function fromYaml(text: string): ReadRows {
  const lines = new LineCounter();
  const lineAt = (offset = 0) => lines.linePos(offset).line;
  // The check of unique keys in the package compares them in pairs.
  const composer = new Composer({ schema: "failsafe", uniqueKeys: false });
  const [document, another] = composer.compose(tokensOf(text, lines), true, text.length);
  const error = document?.errors[0];
  if (error !== undefined)
    throw invalid(
      `Line ${lineAt(error.pos[0])} is not YAML: ${error.code.replaceAll("_", " ").toLowerCase()}.`,
    );
  const contents = document?.contents;
  if (!isSeq(contents) || another !== undefined)
    throw invalid("The YAML must be one list with a mapping for each customer.");
  return contents.items.map((item) => {
    const range = (item as { readonly range?: readonly number[] | null }).range;
    const line = lineAt(range?.[0]);
    if (!isMap(item)) return { line, problem: "is not a mapping." };
    if ((range?.[1] ?? 0) - (range?.[0] ?? 0) > limits.row) return { line, problem: tooLong };
    return rowOf(
      line,
      item.items.map(({ key, value }) => {
        const name = isScalar(key) ? String(key.value) : "…";
        if (value === null || (isScalar(value) && value.source === "")) return [name, undefined];
        return [name, isScalar(value) ? String(value.value).trim() : { problem: "a text" }];
      }),
    );
  });
}

/**
 * A list of mappings has three levels. The package is recursive, and would overflow the stack at a
 * few thousand.
 */
const mostLevels = 16;

function* tokensOf(text: string, lines: LineCounter): Generator<CST.Token> {
  const parser = new Parser(lines.addNewLine);
  // As `Parser.parse` does.
  lines.addNewLine(0);
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme);
    // The stack holds the nested collections, the document and a scalar.
    if (parser.stack.length > mostLevels + 2)
      throw invalid(
        "The YAML is nested too deeply. Write a list with a mapping for each customer.",
      );
  }
  yield* parser.end();
}
