/** Prints results on stdout, and notes and progress on stderr, with colour on terminals only. */
import type { Detection, Evidence } from "../errors.js";
import { questionOf, type ServiceEvent } from "../internal.js";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The part of a stream of the process that is used. */
export interface Stream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(data: string | Uint8Array): unknown;
}

export interface Streams {
  readonly stdout: Stream;
  readonly stderr: Stream;
}

/** How long a task may take before a note says what the program waits for. */
const noteAfterMs = 1_000;

export class Output {
  /** Whether `--json` is set, so that stdout must hold nothing but JSON. */
  readonly json: boolean;
  readonly isTerminal: boolean;
  readonly paint: Paint;
  /** Colours for stderr. */
  readonly paintNote: Paint;
  /**
   * The indent of JSON. 0 keeps a value on one line, for a command that prints one on each line.
   */
  indent: 0 | 2 = 2;
  readonly #streams: Streams;
  readonly #env: Environment;
  #hasProgress = false;

  constructor(streams: Streams, env: Environment, json: boolean) {
    this.json = json;
    this.#streams = streams;
    this.#env = env;
    this.isTerminal = streams.stdout.isTTY === true;
    this.paint = painter(streams.stdout, env);
    this.paintNote = painter(streams.stderr, env);
  }

  /** Writes text to stdout, each part with a line break at its end. */
  lines(...lines: readonly string[]): void {
    this.raw(`${lines.join("\n")}\n`);
  }

  /** Writes an answer to stdout as it came, without a line break at its end. */
  raw(content: string | Uint8Array): void {
    this.#clearProgress();
    this.#streams.stdout.write(content);
  }

  /** Writes a result as JSON. */
  value(value: unknown): void {
    this.lines(printableJson(value, this.indent));
  }

  note(text: string): void {
    this.say(this.paintNote("dim", text));
  }

  /** Writes text for people to stderr. */
  say(text: string): void {
    this.#clearProgress();
    this.#streams.stderr.write(`${text}\n`);
  }

  /**
   * Shows a line on the terminal until something else is written, or removes it. Nothing is shown
   * without a terminal.
   */
  progress(text: string | undefined): void {
    const { stderr } = this.#streams;
    this.#clearProgress();
    if (text === undefined || !stderr.isTTY || this.#env.TERM === "dumb") return;
    stderr.write(text.slice(0, (stderr.columns || 80) - 1));
    this.#hasProgress = true;
  }

  #clearProgress(): void {
    if (this.#hasProgress) this.#streams.stderr.write("\r\u001b[2K");
    this.#hasProgress = false;
  }

  /**
   * Runs a task and, when it takes long, notes what the program waits for; `what` completes "Still
   * ...".
   */
  async during<T>(what: string, task: () => Promise<T>): Promise<T> {
    const timer = setTimeout(() => this.note(`Still ${what}. Press Ctrl-C to stop.`), noteAfterMs);
    return task().finally(() => clearTimeout(timer));
  }

  /**
   * The value of the option `onEvent`. It notes the events that explain a wait or deserve a
   * warning.
   */
  readonly onEvent = (event: ServiceEvent): void => {
    const seconds = (ms: number) => Math.max(0, Math.ceil(ms / 1000));
    if (event.type === "rate_limited")
      this.note(
        "The rate limit of the tenant is reached. " +
          `The next token request is possible at ${new Date(event.retryAt).toISOString()} (in ` +
          `${seconds(event.retryAt - event.at)} s).`,
      );
    if (event.type === "token_requested" && event.attempt > 1)
      this.note(`Requesting a token again, attempt ${event.attempt}.`);
    if (event.type === "clock_off")
      this.note(
        `The server's clock is ${seconds(Math.abs(event.offsetMs))} s ` +
          `${event.offsetMs > 0 ? "ahead of" : "behind"} this machine's.`,
      );
    if (event.type === "tenant_differs")
      this.note("The token response names another tenant than the requested one.");
    if (event.type === "call_replayed")
      this.note("The token was refused. The call was sent again with a new one.");
    if (event.type === "call_retried")
      this.note(
        `The call failed (${event.status ?? event.code}). ` +
          `It is sent again in ${seconds(event.waitMs)} s.`,
      );
  };
}

const styles = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;

export type Paint = (style: keyof typeof styles, text: string) => string;

/** Colours text on a terminal, unless TERM is "dumb" or NO_COLOR is set (no-color.org). */
export function painter({ isTTY }: Pick<Stream, "isTTY">, env: Environment): Paint {
  const hasColour = isTTY === true && !env.NO_COLOR && env.TERM !== "dumb";
  return (style, text) => (hasColour ? `\u001b[${styles[style]}m${text}\u001b[0m` : text);
}

/**
 * DEL and C1 controls, line and paragraph separators, and marks that change the direction of text.
 */
const unprintable = /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Escapes what a server could send to move the cursor of a terminal or to reverse its text. */
export function printableJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent) ?? "null";
  return text.replace(
    unprintable,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Replaces the same in a text for people, whose line breaks stay. */
export function printableText(text: string): string {
  return text.replace(/[^\P{C}\n\t]/gu, "?");
}

/** Returns three lines for each request: question, answer and verdict; the reason; the URL. */
export function evidenceLines(evidence: readonly Evidence[], paint: Paint): string[] {
  if (evidence.length === 0) return ["  (no request was sent)"];
  return evidence.flatMap(({ status, contentType, says, reason, url, ...asked }) => [
    `  ${questionOf(asked)}: ${[status, contentType].filter(Boolean).join(" ")} ` +
      `-> ${paintVerdict(says, paint)}`,
    `    ${reason}`,
    paint("dim", `    POST ${url}`),
  ]);
}

export function paintVerdict(says: Detection["served"]["A"], paint: Paint): string {
  return paint(says === "yes" ? "green" : says === "no" ? "dim" : "yellow", says);
}
