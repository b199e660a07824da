// Processes that play worlds, each on a core of its own, from a bundle of the simulation and the
// client.
import { type ChildProcess, fork } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import type { Change } from "./planted.js";
import type { Order, Played } from "./worker.js";

export const root: string = fileURLToPath(new URL("../..", import.meta.url));

/** Replaces a part of a source file, which must occur in it once. */
function planting({ file, from, to }: Change): Plugin {
  return {
    name: "planting",
    setup({ onLoad }) {
      onLoad({ filter: new RegExp(`/${file.replace(/[/.]/g, "[/.]")}$`) }, ({ path }) => {
        const parts = readFileSync(path, "utf8").split(from);
        if (parts.length !== 2) throw new Error(`${file} must hold this once: ${from}`);
        return { contents: parts.join(to), loader: "ts" };
      });
    },
  };
}

export class Workers {
  readonly #folder: string;
  readonly #program: Promise<string>;
  readonly #all: ChildProcess[] = [];

  /** With a change, the client of these workers has that fault. */
  constructor(change?: Change) {
    const cache = join(root, "node_modules/.cache");
    mkdirSync(cache, { recursive: true });
    this.#folder = mkdtempSync(join(cache, "simulation-"));
    this.#program = this.#bundle(change);
    this.#program.catch(() => {});
  }

  async #bundle(change: Change | undefined): Promise<string> {
    const outfile = join(this.#folder, "worker.mjs");
    await build({
      entryPoints: [join(root, "test/simulation/worker.ts")],
      bundle: true,
      format: "esm",
      platform: "node",
      target: "node20",
      packages: "external",
      outfile,
      plugins: change ? [planting(change)] : [],
      logLevel: "silent",
    });
    return outfile;
  }

  /** Starts a worker. The returned function has it carry out one order at a time. */
  async start(): Promise<(order: Order) => Promise<Played>> {
    // Stacks are never shown, and take a tenth of the time.
    const execArgv = ["--stack-trace-limit=0"];
    const env = { ...process.env, SIMULATION: "worker" };
    const child = fork(await this.#program, {
      execArgv,
      env,
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    this.#all.push(child);
    return (order) =>
      new Promise((resolve, reject) => {
        const onExit = () =>
          reject(new Error(`The worker ended while it played from seed ${order.seed}.`));
        child.once("exit", onExit);
        child.once("message", (played) => {
          child.off("exit", onExit);
          resolve(played as Played);
        });
        child.send(order);
      });
  }

  end(): void {
    for (const child of this.#all) child.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Has one worker carry out one order. */
export async function carryOutApart(order: Order, change?: Change): Promise<Played> {
  const workers = new Workers(change);
  try {
    return await (await workers.start())(order);
  } finally {
    workers.end();
  }
}
