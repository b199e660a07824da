// Starts a process of refresh-process.ts.
import { type ChildProcess, spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { bundledProgram } from "../support/program.js";

let program: string | undefined;

/** `outcomes` resolves with those of each deployment. */
export function startRefreshing(settings: object): {
  child: ChildProcess;
  outcomes(): Promise<string[][]>;
} {
  program ??= bundledProgram(new URL("refresh-process.ts", import.meta.url));
  const child = spawn(process.execPath, [program], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(JSON.stringify(settings));
  return { child, outcomes: async () => JSON.parse(await text(child.stdout)) };
}
