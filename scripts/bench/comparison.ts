// Draws the rows that have another library in them as an SVG for light and dark pages: ours beside
// theirs, by what it costs.
import { escaped } from "./chart.js";
import type { Report, ReportedRow } from "./report.js";

interface Question {
  readonly words: string;
  /** The row that answers it. */
  readonly row: string;
  /** What the row compares with; without it the row names them. */
  readonly theirs?: string;
  /** The unit of the figure, where a row has several. Default: its first figure. */
  readonly unit?: "MiB";
}

const QUESTIONS: Readonly<Record<string, readonly Question[]>> = {
  "Processor time": [
    {
      words: "A typed call with its token at hand, over HTTP",
      row: "warm-call-http",
      theirs: "openapi-fetch",
    },
    {
      words: "A call with its token at hand, without a network",
      row: "warm-call-peer",
      theirs: "@badgateway/oauth2-client",
    },
    { words: "A first token by private_key_jwt", row: "first-tokens", theirs: "oauth4webapi" },
    {
      words: "A new process, to its first token",
      row: "cold-start",
      theirs: "jose, oauth4webapi, openapi-fetch",
    },
  ],
  "Waiting time in an editor": [
    {
      words: "From an edit to its diagnosis, 200 calls in the file",
      row: "editor-diagnosis",
      theirs: "openapi-fetch",
    },
  ],
  Memory: [
    {
      words: "That new process, at its peak",
      row: "cold-start",
      theirs: "jose, oauth4webapi, openapi-fetch",
      unit: "MiB",
    },
    { words: "A tenant that is kept with its token", row: "tenant-memory" },
  ],
  "Size of a bundle, compressed": [
    {
      words: "Everything that a call may load",
      row: "bundle-size",
      theirs: "oauth4webapi, openapi-fetch",
    },
  ],
  "Token requests": [
    { words: "25,000 tenants, each called a second time", row: "tenants-in-turn" },
  ],
};

const WIDTH = 640;
const plot = { left: 256, right: 506 };
const LINE = 22;
const TITLE = "What it costs, beside the libraries you would use instead";
const style = `
  svg { --ink: #1f2328; --dim: #59636e; --page: #fff; --ours: #0969da; --theirs: #8c959f; --rule: #d1d9e0 }
  @media (prefers-color-scheme: dark) {
    svg { --ink: #e6edf3; --dim: #9198a1; --page: #0d1117; --ours: #4493f8; --theirs: #656c76; --rule: #3d444d }
  }
  text { font: 14px system-ui, sans-serif; fill: var(--ink) }
  .title { font-size: 17px; font-weight: 600 }
  .section { font-size: 15px; font-weight: 600 }
  .dim { font-size: 13px; fill: var(--dim) }
  .page { fill: var(--page) }
  .rule { stroke: var(--rule) }
  .ours { fill: var(--ours) }
  .theirs { fill: var(--theirs) }`;

interface Side {
  readonly name: string;
  /** The figure as the report has it, such as "198 µs". */
  readonly figure: string;
  readonly amount: number;
}

/** A row that was not measured, or that names no other library, is left out. */
export function drawComparison({ rows, node, cpu, cores, date }: Report): string {
  const shapes: string[] = [];
  const words: string[] = [];
  let top = 76;
  for (const [section, questions] of Object.entries(QUESTIONS)) {
    const answered = questions.flatMap((question) => {
      const sides = sidesOf(question, rows);
      return sides.length > 1 ? [{ words: question.words, sides }] : [];
    });
    if (answered.length === 0) continue;
    shapes.push(
      `<path class="rule" d="M16 ${top}H${WIDTH - 16}"/>`,
      text(16, top + 24, "section", section),
    );
    top += 34;
    for (const { words: question, sides } of answered) {
      words.push(
        `${question}: ${sides.map(({ name, figure }) => `${name} ${figure}`).join(", ")}.`,
      );
      shapes.push(text(16, top + 16, "", question));
      top += LINE;
      const most = Math.max(...sides.map(({ amount }) => amount));
      sides.forEach(({ name, figure, amount }, index) => {
        const width = most === 0 ? 0 : Math.round(((plot.right - plot.left) * amount) / most);
        const kind = index === 0 ? "ours" : "theirs";
        shapes.push(
          text(28, top + 15, "dim", name),
          `<rect class="${kind}" x="${plot.left}" y="${top + 4}" width="${width}" height="14"/>`,
          text(plot.left + width + 8, top + 15, "", figure),
        );
        top += LINE;
      });
      top += 8;
    }
    top += 4;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${top + 8}" width="${WIDTH}" height="${top + 8}" role="img" aria-labelledby="title desc">
<title id="title">${TITLE}</title>
<desc id="desc">${escaped(words.join(" "))}</desc>
<style>${style}
</style>
<rect class="page" width="${WIDTH}" height="${top + 8}"/>
${text(16, 30, "title", TITLE)}
${text(16, 54, "dim", `Shorter is better. Node ${node}, ${cores} × ${cpu}, ${date.slice(0, 10)}`)}
${shapes.join("\n")}
</svg>
`;
}

/** Ours first, then those that the row compares with. */
function sidesOf(
  { row: name, theirs, unit }: Question,
  rows: readonly ReportedRow[],
): readonly Side[] {
  const row = rows.find((one) => one.name === name);
  if (row?.ours === undefined || row.theirs === undefined) return [];
  const named = theirs === undefined ? row.theirs.split(", ") : [`${theirs} ${row.theirs}`];
  return [`bivariant ${row.ours}`, ...named].flatMap((words) => sideOf(words, unit) ?? []);
}

const UNITS: Readonly<Record<string, number>> = {
  ns: 1e-9,
  µs: 1e-6,
  ms: 1e-3,
  s: 1,
  kB: 1e3,
  MiB: 2 ** 20,
  requests: 1,
};

/** Reads a name and the figures behind it, such as "openapi-fetch 186 µs CPU (209 µs)". */
function sideOf(words: string, unit: string | undefined): Side | undefined {
  const figures = [...words.matchAll(/ \(?(\d[\d.]*) ([a-zµA-Z]+)/g)];
  const [figure = "", number, found = ""] =
    figures.find((one) => one[2] === (unit ?? one[2])) ?? [];
  const factor = UNITS[found];
  if (factor === undefined) return undefined;
  const name = words.slice(0, figures[0]?.index);
  return { name, figure: figure.replace("(", "").trim(), amount: Number(number) * factor };
}

function text(x: number, y: number, className: string, words: string): string {
  return `<text class="${className}" x="${x}" y="${y}">${escaped(words)}</text>`;
}
