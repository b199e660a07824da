// Runs the real command line in a process of its own, with no environment but what a test gives it.
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

export const main: string = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Resolves with the first match in stdout or stderr; rejects when the process ends without one. */
  seen(pattern: RegExp): Promise<RegExpExecArray>;
}

export type Environment = Readonly<Record<string, string | undefined>>;

export function startCli(args: readonly string[], env: Environment = {}): Running {
  const child = spawn(process.execPath, ["--import", "tsx", main, ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: process.env.TMPDIR, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const text = { stdout: "", stderr: "" };
  const looks = new Set<() => void>();
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (chunk: string) => {
      text[name] += chunk;
      for (const look of looks) look();
    });
  }
  const ended = new Promise<Ended>((resolve) => {
    child.on("close", (code) => resolve({ code, ...text }));
  });
  return {
    child,
    ended,
    seen: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = pattern.exec(text.stdout) ?? pattern.exec(text.stderr);
          if (found !== null) resolve(found);
        };
        looks.add(look);
        look();
        ended.then(() => reject(new Error(`never seen: ${pattern} in ${JSON.stringify(text)}`)));
      }),
  };
}

export function cli(args: readonly string[], env?: Environment): Promise<Ended> {
  return startCli(args, env).ended;
}
