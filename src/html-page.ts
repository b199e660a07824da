/**
 * Text in HTML, and the page of a report. It knows nothing of the service, so every part of the
 * package may use it.
 */

/** Escapes markup, and shows control and direction characters instead of obeying them. */
export function htmlText(value: string): string {
  return value
    .replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
    .replace(
      /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
      (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`,
    );
}

/** `2026-01-31 09:30 UTC` */
export function utcText(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** A word that is coloured by what it means. */
export function mark(kind: "good" | "bad" | "new" | "", word: string): string {
  return `<span class="mark ${kind}">${word}</span>`;
}

export function section(id: string, title: string, content: string): string {
  return `<section aria-labelledby="${id}">
<h2 id="${id}">${title}</h2>
${content}
</section>`;
}

/** Names with their texts. What is undefined is left out. */
export function factList(facts: readonly (readonly [string, string | undefined])[]): string {
  const rows = facts.flatMap(([name, value]) =>
    value === undefined ? [] : `<div><dt>${htmlText(name)}</dt><dd>${htmlText(value)}</dd></div>`,
  );
  return `<dl>${rows.join("")}</dl>`;
}

/** What a report page holds; `title` and `facts` are texts, the rest is HTML. */
export interface ReportPage {
  readonly title: string;
  /** Default: the title. */
  readonly heading?: string;
  readonly facts: readonly string[];
  readonly alarms?: readonly string[];
  readonly content: string;
  /** With its hash, instead of 'unsafe-inline'. */
  readonly script?: { readonly text: string; readonly hash: string };
}

/** A page that loads nothing, and is read on a phone and on paper too. */
export function reportPage({
  title,
  heading = htmlText(title),
  facts,
  alarms = [],
  content,
  script,
}: ReportPage): string {
  const scripts = script === undefined ? "" : `script-src 'sha256-${script.hash}'; `;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="default-src 'none'; style-src '${styleHash}'; \
${scripts}img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>${htmlText(title)}</title>
<style>${stylesheet}</style>
</head>
<body>
<main>
<header>
<h1>${heading}</h1>
<p class="quiet">${htmlText(facts.join(" · "))}</p>
${alarms.map((says) => `<p class="alarm">${htmlText(says)}</p>\n`).join("")}</header>
${content}
</main>
${script === undefined ? "" : `<script>${script.text}</script>\n`}</body>
</html>
`;
}

/** The hash of the stylesheet, instead of 'unsafe-inline'. A test of each report holds it. */
const styleHash = "sha256-0EBNYYKyCCdj0Ls0AhwonMSKuPcMJILFUGi33nGjm+g=";

const stylesheet = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#f4f5f7, #14171c);
  --surface: light-dark(#fff, #1d2128);
  --line: light-dark(#d6dae1, #373e4a);
  --text: light-dark(#1b1f27, #e8ebf0);
  --quiet: light-dark(#566072, #a2abba);
  --accent: light-dark(#1f5fbf, #86b4f5);
  --bad: light-dark(#a3211b, #ff9d94); --bad-soft: light-dark(#fdecea, #43211f);
  --good: light-dark(#1c6434, #8fdca7); --good-soft: light-dark(#e3f3e8, #1d3a27);
  --new: light-dark(#7a4a00, #f0c674); --new-soft: light-dark(#fbf0d9, #40331a);
}
*, *::before, *::after { box-sizing: border-box; }
[hidden] { display: none !important; }
body {
  margin: 0; background: var(--ground); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif;
}
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1, h2, h3, h4, p, dd, dt, li, summary, pre { overflow-wrap: anywhere; }
h1 { margin: 0; font-size: 1.4rem; line-height: 1.25; }
h2 { margin: 2rem 0 .5rem; font-size: 1.2rem; }
h3 { margin: 1.5rem 0 .5rem; font-size: 1rem; }
h4, .customer h3 { margin: .8rem 0 .3rem; font-size: .9rem; }
p { margin: .4rem 0; }
a { color: var(--accent); }
code, pre, .address { font-family: ui-monospace, monospace; font-size: .9em; }
pre { margin: .3rem 0; white-space: pre-wrap; }
.quiet { color: var(--quiet); font-size: .9rem; }
.alarm {
  padding: .6rem .8rem; border-radius: .4rem; background: var(--bad-soft); color: var(--bad);
}
.verdict { display: flex; flex-wrap: wrap; align-items: center; gap: .2rem .7rem; }
.mark {
  padding: .05rem .5rem; border-radius: 1rem; border: 1px solid var(--line);
  font-size: .85rem; font-weight: 600; white-space: nowrap;
}
.bad { background: var(--bad-soft); color: var(--bad); border-color: var(--bad); }
.good { background: var(--good-soft); color: var(--good); border-color: var(--good); }
.new { background: var(--new-soft); color: var(--new); border-color: var(--new); }
table {
  margin: 1rem 0 .5rem; width: 100%; border-collapse: collapse; background: var(--surface);
  border: 1px solid var(--line);
}
th, td {
  padding: .4rem .6rem; border-bottom: 1px solid var(--line); text-align: right;
  font-variant-numeric: tabular-nums;
}
th:first-child { text-align: left; }
thead th { font-size: .85rem; color: var(--quiet); }
.buttons {
  display: flex; flex-wrap: wrap; gap: .4rem; margin: .3rem 0; padding: 0; list-style: none;
}
button, input, select {
  padding: .4rem .6rem; border: 1px solid var(--quiet); border-radius: .4rem;
  background: var(--surface); color: inherit; font: inherit;
}
input, select { height: 2.4rem; }
button { cursor: pointer; }
button:hover { border-color: var(--accent); }
form { display: flex; flex-wrap: wrap; align-items: end; gap: .5rem .8rem; margin: .5rem 0 .8rem; }
label { display: grid; font-size: .85rem; color: var(--quiet); }
label:first-child { flex: 1 1 14rem; }
label input, label select { width: 100%; color: var(--text); }
output { padding: .4rem 0; color: var(--quiet); font-variant-numeric: tabular-nums; }
details {
  margin: .3rem 0; padding: .3rem .7rem; background: var(--surface);
  border: 1px solid var(--line); border-radius: .4rem;
}
summary { cursor: pointer; padding: .2rem 0; }
.customer { content-visibility: auto; contain-intrinsic-size: auto 2.8rem; }
.part { margin-top: 1rem; background: none; }
.part > summary h3 { display: inline; }
.remedy {
  margin: .3rem 0 .6rem; padding: .4rem .8rem; border-left: 4px solid var(--bad);
  background: var(--bad-soft);
}
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
dl { margin: .3rem 0; }
dl > div { display: flex; flex-wrap: wrap; gap: 0 .8rem; }
dt { flex: 0 0 6rem; color: var(--quiet); font-size: .9rem; }
dd { flex: 1 1 11rem; min-width: 0; margin: 0; }
ol, ul { margin: .3rem 0; padding-left: 1.4rem; }
@media (max-width: 30rem) {
  th, td, thead th { padding: .4rem .2rem; font-size: .8rem; }
  .mark { font-size: .75rem; }
}
@media print {
  :root { color-scheme: light; }
  body { background: #fff; font-size: 10pt; }
  form, .buttons { display: none; }
  details:not(.customer, [open])::details-content {
    content-visibility: visible; block-size: auto;
  }
  li, dl > div, summary { break-inside: avoid; }
  h2, h3, h4, summary { break-after: avoid; }
}
`;
