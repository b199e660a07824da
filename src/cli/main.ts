#!/usr/bin/env node
/** The command `bivariant`: hands the process's arguments, streams and signals to `run`, and takes its exit code. */
import { type ExitCode, exitCodes } from "./exit-codes.js";
import { run } from "./run.js";

const interruption = new AbortController();
let lostOutput: ExitCode | undefined;
// Once: a second Ctrl-C ends the process at once.
process.once("SIGINT", () => interruption.abort(exitCodes.interrupted));
// `bivariant ... | head`: whoever read has had enough.
for (const stream of [process.stdout, process.stderr])
  stream.on("error", ({ code }: NodeJS.ErrnoException) => {
    if (code !== "EPIPE" && stream === process.stdout)
      process.stderr.write(`The output could not be written (${code}).\n`);
    // Whatever comes of the command: output that is lost, on a full disk say, is not done.
    lostOutput = code === "EPIPE" ? exitCodes.outputClosed : exitCodes.fault;
    process.exitCode = lostOutput;
    interruption.abort(lostOutput);
  });

const { stdout, stderr, env } = process;
const exitCode = await run(process.argv.slice(2), { stdout, stderr, env, signal: interruption.signal });
process.exitCode = lostOutput ?? exitCode;
