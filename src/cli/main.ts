#!/usr/bin/env node
/** The command `bivariant`: hands the process's arguments, streams and signals to `run`, and takes its exit code. */
import { exitCodes } from "./exit-codes.js";
import { run } from "./run.js";

const interruption = new AbortController();
// Once: a second Ctrl-C ends the process at once.
process.once("SIGINT", () => interruption.abort(exitCodes.interrupted));
// `bivariant ... | head`: whoever read has had enough.
for (const stream of [process.stdout, process.stderr])
  stream.on("error", () => interruption.abort(exitCodes.outputClosed));

const { stdout, stderr, env } = process;
process.exitCode = await run(process.argv.slice(2), { stdout, stderr, env, signal: interruption.signal });
