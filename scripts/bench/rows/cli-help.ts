// Measures what `bivariant --help` takes beyond Node's own start, each in a new process.
import { compareProcesses, duration, type Row } from "../measure.js";

export const cliHelp: Row = {
  name: "cli-help",
  title: "`bivariant --help`, processor time beyond Node's own start",
  unit: "ms",
  aim: 200,
  seconds: 6,
  async measure({ folder: cwd }, limit) {
    const beyondStart = (seconds: number, ...words: readonly string[]) => {
      const ours = { args: ["dist/src/cli/main.js", ...words], cwd };
      const bare = { args: ["--eval", "0"], cwd };
      return compareProcesses({ ours, bare, by: "cpuMs", aim: limit.aim, seconds });
    };
    const { costs: _, ...figures } = await beyondStart(0.6 * limit.seconds, "--help");
    const { value } = await beyondStart(limit.seconds, "token", "--help");
    return { ...figures, detail: `bivariant token --help ${duration(value)}` };
  },
};
