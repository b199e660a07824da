// Measures one row, and sends its result to the process that started this one. The arguments are
// the row's name, its seconds and the build.

import { NotMeasured } from "./measure.js";
import { ROWS } from "./rows.js";
import type { RowResult } from "./run.js";

async function measureRow([name, seconds, build]: readonly string[]): Promise<RowResult> {
  try {
    const row = ROWS.find((one) => one.name === name);
    if (row === undefined) throw new Error(`The benchmark has no row "${name}".`);
    const until = performance.now() + Number(seconds) * 1_000;
    const limit = {
      aim: row.aim,
      get seconds() {
        return Math.max(0, until - performance.now()) / 1_000;
      },
    };
    const figures = await row.measure(JSON.parse(build ?? ""), limit);
    const { value, low, high } = figures;
    if (![value, low, high].every(Number.isFinite))
      throw new Error(`It measured ${low}, ${value}, ${high}.`);
    return { figures };
  } catch (error) {
    if (error instanceof NotMeasured) return { notMeasured: error.message };
    return { failed: error instanceof Error ? error.message : String(error) };
  }
}

process.on("disconnect", () => process.kill(-process.pid, "SIGKILL"));
const result = await measureRow(process.argv.slice(2));
process.send?.(result, () => process.exit());
