// Draws the rows as an SVG for light and dark pages: a bar for each, relative to its aim.
import { inInterval, quantity, type Report, type ReportedRow } from "./report.js";

const WIDTH = 980;
const plot = { left: 206, right: 506, top: 128 };
const ROW_HEIGHT = 46;
/** Longer bars are cut off: most of the chart is for what is near its aim. */
const MOST_AIMS = 2;
const TITLE = "Cost relative to the aim of each row";
const style = `
  svg { --ink: #1f2328; --dim: #59636e; --page: #fff; --aim: #1f2328; --met: #1a7f37; --missed: #cf222e; --noisy: #9a6700 }
  @media (prefers-color-scheme: dark) {
    svg { --ink: #e6edf3; --dim: #9198a1; --page: #0d1117; --aim: #e6edf3; --met: #3fb950; --missed: #ff7b72; --noisy: #d29922 }
  }
  text { font: 14px system-ui, sans-serif; fill: var(--ink) }
  .title { font-size: 18px; font-weight: 600 }
  .dim { font-size: 13px; fill: var(--dim) }
  .small { font-size: 12px; fill: var(--dim) }
  .middle { text-anchor: middle }
  .page { fill: var(--page) }
  .aim { stroke: var(--aim); stroke-width: 1.5 }
  .interval { stroke: var(--ink); stroke-width: 1.5; fill: none }
  .bar { stroke-width: 1.5 }
  .met { fill: var(--met); stroke: var(--met) }
  .missed { fill: url(#hatched); stroke: var(--missed) }
  .noisy { fill: none; stroke: var(--noisy); stroke-dasharray: 3 2 }
  .hatch { stroke: var(--missed); stroke-width: 3 }`;

type Kind = "met" | "missed" | "noisy";
const KINDS: { readonly [verdict in ReportedRow["verdict"]]?: Kind } = {
  met: "met",
  missed: "missed",
  "too noisy to say": "noisy",
};

export function drawFigures({ rows, node, cpu, cores, date, load }: Report): string {
  const bottom = plot.top + rows.length * ROW_HEIGHT;
  const height = bottom + 16;
  const count = (verdict: ReportedRow["verdict"]) =>
    rows.filter((row) => row.verdict === verdict).length;
  const counts =
    `${count("met")} met, ${count("missed")} missed, ${count("too noisy to say")} ` +
    "too noisy to say";
  const aim = xOf(1);
  const shapes = [
    text(16, 30, "title", TITLE),
    text(
      16,
      52,
      "dim",
      `${counts}. Less is better. Node ${node}, ${cores} × ${cpu}, load ` +
        `${load}, ${date.slice(0, 10)}`,
    ),
    ...legend(16, 78),
    text(aim, plot.top - 10, "dim middle", "aim"),
    text(plot.right, plot.top - 10, "dim middle", "twice"),
    ...rows.map((row, index) => draw(row, plot.top + index * ROW_HEIGHT)),
    // The line has a piece for each row, so that it does not cross the titles.
    `<path class="aim" ` +
      `d="${rows.map((_, index) => `M${aim} ${plot.top - 2 + index * ROW_HEIGHT}v26`).join("")}"/>`,
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title desc">
<title id="title">${TITLE}</title>
<desc id="desc">${escaped(rows.map(inWords).join(" "))}</desc>
<style>${style}
</style>
<defs><pattern id="hatched" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hatch" d="M0 0V6"/></pattern></defs>
<rect class="page" width="${WIDTH}" height="${height}"/>
${shapes.join("\n")}
</svg>
`;
}

function legend(left: number, top: number): string[] {
  const kinds = [
    { kind: "met", words: "met", at: 0 },
    { kind: "missed", words: "missed", at: 90 },
    { kind: "noisy", words: "too noisy to say", at: 200 },
  ] as const;
  return [
    ...kinds.flatMap(({ kind, words, at }) => [
      bar(kind, left + at, top, 28),
      text(left + at + 36, top + 12, "", words),
    ]),
    interval(left + 370, left + 398, top + 7),
    text(left + 406, top + 12, "", "95 % confidence interval of the median"),
  ];
}

function draw(row: ReportedRow, top: number): string {
  const { name, title, aim, verdict, value, low, high } = row;
  const kind = KINDS[verdict];
  const shapes = [text(16, top + 17, "", name), text(plot.right + 22, top + 17, "", verdict)];
  if (kind !== undefined && value !== undefined && low !== undefined && high !== undefined) {
    const [end, from, to] = [value, low, high].map((figure) => xOf(relative(figure, aim)));
    shapes.push(bar(kind, plot.left, top + 5, (end ?? plot.left) - plot.left));
    if (low !== high && relative(low, aim) < MOST_AIMS)
      shapes.push(interval(from ?? 0, to ?? 0, top + 12));
    if (relative(value, aim) > MOST_AIMS) shapes.push(text(plot.right + 3, top + 17, "", "»"));
    shapes.push(
      text(plot.right + 144, top + 17, "dim", `${inInterval(row)}, aim ${quantity(row, aim)}`),
    );
  }
  shapes.push(text(16, top + 34, "small", title));
  return `<g>${shapes.join("")}</g>`;
}

function inWords(row: ReportedRow): string {
  const { name, title, aim, verdict, value, failed, notMeasured } = row;
  const figures = value === undefined ? (failed ?? notMeasured ?? "") : inInterval(row);
  return `${name} (${title}): ${verdict}; ${figures}; aim ${quantity(row, aim)}.`;
}

function relative(figure: number, aim: number): number {
  return figure === 0 ? 0 : figure / aim;
}

function xOf(aims: number): number {
  return Math.round(plot.left + ((plot.right - plot.left) * Math.min(aims, MOST_AIMS)) / MOST_AIMS);
}

function bar(kind: Kind, left: number, top: number, width: number): string {
  return `<rect class="bar ${kind}" x="${left}" y="${top}" width="${width}" height="14"/>`;
}

function interval(from: number, to: number, y: number): string {
  return `<path class="interval" d="M${from} ${y - 4}v8m0 -4H${to}m0 -4v8"/>`;
}

function text(x: number, y: number, className: string, words: string): string {
  return `<text class="${className}" x="${x}" y="${y}">${escaped(words)}</text>`;
}

/** The words of a failure may hold the control characters of a terminal, which XML forbids. */
export function escaped(words: string): string {
  return words
    .replace(/(?![\t\n])\p{C}/gu, "")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;");
}
