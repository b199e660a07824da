// Runs the command line: in the test's own process, or as a real process where the process itself
// is tested.
import { AsyncLocalStorage } from "node:async_hooks";
import { type ChildProcess, spawn } from "node:child_process";
import { expect } from "vitest";
import type { Stream } from "../../src/cli/output.js";
import { run } from "../../src/cli/run.js";
import { bundledProgram } from "../support/program.js";

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly ended: Promise<Ended>;
  /**
   * Resolves with the first match in stdout or stderr; rejects when the command ends without one.
   */
  seen(pattern: RegExp): Promise<RegExpExecArray>;
  /** Does what Ctrl-C does. */
  interrupt(): void;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Commander reads `process.env`. Each run sees its own environment there, and others see the real
 * one.
 */
const environments = new AsyncLocalStorage<Environment>();
const real = process.env;
const current = () => (environments.getStore() ?? real) as NodeJS.ProcessEnv;
process.env = new Proxy(real, {
  get: (_, name) => current()[String(name)],
  has: (_, name) => current()[String(name)] !== undefined,
  set: (target, name, value) => Reflect.set(target, name, value),
});

/** Starts a command in this process, with no environment but the given one. */
export function startCli(
  args: readonly string[],
  env: Environment = {},
  terminal: Pick<Stream, "isTTY" | "columns"> = {},
): Running {
  const output = new Recorder();
  const interruption = new AbortController();
  const streams = {
    stdout: { ...terminal, write: (text: string) => output.add("stdout", text) },
    stderr: { ...terminal, write: (text: string) => output.add("stderr", text) },
  };
  const ended = environments
    .run(env, () => run(args, { ...streams, env, signal: interruption.signal }))
    .then((code) => ({ code, ...output.withoutNotes }));
  return { ended, seen: output.seen(ended), interrupt: () => interruption.abort(130) };
}

/** Runs a command in this process to its end. */
export function cli(
  args: readonly string[],
  env?: Environment,
  terminal?: Pick<Stream, "isTTY" | "columns">,
): Promise<Ended> {
  return startCli(args, env, terminal).ended;
}

/** Runs a command that must exit 2, print nothing on stdout and say these texts on stderr. */
export async function refused(
  args: readonly string[],
  env: Environment | undefined,
  ...says: readonly string[]
): Promise<Ended> {
  const ended = await cli(args, env);
  expect(ended).toMatchObject({ code: 2, stdout: "" });
  for (const text of says) expect(ended.stderr).toContain(text);
  return ended;
}

let program: string | undefined;

/** The path of the command line as a program. */
export function builtProgram(): string {
  program ??= bundledProgram(new URL("../../src/cli/main.ts", import.meta.url));
  return program;
}

/** Starts the command line as a process of its own, with no environment but the given one. */
export async function startProcess(
  args: readonly string[],
  env: Environment = {},
  stdout: "pipe" | number = "pipe",
  stdin: "ignore" | "pipe" = "ignore",
): Promise<Running & { readonly child: ChildProcess }> {
  const child = spawn(process.execPath, [builtProgram(), ...args], {
    env: { PATH: real.PATH, HOME: real.HOME, ...env },
    stdio: [stdin, stdout, "pipe"],
  });
  const output = new Recorder();
  for (const name of ["stdout", "stderr"] as const)
    child[name]?.setEncoding("utf8").on("data", (text: string) => output.add(name, text));
  const ended = new Promise<Ended>((resolve) => {
    child.on("close", (code) => resolve({ code, ...output.withoutNotes }));
  });
  return { child, ended, seen: output.seen(ended), interrupt: () => child.kill("SIGINT") };
}

class Recorder {
  readonly text = { stdout: "", stderr: "" };
  readonly #listeners = new Set<() => void>();

  /** A busy machine makes a command slow enough to write notes of its progress. */
  get withoutNotes() {
    return { ...this.text, stderr: this.text.stderr.replace(/^.{0,8}Still .*\n/gm, "") };
  }

  add(name: "stdout" | "stderr", text: string): void {
    this.text[name] += text;
    for (const listener of this.#listeners) listener();
  }

  seen(ended: Promise<Ended>): Running["seen"] {
    return (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = pattern.exec(this.text.stdout) ?? pattern.exec(this.text.stderr);
          if (found !== null) resolve(found);
        };
        this.#listeners.add(look);
        look();
        ended.then(
          () => reject(new Error(`never seen: ${pattern} in ${JSON.stringify(this.text)}`)),
          reject,
        );
      });
  }
}
