// Starts a token server in a process of its own, compiled for it: tsx would measure its own wrappers too.
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build as bundle } from "esbuild";
import type { Build } from "./row.js";
import type { ServerMessage, ServerTask } from "./token-server.js";

export interface RunningServer {
  readonly tokenUrl: string;
  /** Microseconds of the processor that its process took so far. */
  cpu(): Promise<number>;
  close(): Promise<void>;
}

export async function startTokenServer(
  { folder }: Build,
  task: Omit<ServerTask, "emulatorMain">,
): Promise<RunningServer> {
  const outfile = join(folder, "token-server.mjs");
  const source = fileURLToPath(new URL("token-server.ts", import.meta.url));
  await bundle({ entryPoints: [source], outfile, format: "esm", target: "es2022", logLevel: "warning" });
  const emulatorMain = new URL("dist/src/emulator/index.js", `file://${folder}/`).href;
  const child = fork(outfile, [JSON.stringify({ ...task, emulatorMain })], {
    execArgv: process.env.BENCH_SERVER_ARGV?.split(" ") ?? [],
    env: { ...process.env, NODE_OPTIONS: "", NODE_ENV: "production" },
    // oidc-provider warns that its memory is for development only.
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  const exited = once(child, "exit");
  const next = async (): Promise<ServerMessage> => {
    const [message] = await Promise.race([
      once(child, "message"),
      exited.then(() => Promise.reject(new Error(`the ${task.kind} did not start`))),
    ]);
    return message as ServerMessage;
  };
  const { tokenUrl } = await next();
  return {
    tokenUrl,
    async cpu() {
      const answer = next();
      child.send("cpu");
      return (await answer).cpu;
    },
    async close() {
      child.disconnect();
      await exited;
    },
  };
}
