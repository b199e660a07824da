// Runs a program in a folder and keeps what it printed, for the message if it fails.
import { spawn } from "node:child_process";

export interface Outcome {
  readonly ok: boolean;
  readonly stdout: string;
  /** Both streams, as they came. */
  readonly output: string;
}

const TIMEOUT_MS = 300_000;

/** npm tells its children about the package that it runs a script of; a npm in another folder must not hear it. */
function environment(): NodeJS.ProcessEnv {
  const foreign = /^(npm_(package|lifecycle)_|npm_config_local_prefix$|npm_command$|INIT_CWD$|NODE_OPTIONS$)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)));
}

export function runQuietly(folder: string, command: string, args: readonly string[]): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: folder,
      env: environment(),
      stdio: ["ignore", "pipe", "pipe"],
      timeout: TIMEOUT_MS,
    });
    let stdout = "";
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      output += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    child.on("error", reject);
    child.on("close", (code) => resolve({ ok: code === 0, stdout, output: output.trim() }));
  });
}
