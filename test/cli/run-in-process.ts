// Runs the command line in the test's own process, for tables of many rows and for streams that are terminals.
import { run } from "../../src/cli/run.js";
import type { Ended, Environment } from "./run-cli.js";

export async function runInProcess(
  args: readonly string[],
  env: Environment = {},
  { isTTY = false, signal = new AbortController().signal }: { isTTY?: boolean; signal?: AbortSignal } = {},
): Promise<Ended> {
  const text = { stdout: "", stderr: "" };
  const stream = (name: "stdout" | "stderr") => ({
    isTTY,
    write(chunk: string) {
      text[name] += chunk;
    },
  });
  const code = await run(args, { stdout: stream("stdout"), stderr: stream("stderr"), env, signal });
  return { code, ...text };
}
