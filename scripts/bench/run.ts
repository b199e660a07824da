// Runs each row in a process of its own, with a share of the time, and kills it when it takes far
// too long.
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type Build, type Figures, type Row, type Verdict, verdictOn } from "./measure.js";

/**
 * The benchmark ends within ten minutes: this leaves some seconds to build before and to print
 * afterwards.
 */
const LONGEST_SECONDS = 585;
/** What the rows may take together, so that there is time left to start their processes. */
export const MOST_ROW_SECONDS = 450;
/** A row that takes this many times its seconds and overhead is abandoned. */
const PATIENCE = 4;
/**
 * What a row takes besides its seconds: the start of its process, and the sample that is running at
 * their end.
 */
const OVERHEAD_SECONDS = 3;

export type RowResult =
  | { readonly figures: Figures }
  | { readonly notMeasured: string }
  | { readonly failed: string };

export interface MeasuredRow {
  readonly row: Row;
  readonly result: RowResult;
  readonly verdict: Verdict | "not measured" | "failed";
  /** The wall time that the row took. */
  readonly seconds: number;
}

/** Rows that come late get less time where earlier ones took too much. */
export async function runRows(
  rows: readonly Row[],
  build: Build,
  report: (row: Row, index: number) => void,
): Promise<MeasuredRow[]> {
  const measured: MeasuredRow[] = [];
  const program = fileURLToPath(new URL("row-process.ts", import.meta.url));
  for (const [index, row] of rows.entries()) {
    report(row, index);
    const later = rows.slice(index);
    const leftSeconds = LONGEST_SECONDS - performance.now() / 1_000;
    const share =
      (leftSeconds - OVERHEAD_SECONDS * later.length) /
      later.reduce((sum, { seconds }) => sum + seconds, 0);
    const seconds = row.seconds * Math.min(1, Math.max(0, share));
    const startedAt = performance.now();
    const args = [row.name, String(seconds), JSON.stringify(build)];
    const longest = Math.min(
      PATIENCE * (row.seconds + OVERHEAD_SECONDS),
      leftSeconds - later.length,
    );
    const result = await runToTheEnd(program, args, longest * 1_000);
    const took = (performance.now() - startedAt) / 1_000;
    measured.push({ row, result, verdict: verdictOf(row, result), seconds: took });
  }
  return measured;
}

function verdictOf({ aim }: Row, result: RowResult): MeasuredRow["verdict"] {
  if ("figures" in result) return verdictOn(result.figures, aim);
  return "failed" in result ? "failed" : "not measured";
}

/**
 * Runs a program, and returns its message, or a failure when it ends without one or takes too long.
 * Ends all processes that the program started.
 */
export async function runToTheEnd(
  program: string,
  args: readonly string[],
  longestMs: number,
): Promise<RowResult> {
  if (longestMs <= 0) return { failed: "earlier rows left no time for it" };
  // As the leader of a process group it can be killed together with all processes that it started.
  const child = fork(program, args, { detached: true, stdio: ["ignore", "ignore", "pipe", "ipc"] });
  const kill = (): void => {
    try {
      process.kill(-(child.pid ?? Number.NaN), "SIGKILL");
    } catch {
      // The whole group has ended.
    }
  };
  // This listener comes first, because the folder of the build can be removed only when nothing
  // writes into it.
  process.prependOnceListener("exit", kill);
  let complaints = "";
  child.stderr?.on("data", (text) => {
    complaints = (complaints + text).slice(-1_000);
  });
  const closed = once(child, "close").then(() => ({
    failed: `its process ended without a result: ${complaints}`,
  }));
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<RowResult>((resolve) => {
    const failed = `abandoned after ${Math.round(longestMs / 1_000)} s`;
    timer = setTimeout(resolve, longestMs, { failed });
  });
  const answer = once(child, "message").then(([message]) => message as RowResult);
  try {
    return await Promise.race([answer, closed, late]);
  } finally {
    clearTimeout(timer);
    kill();
    process.off("exit", kill);
  }
}
