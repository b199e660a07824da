/**
 * The file from which an interrupted survey goes on: a line for each finished customer, appended as
 * it ends.
 */
import { createHash } from "node:crypto";
import { constants, existsSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { type Customer, columns } from "./customers.js";
import { SurveyError } from "./errors.js";
import type { SurveyResult } from "./result.js";
import { isResult } from "./since.js";

const header = JSON.stringify({ bivariant: "survey state", version: 1 });

/** The digest of what the row says, so that a row that was changed is asked again. */
export function digestOf(customer: Customer): string {
  const said = JSON.stringify(columns.map((name) => customer[name] ?? null));
  return createHash("sha256").update(said).digest("hex");
}

export class StateFile {
  readonly #handle: FileHandle;
  /** Lines are written one after the other. */
  #written: Promise<unknown> = Promise.resolve();

  private constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  /**
   * Opens the file, or makes it with mode 0600.
   * @throws SurveyError `state_unavailable`, `state_invalid`
   */
  static async open(path: string): Promise<StateFile> {
    const { O_RDWR, O_CREAT, O_APPEND, O_NOFOLLOW } = constants;
    let handle: FileHandle | undefined;
    try {
      handle = await open(path, O_RDWR | O_CREAT | O_APPEND | (O_NOFOLLOW ?? 0), 0o600);
      const found = await handle.stat();
      // The mode of a device such as /dev/null would be changed, and the command would delete it at
      // the end.
      if (!found.isFile()) throw notAState();
      const { size } = found;
      const first = Buffer.alloc(header.length + 1);
      await handle.read(first, 0, first.length, 0);
      if (size > 0 && first.toString("latin1") !== `${header}\n`) throw notAState();
      await handle.chmod(0o600);
      if (size === 0) await handle.appendFile(`${header}\n`);
      return new StateFile(handle);
    } catch (fault) {
      await handle?.close();
      if (fault instanceof SurveyError) throw fault;
      throw unavailable(fault);
    }
  }

  /**
   * Yields what is there, with the digest of its row. A last line that a crash has cut off is
   * removed.
   */
  async *read(): AsyncGenerator<{ readonly digest: string; readonly result: SurveyResult }> {
    let end = header.length + 1;
    const source = this.#handle.createReadStream({ autoClose: false, start: end });
    let rest = "";
    // Split at line feeds only: JSON may hold the line separators at which `readline` splits too.
    for await (const chunk of source.setEncoding("utf8")) {
      const lines = `${rest}${chunk}`.split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > longestLine) throw notAState();
      for (const line of lines) {
        yield parsed(line);
        end += Buffer.byteLength(line) + 1;
      }
    }
    await this.#handle.truncate(end);
  }

  /** @throws SurveyError `state_unavailable` */
  async append(digest: string, result: SurveyResult): Promise<void> {
    // Neither is part of what was found. They are those of the file that is read next time.
    const { line: _, other: __, ...rest } = result;
    const written = this.#written.then(() =>
      this.#handle.appendFile(`${JSON.stringify({ digest, result: rest })}\n`),
    );
    this.#written = written.catch(() => {});
    await written.catch((fault: unknown) => {
      throw unavailable(fault);
    });
  }

  async close(): Promise<void> {
    await this.#written;
    await this.#handle.close();
  }
}

/** The customers whose results are not in the file yet: all of them if there is no file. */
export async function unfinished(
  customers: readonly Customer[],
  path: string,
): Promise<readonly Customer[]> {
  if (!existsSync(path)) return customers;
  const state = await StateFile.open(path);
  try {
    const left = new Map(customers.map((one) => [digestOf(one), one]));
    for await (const { digest } of state.read()) left.delete(digest);
    return [...left.values()];
  } finally {
    await state.close();
  }
}

/** A result is a few thousand characters long. */
const longestLine = 2 ** 20;

function parsed(text: string) {
  try {
    const { digest, result } = Object(JSON.parse(text));
    if (typeof digest === "string" && isResult(result)) return { digest, result };
  } catch {
    // The error would quote the line.
  }
  throw notAState();
}

function notAState(): SurveyError {
  const message =
    "The state file is not one of a survey, or is damaged. " +
    "Name another file, or delete it to begin anew.";
  return new SurveyError("state_invalid", message);
}

function unavailable(fault: unknown): SurveyError {
  const { code = "no code" } = fault as NodeJS.ErrnoException;
  const message =
    `The state file cannot be read and written (${code}). ` +
    "Name a file in a folder that you may write to.";
  return new SurveyError("state_unavailable", message);
}
