/**
 * A run as one HTML page for people: it loads nothing, runs nothing, and is read on a phone and on
 * paper too.
 */
import { htmlText as text } from "../../html-text.js";
import { version } from "../../version.js";
import type { ContractResult } from "../case.js";
import type { Exchange } from "../exchange.js";
import { learnFrom } from "../learning/learn.js";
import { type Movement, movedSettings, movementLines, onlyMoved } from "./baseline.js";
import {
  byVariant,
  countResults,
  countsText,
  groupNotTried,
  type RunAbout,
  refusedCredentials,
  requireAbout,
} from "./summary.js";

/**
 * Makes a self-contained page: the verdict of each variant, each case with what was expected and
 * observed and the requests and answers that show it, what was learnt, and what was not tried and
 * would need.
 *
 * @throws ContractError `option_invalid` for an unknown name in `about`
 * @example
 * import { writeFile } from "node:fs/promises";
 *
 * const startedAt = Date.now(); const results: ContractResult[] = []; for await (const result of
 * runContract({ baseUrl, tenantId, plugin: { clientId, privateKey } })) results.push(result); const
 * seconds = (Date.now() - startedAt) / 1_000; const requests = new Set(results.flatMap(({ evidence
 * }) => evidence)).size; await writeFile("contract.html", htmlReport(results, { baseUrl, tenantId,
 * startedAt, requests, seconds }));
 */
export function htmlReport(results: readonly ContractResult[], about: RunAbout): string {
  const { baseUrl, tenantId, startedAt, requests, seconds, interrupted, moved } = requireAbout(
    "htmlReport",
    about,
  );
  const alarms = [
    ...(interrupted
      ? ["The run was interrupted. The cases that are missing here were not tried."]
      : []),
    ...refusedCredentials(results).map((refused) => refused.text),
  ];
  const when = new Date(startedAt).toISOString();
  const facts = [
    ...(tenantId === undefined ? [] : [`tenant ${tenantId}`]),
    `${when.slice(0, 10)} ${when.slice(11, 16)} UTC`,
    `${requests} requests in ${seconds.toFixed(1)} s`,
    `bivariant ${version}`,
  ];
  const variants = byVariant(results);
  const { settings } = learnFrom(results);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>Contract of ${text(baseUrl)}</title>
<style>${stylesheet}</style>
</head>
<body>
<main>
<header>
<h1>Contract of <span class="address">${text(baseUrl)}</span></h1>
<p class="quiet">${text(facts.join(" · "))}</p>
${alarms.map((says) => `<p class="alarm">${text(says)}</p>\n`).join("")}</header>
${variants.map(variantLine).join("\n")}
${moved === undefined ? "" : movedSection(moved)}${variants.map(variantSection).join("\n")}
${
  Object.keys(settings).length === 0
    ? ""
    : `<h2>What follows</h2>
<details>
<summary>Settings that follow from what was learnt</summary>
<pre>${text(JSON.stringify(settings, null, 2))}</pre>
</details>
`
}</main>
</body>
</html>
`;
}

function movedSection(movements: readonly Movement[]): string {
  const moved = onlyMoved(movements);
  const apart = movements.length - moved.length;
  const shown = [
    ...movedSettings(moved).map((line) => `<p><code>${text(line)}</code></p>`),
    ...moved.map((one) => {
      const kind = one.kind === "moved" ? "" : `, ${one.kind}`;
      const items = movementLines(one).map((line) => `<li>${text(line)}</li>`);
      return (
        `<p><code>${text(one.id)}</code> (Variant ` +
        `${one.variant})${kind}</p>\n<ul>${items.join("")}</ul>`
      );
    }),
    ...(apart === 0 ? [] : [`<p class="quiet">Tried in only one of the two runs: ${apart}.</p>`]),
  ];
  return `<section>
<h2>What moved since the baseline (${moved.length})</h2>
${shown.join("\n")}
</section>
`;
}

const titles = {
  breaks: "What breaks",
  learnt: "What was learnt",
  holds: "What holds",
} as const;

type OfVariant = ReturnType<typeof byVariant>[number];

/**
 * The verdict of a variant. That a variant is served or not is a fact, and no promise that was
 * kept.
 */
function verdictOf(results: readonly ContractResult[]): readonly [verdict: string, mark: string] {
  const { breaks, holds } = countResults(results);
  if (breaks > 0) return ["breaks", "bad"];
  return holds > 0 ? ["holds", "good"] : ["not tried", ""];
}

function variantLine([variant, own]: OfVariant): string {
  const [verdict, mark] = verdictOf(own);
  return (
    `<p class="verdict"><a href="#variant-${variant}">Variant ${variant}</a> <span ` +
    `class="mark ${mark}">${verdict}</span> <span class="quiet">${countsText(own)}</span></p>`
  );
}

/** What breaks and what was learnt is shown. What holds, and what was not tried, is folded. */
function variantSection([variant, own]: OfVariant): string {
  const parts = (["breaks", "learnt", "holds"] as const).flatMap((result) => {
    const cases = own.filter((one) => one.result === result);
    if (cases.length === 0) return [];
    const title = `<h3>${titles[result]} (${cases.length})</h3>`;
    const items = cases.map(caseDetails);
    return result === "holds" ? [folded(title, items)] : [title, ...items];
  });
  const groups = groupNotTried(own).map(
    ({ says, cases }) =>
      `<p>${text(says)}</p>\n<ul>` +
      `${cases.map((one) => `<li><code>${text(one.id)}</code> <span class="quiet">${text(one.says)}</span></li>`).join("\n")}</ul>`,
  );
  if (groups.length > 0)
    parts.push(
      folded(`<h3>What was not tried, and why (${countResults(own)["not tried"]})</h3>`, groups),
    );
  return `<section aria-labelledby="variant-${variant}">
<h2 id="variant-${variant}">Variant ${variant}</h2>
${parts.join("\n")}
</section>`;
}

function folded(title: string, items: readonly string[]): string {
  return `<details class="part">\n<summary>${title}</summary>\n${items.join("\n")}\n</details>`;
}

/** A case that breaks is open, because it is what the reader looks for. */
function caseDetails(one: ContractResult): string {
  const { id, says, section, rule, unknown, result, expected, observed, settings, evidence } = one;
  const mark = { breaks: "bad", learnt: "new", holds: "good", "not tried": "" }[result];
  const facts = { Case: says, Expected: expected, Observed: observed, Section: section };
  const more = { Rule: rule, Unknown: unknown, Settings: settings && JSON.stringify(settings) };
  return `<details${result === "breaks" ? " open" : ""}>
<summary><span class="mark ${mark}">${result}</span> <code>${text(id)}</code> <span class="quiet">${text(observed)}</span></summary>
${factList({ ...facts, ...more })}
${evidence.length === 0 ? "" : `<h4>Requests and answers</h4>\n<ol>${evidence.map(exchangeItem).join("\n")}</ol>`}
</details>`;
}

function exchangeItem(exchange: Exchange): string {
  const { note, method, url, fields, status, contentType, headers, body, milliseconds } = exchange;
  const answer = [status === 0 ? "no answer" : status, contentType, `${milliseconds} ms`];
  return `<li><p><code>${text(`${method} ${url}`)}</code></p>${factList({
    For: note,
    Fields: fields.join(", ") || undefined,
    Answer: answer.filter((part) => part !== undefined).join(", "),
    Body: body,
    Headers: headers.join(", ") || undefined,
  })}</li>`;
}

/** What is undefined is left out. */
function factList(facts: Readonly<Record<string, string | undefined>>): string {
  const rows = Object.entries(facts).flatMap(([name, value]) =>
    value === undefined ? [] : `<div><dt>${name}</dt><dd>${text(value)}</dd></div>`,
  );
  return `<dl>${rows.join("")}</dl>`;
}

/** A hash instead of 'unsafe-inline'. A test holds it against the stylesheet. */
const policy =
  "default-src 'none'; style-src 'sha256-IO70Bij/bEQWQcuWwkh+/tfRVcjEFEyKDsktH6pU1OU='; " +
  "img-src data:; base-uri 'none'; form-action 'none'";

const stylesheet = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#f4f5f7, #14171c); --surface: light-dark(#fff, #1d2128); --line: light-dark(#d6dae1, #373e4a);
  --text: light-dark(#1b1f27, #e8ebf0); --quiet: light-dark(#566072, #a2abba); --accent: light-dark(#1f5fbf, #86b4f5);
  --bad: light-dark(#a3211b, #ff9d94); --bad-soft: light-dark(#fdecea, #43211f);
  --good: light-dark(#1c6434, #8fdca7); --good-soft: light-dark(#e3f3e8, #1d3a27);
  --new: light-dark(#7a4a00, #f0c674); --new-soft: light-dark(#fbf0d9, #40331a);
}
*, *::before, *::after { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1, h2, h3, h4, p, dd, dt, li, summary, pre { overflow-wrap: anywhere; }
h1 { margin: 0; font-size: 1.4rem; line-height: 1.25; }
h2 { margin: 2rem 0 .5rem; font-size: 1.2rem; }
h3 { margin: 1.5rem 0 .5rem; font-size: 1rem; }
h4 { margin: .8rem 0 .3rem; font-size: .9rem; }
p { margin: .4rem 0; }
a { color: var(--accent); }
code, pre, .address { font-family: ui-monospace, monospace; font-size: .9em; }
pre { margin: .3rem 0; white-space: pre-wrap; }
.quiet { color: var(--quiet); font-size: .9rem; }
.alarm { padding: .6rem .8rem; border-radius: .4rem; background: var(--bad-soft); color: var(--bad); }
.verdict { display: flex; flex-wrap: wrap; align-items: center; gap: .2rem .7rem; }
.mark { padding: .05rem .5rem; border-radius: 1rem; border: 1px solid var(--line); font-size: .85rem; font-weight: 600; white-space: nowrap; }
.bad { background: var(--bad-soft); color: var(--bad); border-color: var(--bad); }
.good { background: var(--good-soft); color: var(--good); border-color: var(--good); }
.new { background: var(--new-soft); color: var(--new); border-color: var(--new); }
details { margin: .3rem 0; padding: .3rem .7rem; background: var(--surface); border: 1px solid var(--line); border-radius: .4rem; }
summary { cursor: pointer; padding: .2rem 0; }
.part { margin-top: 1rem; background: none; }
.part > summary h3 { display: inline; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
dl { margin: .3rem 0; }
dl > div { display: flex; flex-wrap: wrap; gap: 0 .8rem; }
dt { flex: 0 0 5.5rem; color: var(--quiet); font-size: .9rem; }
dd { flex: 1 1 11rem; min-width: 0; margin: 0; }
ol, ul { margin: .3rem 0; padding-left: 1.4rem; }
@media print {
  :root { color-scheme: light; }
  body { background: #fff; font-size: 10pt; }
  details:not([open])::details-content { content-visibility: visible; block-size: auto; }
  li, dl > div, summary { break-inside: avoid; }
  h2, h3, h4, summary { break-after: avoid; }
}
`;
