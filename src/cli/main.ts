#!/usr/bin/env node
/**
 * The command `bivariant`: passes the process's arguments, streams and signals to `run` and exits
 * with its exit code.
 */
import { type ExitCode, exitCodes, type SignalName, signalExitCodes } from "./error-report.js";
import { run } from "./run.js";

const interruption = new AbortController();
let lostOutput: ExitCode | undefined;
const signals = Object.keys(signalExitCodes) as SignalName[];
/** Lets the command delete its temporary files. A second signal ends the process at once. */
const interrupt = (signal: SignalName) => {
  for (const name of signals) process.off(name, interrupt);
  interruption.abort(signalExitCodes[signal]);
};
for (const name of signals) process.on(name, interrupt);
for (const stream of [process.stdout, process.stderr])
  stream.on("error", ({ code }: NodeJS.ErrnoException) => {
    // EPIPE means that the reader, as in `bivariant ... | head`, has closed the pipe and wants no
    // message.
    if (code !== "EPIPE" && stream === process.stdout)
      process.stderr.write(`The output could not be written (${code}).\n`);
    // Lost output is a failure even when the command itself succeeds.
    lostOutput = code === "EPIPE" ? exitCodes.outputClosed : exitCodes.fault;
    process.exitCode = lostOutput;
    interruption.abort(lostOutput);
  });

const { stdout, stderr, env } = process;
const exitCode = await run(process.argv.slice(2), {
  stdout,
  stderr,
  env,
  signal: interruption.signal,
});
process.exitCode = lostOutput ?? exitCode;
