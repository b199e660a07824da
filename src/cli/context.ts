/** What every command is given, so that none of them touches the process. */
import type { ExitCode } from "./exit-codes.js";
import type { Output } from "./output.js";

export interface Context {
  readonly output: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted by Ctrl-C, or when nobody reads the output any more. */
  readonly signal: AbortSignal;
}

/** Told how a command ended that ended without an error. */
export type Finish = (exitCode: ExitCode) => void;
