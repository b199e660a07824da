// A real Redis, or Valkey, for the tests of stores. If neither is installed, they are skipped with
// a message.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
} from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, onTestFinished } from "vitest";
import { freePort } from "./recording-server.js";

const names = ["redis-server", "valkey-server"];
const installed = names.flatMap((name) =>
  ["/usr/bin", "/usr/local/bin"].map((folder) => join(folder, name)),
);
const program = [process.env.REDIS_PROGRAM ?? "", ...installed].find((path) => existsSync(path));

const needed =
  "needs Redis or Valkey (Debian: apt-get install redis-server; or name one in REDIS_PROGRAM)";

export function describeWithRedis(title: string, tests: () => void): void {
  if (program === undefined) console.warn(`skipped: "${title}" ${needed}`);
  describe.skipIf(program === undefined)(title, tests);
}

export interface RedisServer {
  readonly port: number;
  readonly url: string;
  /** The folder of its data. */
  readonly folder: string;
  /** The id of the process that runs now. */
  readonly pid: number;
  /**
   * Kills the server and starts it again on the same port with its data. With `loseLastMs` the data
   * is as it was that long before the crash, as if the last writes had not reached the disk. After
   * `kill` it only starts.
   */
  restart(options?: { readonly loseLastMs?: number }): Promise<void>;
  /** Shuts it down and removes its folder. */
  stop(): Promise<void>;
  /** Crashes it: SIGKILL. */
  kill(): Promise<void>;
  /** Lets it hang with its connections open: SIGSTOP, until `resume`. */
  suspend(): void;
  resume(): void;
}

const sampleEveryMs = 50;

/**
 * Starts a server on a free port of 127.0.0.1, with its writes in an append-only file. It is
 * stopped at the end of the test. Started in a hook, it must be stopped with `stop`. Later settings
 * in `args` replace earlier ones, for instance `["--appendonly", "no"]`.
 */
export async function startRedis({
  args = [],
}: {
  readonly args?: readonly string[];
} = {}): Promise<RedisServer> {
  if (program === undefined) throw new Error(`This ${needed}.`);
  // A node of a cluster also listens on the port that is 10,000 higher.
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "bivariant-redis-"));
  // A rewrite would begin a new file, and the remembered sizes would be those of the old one.
  const fixed =
    `--port ${port} --bind 127.0.0.1 --dir ${folder} --logfile ${folder}/log --appendonly yes ` +
    "--appendfsync everysec --auto-aof-rewrite-percentage 0";
  let sizes: { at: number; size: number }[] = [];
  let server: ChildProcess;
  let endedAt = 0;

  const start = async (): Promise<void> => {
    const all = [...fixed.split(" "), "--save", "", ...args];
    server = spawn(program, all, { stdio: "ignore" });
    while (!(await answers(port))) {
      if (hasEnded(server))
        throw new Error(`Redis did not start: ${readFileSync(join(folder, "log"))}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (hasEnded(server)) return;
    endedAt = performance.now();
    const ended = once(server, "exit");
    server.kill("SIGCONT");
    server.kill(signal);
    await ended;
  };
  const sampling = setInterval(() => {
    const file = appendOnlyFile(folder);
    if (file !== undefined) sizes.push({ at: performance.now(), size: statSync(file).size });
  }, sampleEveryMs);
  sampling.unref();
  // A hook that fails does not stop it.
  const killAtExit = () => void server.kill("SIGKILL");
  process.once("exit", killAtExit);
  const stop = async (): Promise<void> => {
    process.off("exit", killAtExit);
    clearInterval(sampling);
    await end("SIGTERM");
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    onTestFinished(stop);
  } catch {
    // Vitest accepts this only in a test. A hook calls `stop` itself.
  }
  await start();
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    folder,
    get pid() {
      return Number(server.pid);
    },
    async restart({ loseLastMs = 0 } = {}) {
      await end("SIGKILL");
      if (loseLastMs > 0) {
        const file = appendOnlyFile(folder);
        if (file === undefined)
          throw new Error("Only a Redis with an append-only file can lose its last writes.");
        // The server removes a command that this cuts in two. On a busy machine the sizes come
        // late, and then it loses less.
        const kept = sizes.find(({ at }) => at >= endedAt - loseLastMs);
        if (kept !== undefined) truncateSync(file, kept.size);
      }
      sizes = [];
      await start();
    },
    stop,
    kill: () => end("SIGKILL"),
    suspend: () => void server.kill("SIGSTOP"),
    resume: () => void server.kill("SIGCONT"),
  };
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** Redis 7 keeps a base and, beside it, the file that it appends to. */
function appendOnlyFile(folder: string): string | undefined {
  const files = join(folder, "appendonlydir");
  if (!existsSync(files)) return undefined;
  const name = readdirSync(files).find((one) => one.endsWith(".incr.aof"));
  return name && join(files, name);
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write("PING\r\n"));
    socket.once("data", (data) => {
      socket.destroy();
      resolve(String(data).startsWith("+PONG"));
    });
    socket.once("error", () => resolve(false));
  });
}
