// Runs a script of this folder in a process of its own.
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build as bundle } from "esbuild";
import type { Build } from "./measure.js";

interface RunningScript {
  /** The first message that it sent. */
  readonly answer: unknown;
  /**
   * Returns the processor time of the script so far. The script must answer any message with it.
   */
  cpuMs(): Promise<number>;
  /** Disconnects the script, which then ends. */
  stop(): Promise<void>;
}

/** Starts the script `name`.ts with the task as its argument, and waits for its first message. */
export async function startScript(
  { folder }: Build,
  name: string,
  task: object,
): Promise<RunningScript> {
  // Compiled with esbuild: tsx would measure its own wrappers too.
  const outfile = join(folder, `${name}.mjs`);
  const source = fileURLToPath(new URL(`${name}.ts`, import.meta.url));
  await bundle({
    entryPoints: [source],
    outfile,
    format: "esm",
    target: "es2022",
    logLevel: "warning",
  });
  const child = fork(outfile, [JSON.stringify(task)], {
    env: { ...process.env, NODE_OPTIONS: "", NODE_ENV: "production" },
    // oidc-provider prints warnings, which are not shown.
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let printed = "";
  child.stderr?.on("data", (text) => {
    printed += text;
  });
  const exited = once(child, "exit");
  const ended = exited.then(() =>
    Promise.reject(new Error(`${name}.ts ended without an answer: ${printed}`)),
  );
  const [answer] = await Promise.race([once(child, "message"), ended]);
  const stop = async (): Promise<void> => {
    child.disconnect();
    await exited;
  };
  const cpuMs = async (): Promise<number> => {
    child.send("cpuMs");
    return (await once(child, "message"))[0];
  };
  return { answer, cpuMs, stop };
}
