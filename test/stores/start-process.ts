// Starts store-process.ts, which ends with the test, and waits for the steps that it reports.
import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { expect, onTestFinished } from "vitest";
import { fileStore } from "../../src/stores/file.js";
import { goneAfterMs } from "../../src/stores/file-lock.js";
import { bundledProgram } from "../support/program.js";
import { expectNothingLeft, temporaryFolder } from "./temporary-folder.js";

let program: string | undefined;

export interface Step {
  readonly step: string;
  readonly number?: number;
  readonly code?: string;
  readonly message?: string;
}

export interface StoreProcess {
  readonly child: ChildProcess;
  /** All steps that the process has reported. */
  readonly steps: readonly Step[];
  readonly ended: Promise<void>;
  /** Resolves with the first report of a step, and rejects when the process ends without one. */
  reported(step: string): Promise<Step>;
}

export function startProcess(
  args: readonly string[],
  { key, through = [] }: { readonly key: string; readonly through?: readonly string[] },
): StoreProcess {
  program ??= bundledProgram(new URL("store-process.ts", import.meta.url));
  const [command = "", ...rest] = [...through, process.execPath, program, ...args];
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    TMPDIR: process.env.TMPDIR,
    STORE_KEY: key,
  };
  const child = spawn(command, rest, { env, stdio: ["pipe", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const steps: Step[] = [];
  const looks = new Set<() => void>();
  let complaints = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaints += text;
  });
  createInterface(child.stdout).on("line", (line) => {
    // The last line of a process that was killed may be cut off.
    if (line.endsWith("}")) steps.push(JSON.parse(line) as Step);
    for (const look of looks) look();
  });
  const ended = new Promise<void>((resolve) => {
    child.on("close", () => resolve());
  });
  return {
    child,
    steps,
    ended,
    reported: (step) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = steps.find((one) => one.step === step);
          if (found !== undefined) resolve(found);
        };
        looks.add(look);
        look();
        ended.then(() =>
          reject(new Error(`never reported: ${step}; ${JSON.stringify(steps)} ${complaints}`)),
        );
      }),
  };
}

/** Waiting for a beat takes longer, so within this time the process was seen to have ended. */
export const atOnceMs: number = goneAfterMs - 1_000;

/**
 * Kills a process that writes, after some of the machine's time, and checks that the store holds
 * the last reported value or the one after it.
 */
export async function killWhileWriting(key: string, delayMs: number): Promise<void> {
  const path = join(temporaryFolder(), "store");
  const writer = startProcess(["write", path], { key });
  await writer.reported("written");
  await new Promise((resolve) => setTimeout(resolve, delayMs));
  writer.child.kill("SIGKILL");
  await writer.ended;
  const last = writer.steps.at(-1)?.number ?? 0;
  const survivor = fileStore(path, { key });
  const value = (await survivor.get("number"))?.value ?? "";
  const [, number = "", rest = ""] = /^(\d+):(x*)$/.exec(value) ?? [];
  expect(rest).toHaveLength((Number(number) * 7_919) % 50_000);
  expect([last, last + 1], `after ${delayMs} ms`).toContain(Number(number));
  const before = performance.now();
  await survivor.set("number", "after");
  expect(performance.now() - before).toBeLessThan(atOnceMs);
  expect((await survivor.get("number"))?.value).toBe("after");
  expect(readdirSync(join(path, ".."))).toEqual(["store"]);
  expectNothingLeft(path);
}
