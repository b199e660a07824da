// Loading the main entry against loading openapi-fetch and oauth4webapi, each time in a process of its own.
import { spawnSync } from "node:child_process";
import type { Row } from "../row.js";
import { spreadOf } from "../spread.js";

const ROUNDS = 25;

/** Milliseconds that the imports took: Node's own start is not counted. */
function importMs(folder: string, modules: readonly string[]): number {
  const program = `
    const startedAt = performance.now();
    await Promise.all(${JSON.stringify(modules)}.map((name) => import(name)));
    console.log(performance.now() - startedAt);
  `;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, NODE_OPTIONS: "" },
  });
  if (status !== 0) throw new Error(`an import failed: ${stderr}`);
  return Number(stdout);
}

export const importTime: Row = {
  name: "import-time",
  title: "importing bivariant against importing openapi-fetch and oauth4webapi",
  unit: "times",
  aim: 1.25,
  async measure({ folder, main }) {
    const rounds: { ours: number; theirs: number; all: number }[] = [];
    for (let round = 0; round < ROUNDS + 2; round++) {
      const ours = importMs(folder, [main]);
      const theirs = importMs(folder, ["openapi-fetch", "oauth4webapi"]);
      const all = importMs(folder, ["openapi-fetch", "oauth4webapi", "jose"]);
      rounds.push({ ours, theirs, all });
    }
    // The first rounds read the files from the disk.
    const kept = rounds.slice(2);
    const { median, low, high } = spreadOf(kept.map((round) => round.ours / round.theirs));
    const ms = (side: "ours" | "theirs" | "all"): string =>
      `${spreadOf(kept.map((round) => round[side])).median.toFixed(1)} ms`;
    return {
      value: median,
      low,
      high,
      detail: `${ms("ours")} to ${ms("theirs")}; with jose, which is needed too, theirs take ${ms("all")}`,
    };
  },
};
