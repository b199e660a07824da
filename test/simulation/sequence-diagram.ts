// Draws a world as a sequence diagram: a page that needs nothing else.
import { htmlText } from "../../src/html-page.js";
import type { Failure, Played } from "./worker.js";

const [columnWidth, rowHeight, left] = [190, 22, 90];

/** `failure` is the rule that the world broke, if it broke one. */
export function sequenceDiagram(
  seed: number,
  { trace = [], plan }: Played,
  failure?: Failure,
): string {
  const events = trace.map((line) => {
    const [, at = "", text = line] = /^(\d+\.\d+) (.*)$/.exec(line) ?? [];
    // "p0.0 token tenant-0 -> 200" is an answer, and without the arrow a request.
    const [, who = "", purpose] =
      /^(p\d+\.\d+)(?:'s backend)? (token|call|detection)? ?/.exec(text) ?? [];
    const isWire = purpose !== undefined && !text.includes(" call of ");
    return { at, text, who, isWire, isAnswer: isWire && text.includes(" -> ") };
  });
  const names = [...new Set(events.map(({ who }) => who).filter(Boolean))].sort();
  const lanes = [...names, "service"];
  const x = (name: string) => left + 60 + columnWidth * Math.max(0, lanes.indexOf(name));
  const y = (row: number) => 60 + rowHeight * row;
  const height = y(events.length) + 20;
  const parts = lanes.map(
    (name) =>
      `<text x="${x(name)}" y="24" class="lane">${htmlText(name)}</text><line x1="${x(name)}" ` +
      `y1="32" x2="${x(name)}" y2="${height}" class="life"/>`,
  );
  for (const [row, { at, text, who, isWire, isAnswer }] of events.entries()) {
    const label = htmlText(text);
    const isBroken = text.startsWith("broken: ");
    parts.push(`<text x="4" y="${y(row)}" class="at">${htmlText(at)}</text>`);
    const [from, to] = isAnswer ? [x("service"), x(who)] : [x(who), x("service")];
    if (isWire)
      parts.push(
        `<line x1="${from}" y1="${y(row) + 4}" x2="${to}" y2="${y(row) + 4}" class="wire"/>`,
      );
    parts.push(
      `<text x="${(isWire ? Math.min(from, to) : x(who)) + 8}" y="${y(row)}" ` +
        `class="${isBroken ? "broken" : "event"}">${label}</text>`,
    );
  }
  const title = `Seed ${seed}${failure ? ` broke "${failure.rule}"` : ""}`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${htmlText(title)}</title>
<style>
  body { font: 14px system-ui, sans-serif; margin: 1rem; }
  text { font: 12px ui-monospace, monospace; }
  .lane { font-weight: bold; text-anchor: middle; }
  .life { stroke: #bbb; }
  .at { fill: #777; }
  .wire { stroke: #36c; marker-end: url(#head); }
  .broken { fill: #c00; font-weight: bold; }
</style>
<h1>${htmlText(title)}</h1>
<p>${htmlText(failure?.how ?? "No rule broke.")} Replay it with <code>npm run simulate -- --seed ${seed} --trace</code>.</p>
<details><summary>The world</summary><pre>${htmlText(JSON.stringify(plan ?? {}, undefined, 2))}</pre></details>
<svg width="${x("service") + 700}" height="${height}" role="img" aria-label="${htmlText(title)}">
<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z" fill="#36c"/></marker></defs>
${parts.join("\n")}
</svg>
</html>
`;
}
