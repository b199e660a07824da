/** One run of the command line, from arguments to exit code: the only place that catches. */
import { CommanderError } from "commander";
import type { Context } from "./context.js";
import { type ExitCode, exitCodeOf, exitCodes } from "./exit-codes.js";
import { Output, type Stream } from "./output.js";
import { createProgram } from "./program.js";
import { refuseSecrets } from "./refuse-secrets.js";
import { usageError } from "./usage-error.js";

export interface Process {
  readonly stdout: Stream;
  readonly stderr: Stream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted by Ctrl-C, or when nobody reads the output any more; the reason is the exit code. */
  readonly signal: AbortSignal;
}

/** Runs a command and prints what goes wrong: on stderr for people, with `--json` as an object on stdout. */
export async function run(argv: readonly string[], process: Process): Promise<ExitCode> {
  const json = argv.includes("--json");
  const output = new Output(process, json);
  const context: Context = { output, env: process.env, signal: process.signal };
  let exitCode: ExitCode = exitCodes.done;
  const program = createProgram(context, (code) => {
    exitCode = code;
  });
  try {
    refuseSecrets(argv);
    await program.parseAsync(argv, { from: "user" });
    return exitCode;
  } catch (error) {
    if (process.signal.aborted) return interrupted(process.signal.reason);
    if (!(error instanceof CommanderError)) return fail(error);
    if (error.exitCode === 0) return exitCodes.done;
    // The help that an incomplete command prints has told people already.
    if (error.code === "commander.help" && !json) return exitCodes.configuration;
    return fail(usageError(error, program, argv));
  }

  function interrupted(reason: ExitCode): ExitCode {
    if (reason !== exitCodes.outputClosed) output.interrupted();
    return reason;
  }

  function fail(error: unknown): ExitCode {
    output.error(error);
    return exitCodeOf(error);
  }
}
