/** Where everything goes that is printed: results to stdout, notes to stderr, colour to terminals only. */
import { exitCodes } from "./exit-codes.js";
import { type Paint, painter } from "./paint.js";
import { errorJson } from "./report/error-json.js";
import { errorLines } from "./report/error-lines.js";
import { printableJson } from "./report/printable-json.js";

/** What is used of a stream of the process. */
export interface Stream {
  readonly isTTY?: boolean;
  /** Of a terminal. */
  readonly columns?: number;
  write(text: string): unknown;
}

export interface Streams {
  readonly stdout: Stream;
  readonly stderr: Stream;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export class Output {
  /** `--json`: stdout holds JSON and nothing else. */
  readonly json: boolean;
  /** Colours for stdout. */
  readonly paint: Paint;
  readonly #paintNote: Paint;
  readonly #streams: Streams;

  constructor(streams: Streams, json: boolean) {
    this.json = json;
    this.#streams = streams;
    this.paint = painter(streams.stdout, streams.env);
    this.#paintNote = painter(streams.stderr, streams.env);
  }

  /** Whether somebody looks at stdout. */
  get isTerminal(): boolean {
    return this.#streams.stdout.isTTY === true;
  }

  /** Of the terminal that stdout is; absent for a pipe or a file. */
  get columns(): number | undefined {
    const { isTTY, columns } = this.#streams.stdout;
    return isTTY === true ? columns : undefined;
  }

  /** Lines of a result. */
  lines(lines: readonly string[]): void {
    this.#streams.stdout.write(`${lines.join("\n")}\n`);
  }

  /** A result as indented JSON. */
  value(value: unknown): void {
    this.lines([printableJson(value, 2)]);
  }

  /** One of many results, as a line of JSON. */
  valueLine(value: unknown): void {
    this.lines([printableJson(value)]);
  }

  /** What a person may want to know besides the result. */
  note(text: string): void {
    this.#streams.stderr.write(`${this.#paintNote("dim", text)}\n`);
  }

  /** What commander writes to stderr. */
  raw(text: string): void {
    this.#streams.stderr.write(text);
  }

  /** `body`: of a refused call, once it is known to hold no secret. */
  error(error: unknown, body?: unknown): void {
    if (this.json) this.value(errorJson(error, body));
    else this.#streams.stderr.write(`${errorLines(error, this.#paintNote, body).join("\n")}\n`);
  }

  interrupted(): void {
    const message = "Interrupted.";
    if (this.json) this.value({ error: { code: "interrupted", message, exitCode: exitCodes.interrupted } });
    else this.note(message);
  }
}
