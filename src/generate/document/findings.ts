/** Collects what is wrong with the documents of a run, so that one run reports everything. */
import { GenerateError, type GenerateErrorCode } from "./source-file.js";

/** What `generate` reports besides errors. */
export interface Notice {
  /** A warning is an error with `strict`. A note only says what was done. */
  readonly level: "warning" | "note";
  readonly code: GenerateErrorCode | "document_upgraded" | "operation_named";
  /** Starts with the file, and of a warning with line, column and JSON pointer. */
  readonly message: string;
  readonly document?: string | undefined;
  readonly pointer?: string | undefined;
}

export class Findings {
  readonly #errors = new Map<string, GenerateError>();
  readonly #warnings = new Map<string, GenerateError>();
  readonly #notes: Notice[] = [];

  /** Runs the work. What it throws about the documents is kept, and then its value is undefined. */
  attempt<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (cause) {
      this.error(cause);
      return undefined;
    }
  }

  /** Keeps an error once, since many operations share a faulty component. */
  error(cause: unknown): void {
    if (!(cause instanceof GenerateError)) throw cause;
    for (const one of cause.errors) this.#errors.set(one.message, one);
  }

  warn(warning: GenerateError): void {
    this.#warnings.set(warning.message, warning);
  }

  note(code: Notice["code"], document: string, message: string): void {
    this.#notes.push({ level: "note", code, message: `${document}: ${message}`, document });
  }

  /**
   * @throws GenerateError with everything so far, if there is something after which no reference
   * can be followed
   */
  refuseEndless(): void {
    const isEndless = ({ code }: GenerateError) =>
      code === "reference_circular" || code === "document_too_large";
    if ([...this.#errors.values()].some(isEndless)) this.refuse();
  }

  /** Notes first, and then the warnings in the order in which they were found. */
  get notices(): readonly Notice[] {
    const warnings = [...this.#warnings.values()].map(
      ({ code, message, document, pointer }): Notice => ({
        level: "warning",
        code,
        message,
        document,
        pointer,
      }),
    );
    return [...this.#notes, ...warnings];
  }

  /**
   * @throws GenerateError with everything that is wrong; with `strict` also for what is only a
   * warning
   */
  refuse(strict = false): void {
    const errors = new Map([...this.#errors, ...(strict ? this.#warnings : [])]);
    if (errors.size > 0) throw GenerateError.ofAll([...errors.values()]);
  }
}
