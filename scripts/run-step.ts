// Runs one command under a printed title and says how long it took and how it ended.
import { spawnSync } from "node:child_process";

export interface Step {
  readonly title: string;
  readonly command: string;
  readonly args: readonly string[];
}

export interface StepResult {
  readonly title: string;
  readonly ok: boolean;
  readonly seconds: number;
}

const onTerminal = process.stdout.isTTY === true && process.env.NO_COLOR === undefined;

export function paint(colour: "bold" | "red" | "green", text: string): string {
  const code = { bold: 1, red: 31, green: 32 }[colour];
  return onTerminal ? `\u001b[${code}m${text}\u001b[0m` : text;
}

export function describeResult({ title, ok, seconds }: StepResult): string {
  return `${ok ? paint("green", "ok    ") : paint("red", "FAILED")} ${title} (${seconds.toFixed(1)} s)`;
}

export function runStep({ title, command, args }: Step): StepResult {
  console.log(`\n${paint("bold", `== ${title}`)}`);
  const startedAt = performance.now();
  const { status, signal, error } = spawnSync(command, args, { stdio: "inherit" });
  if (error !== undefined) console.error(`${command} did not start: ${error.message}`);
  if (signal !== null) console.error(`${command} was ended by ${signal}`);
  const result = { title, ok: status === 0, seconds: (performance.now() - startedAt) / 1000 };
  console.log(describeResult(result));
  return result;
}
