// Prints the measured rows: as a table, and as data.
import { cpus, loadavg, totalmem } from "node:os";
import type { Figures, Row } from "./measure.js";
import type { MeasuredRow } from "./run.js";

/** Where and when the rows were measured. */
export interface Setting {
  readonly date: string;
  readonly node: string;
  readonly platform: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  /** How many processes ran or waited to run, on average over the minute before the start. */
  readonly load: number;
}

export function currentSetting(): Setting {
  return {
    date: new Date().toISOString(),
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    load: Number((loadavg()[0] ?? 0).toFixed(2)),
  };
}

/** One processor that is in use elsewhere makes most rows noisy. */
const BUSY_LOAD = 0.7;

function describeSetting({ node, platform, cpu, cores, memoryGiB, load, date }: Setting): string {
  const machine = `Node ${node}, ${platform}, ${cores} × ${cpu}, ${memoryGiB} GiB, ${date}`;
  if (load < BUSY_LOAD) return machine;
  return (
    `${machine}\nThe machine was busy with other work at the start (load ${load}), so rows ` +
    "may be too noisy to say."
  );
}

/** All figures, for programs. */
export interface Report extends Setting {
  readonly rows: readonly ReportedRow[];
}

export interface ReportedRow
  extends Pick<Row, "name" | "title" | "unit" | "aim">,
    Partial<Figures> {
  readonly verdict: MeasuredRow["verdict"];
  readonly failed?: string;
  readonly notMeasured?: string;
  /** The wall time that the row took. */
  readonly seconds: number;
}

export function reportOn(setting: Setting, rows: readonly MeasuredRow[]): Report {
  const reported = rows.map(({ row, result, verdict, seconds }) => {
    const { name, title, unit, aim } = row;
    const outcome = "figures" in result ? result.figures : result;
    return { name, title, unit, aim, verdict, ...outcome, seconds: Number(seconds.toFixed(1)) };
  });
  return { ...setting, rows: reported };
}

/** The table, and below it what each row compares. */
export function asText({ rows, ...setting }: Report): string {
  const head = ["row", "ours", "theirs or limit", "ratio or value", "aim", "verdict"];
  const cells = [head, ...rows.map(cellsOf)];
  const widths = head.map((_, column) =>
    Math.max(...cells.map((line) => line[column]?.length ?? 0)),
  );
  const lines = cells.map((line) =>
    line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "),
  );
  const notes = rows.map(({ name, title, failed, notMeasured, detail }) => {
    const note = failed ?? notMeasured ?? detail;
    return `${name}: ${title}${note === undefined ? "" : `\n  ${note}`}`;
  });
  return [describeSetting(setting), "", ...lines.map((line) => line.trimEnd()), "", ...notes].join(
    "\n",
  );
}

function cellsOf(row: ReportedRow): string[] {
  const {
    name,
    aim,
    verdict,
    value,
    ours = "",
    theirs = value === undefined ? "" : "a limit",
  } = row;
  return [name, ours, theirs, inInterval(row), `at most ${quantity(row, aim)}`, verdict];
}

/** The value with its interval, as in "1.05 (1.02 to 1.09)". */
export function inInterval(row: ReportedRow): string {
  const { value, low, high } = row;
  if (value === undefined || low === undefined || high === undefined) return "";
  const spread = low === high ? "" : ` (${number(low)} to ${number(high)})`;
  return `${quantity(row, value)}${spread}`;
}

export function quantity({ unit }: Pick<Row, "unit">, figure: number): string {
  return unit === "times" ? number(figure) : `${number(figure)} ${unit}`;
}

function number(figure: number): string {
  return Math.abs(figure) >= 100 ? figure.toFixed(0) : String(Number(figure.toFixed(2)));
}
