// Starts store-process.ts, and waits for what it tells. It ends with the test.
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const script = fileURLToPath(new URL("store-process.ts", import.meta.url));

export interface Step {
  readonly step: string;
  readonly number?: number;
  readonly code?: string;
  readonly message?: string;
}

export interface StoreProcess {
  readonly child: ChildProcess;
  /** All that it told so far. */
  readonly steps: readonly Step[];
  readonly ended: Promise<void>;
  /** The first of these steps; rejects when the process ends without one. */
  told(step: string): Promise<Step>;
}

export function startProcess(
  args: readonly string[],
  { key, through = [] }: { readonly key: string; readonly through?: readonly string[] },
): StoreProcess {
  const [command = "", ...rest] = [...through, process.execPath, "--import", "tsx", script, ...args];
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: process.env.TMPDIR, STORE_KEY: key };
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
    told: (step) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = steps.find((told) => told.step === step);
          if (found !== undefined) resolve(found);
        };
        looks.add(look);
        look();
        ended.then(() => reject(new Error(`never told: ${step}; ${JSON.stringify(steps)} ${complaints}`)));
      }),
  };
}
