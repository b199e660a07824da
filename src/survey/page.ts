/**
 * Results as one HTML page for people: it loads nothing, and its only script filters what is there.
 */
import { htmlText as text } from "../html-text.js";
import type { NamesOf } from "../option-names.js";
import { requireOptions } from "../options.js";
import { version } from "../version.js";
import { type Change, type State, type SurveyResult, stateOf } from "./result.js";
import type { EarlierResult } from "./since.js";

/** What the page of {@link resultsPage} says about the survey. */
export interface PageAbout {
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly seconds: number;
  /** Says what the changes of the results are compared with. */
  readonly since?: string | undefined;
  /** The earlier customers that were not asked about. */
  readonly gone?: readonly EarlierResult[] | undefined;
}

const aboutNames: NamesOf<PageAbout> = { startedAt: true, seconds: true, since: true, gone: true };

const stateWords: Readonly<Record<State, string>> = {
  works: "works",
  served: "served",
  fails: "does not work",
};
const stateMarks: Readonly<Record<State, string>> = { works: "good", served: "new", fails: "bad" };
const states: readonly State[] = ["fails", "works", "served"];
const variants = ["A", "B", null] as const;
const variantWord = (variant: SurveyResult["variant"]) =>
  variant === null ? "unknown" : `Variant ${variant}`;

/**
 * Makes a self-contained page: counts for each variant and state, why customers do not work, and
 * each customer with its evidence and remedy, to be filtered. Customers that do not work come
 * first.
 *
 * @throws ConfigurationError `option_invalid`
 * @example
 * import { writeFile } from "node:fs/promises";
 *
 * const startedAt = Date.now();
 * const results: SurveyResult[] = [];
 * for await (const result of survey(customers)) results.push(result);
 * const seconds = (Date.now() - startedAt) / 1_000;
 * await writeFile("survey.html", resultsPage(results, { startedAt, seconds }));
 */
export function resultsPage(results: readonly SurveyResult[], about: PageAbout): string {
  requireOptions("resultsPage", about, aboutNames);
  const sorted = states.flatMap((state) => results.filter((one) => stateOf(one) === state));
  const when = new Date(about.startedAt).toISOString();
  const customers = results.length === 1 ? "1 customer" : `${results.length} customers`;
  const facts =
    `${when.slice(0, 10)} ${when.slice(11, 16)} UTC · ${about.seconds.toFixed(1)} s ` +
    `· bivariant ${version}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>Survey of ${customers}</title>
<style>${stylesheet}</style>
</head>
<body>
<main>
<header>
<h1>Survey of ${customers}</h1>
<p class="quiet">${text(facts)}</p>
</header>
${counts(results)}
${reasons(results)}
${about.since === undefined ? "" : changes(results, about.since, about.gone ?? [])}
<section aria-labelledby="customers">
<h2 id="customers">Customers</h2>
${filterForm(results)}
${sorted.map(customerDetails).join("\n")}
</section>
</main>
<script>${script}</script>
</body>
</html>
`;
}

function counts(results: readonly SurveyResult[]): string {
  const number = (state: State, variant?: SurveyResult["variant"]) =>
    results.filter(
      (one) => stateOf(one) === state && (variant === undefined || one.variant === variant),
    ).length;
  const shown = states.filter((state) => state !== "served" || number(state) > 0);
  const rows = shown.map(
    (state) =>
      `<tr><th scope="row"><span class="mark ` +
      `${stateMarks[state]}">${stateWords[state]}</span></th>` +
      `${[...variants, undefined].map((variant) => `<td>${number(state, variant)}</td>`).join("")}</tr>`,
  );
  const heads = [...variants.map(variantWord), "all"]
    .map((word) => `<th scope="col">${word}</th>`)
    .join("");
  const note = shown.includes("served")
    ? '\n<p class="quiet">Served: a variant was found, and there was no credential to try.</p>'
    : "";
  return `<table>
<thead><tr><th scope="col">State</th>${heads}</tr></thead>
<tbody>
${rows.join("\n")}
</tbody>
</table>${note}`;
}

/** The failures by their code, the most frequent first. */
function reasons(results: readonly SurveyResult[]): string {
  const counted = new Map<string, number>();
  for (const { works, code = "" } of results)
    if (!works) counted.set(code, (counted.get(code) ?? 0) + 1);
  if (counted.size === 0) return "";
  const items = [...counted]
    .sort(([, one], [, other]) => other - one)
    .map(
      ([code, count]) =>
        `<li><button type="button" data-find="${text(code)}"><code>${text(code)}</code> ` +
        `${count}</button></li>`,
    );
  return `<section aria-labelledby="reasons">
<h2 id="reasons">Why customers do not work</h2>
<ul class="buttons">
${items.join("\n")}
</ul>
</section>`;
}

const changeWords: Readonly<Record<Change, string>> = {
  moved: "runs another variant",
  broke: "no longer works",
  recovered: "works again",
  new: "new",
};

function changes(
  results: readonly SurveyResult[],
  since: string,
  gone: readonly EarlierResult[],
): string {
  const nameOf = ({ tenantId, baseUrl }: Pick<EarlierResult, "tenantId" | "baseUrl">) =>
    `<li>${text(tenantId ?? "no tenant")} <span class="quiet address">${text(baseUrl)}</span></li>`;
  const group = (title: string, of: readonly Pick<EarlierResult, "tenantId" | "baseUrl">[]) =>
    of.length === 0
      ? []
      : [
          `<details><summary>${title}: ` +
            `${of.length}</summary>\n<ul>${of.map(nameOf).join("\n")}</ul></details>`,
        ];
  const groups = (Object.keys(changeWords) as Change[]).flatMap((change) =>
    group(
      changeWords[change],
      results.filter((one) => one.changes?.includes(change)),
    ),
  );
  const all = [...groups, ...group("not asked about any more", gone)];
  return `<section aria-labelledby="changes">
<h2 id="changes">Since ${text(since)}</h2>
${all.length === 0 ? "<p>Nothing changed.</p>" : all.join("\n")}
</section>`;
}

function filterForm(results: readonly SurveyResult[]): string {
  const options = (values: readonly (readonly [value: string, word: string])[]) =>
    values.map(([value, word]) => `<option value="${value}">${word}</option>`).join("");
  const changed = (Object.keys(changeWords) as Change[])
    .filter((change) => results.some((one) => one.changes?.includes(change)))
    .map((change) => [change, changeWords[change]] as const);
  return `<form hidden>
<label>Find <input type="search" name="find" placeholder="tenant, address or code" autocomplete="off"></label>
<label>State <select name="state">${options([["", "all"], ...states.map((state) => [state, stateWords[state]] as const), ...changed])}</select></label>
<label>Variant <select name="variant">${options([["", "all"], ...variants.map((one) => [`${one}`, variantWord(one)] as const)])}</select></label>
<output>${results.length}</output>
</form>`;
}

function customerDetails(one: SurveyResult): string {
  const {
    tenantId,
    baseUrl,
    variant,
    code,
    problem,
    remedy,
    findings,
    evidence,
    other = {},
    changes = [],
  } = one;
  const state = stateOf(one);
  const words = [state, ...changes].join(" ");
  const find = [tenantId, baseUrl, code, ...Object.values(other)].join(" ").toLowerCase();
  const facts: [string, string][] = [
    ...(one.aClientId === undefined ? [] : [["Plugin", one.aClientId] as [string, string]]),
    ...(one.bClientId === undefined ? [] : [["Account", one.bClientId] as [string, string]]),
    ...Object.entries(other),
    [
      "Asked",
      `${new Date(one.at).toISOString().slice(0, 16).replace("T", " ")} UTC, took ` +
        `${one.durationMs} ms`,
    ],
  ];
  return `<details class="customer" data-state="${words}" data-variant="${variant}" data-find="${text(find)}">
<summary><span class="mark ${stateMarks[state]}">${stateWords[state]}</span> <strong>${text(tenantId ?? "no tenant")}</strong> <span class="quiet address">${text(baseUrl)}</span> <span class="mark">${variantWord(variant)}</span>${code === undefined ? "" : ` <code>${text(code)}</code>`}${changes.map((change) => ` <span class="mark new">${changeWords[change]}</span>`).join("")}</summary>
${remedy === undefined ? "" : `<div class="remedy"><p>${text(problem ?? "")}</p><p><strong>${text(remedy)}</strong></p></div>\n`}<dl>${facts.map(([name, value]) => `<div><dt>${text(name)}</dt><dd>${text(value)}</dd></div>`).join("")}</dl>
${evidence.length === 0 ? "" : `<h3>Questions about the variant</h3>\n<ul>${evidence.map((asked) => `<li><code>POST ${text(asked.url)}</code><br>${text(`${asked.status}: ${asked.reason}`)} <span class="quiet">${text(`(Variant ${asked.variant}: ${asked.says})`)}</span></li>`).join("\n")}</ul>\n`}<h3>Checks</h3>
<ul>${findings.map((found) => `<li><span class="mark ${findingMarks[found.verdict]}">${found.verdict}</span> <code>${text(found.check)}</code> ${text(found.evidence)}${found.remedy === undefined ? "" : `<br><span class="quiet">${text(found.remedy)}</span>`}</li>`).join("\n")}</ul>
</details>`;
}

const findingMarks = { pass: "good", fail: "bad", unknown: "" } as const;

/** Shows the customers that fit the form. A button of a reason fills the form. */
const script = `
const form = document.forms[0];
const all = [...document.querySelectorAll(".customer")];
const filter = () => {
  const find = form.find.value.trim().toLowerCase();
  let shown = 0;
  for (const one of all) {
    const { dataset } = one;
    const fits = dataset.find.includes(find) && (!form.state.value || dataset.state.split(" ").includes(form.state.value)) && (!form.variant.value || dataset.variant === form.variant.value);
    one.hidden = !fits;
    if (fits) shown++;
  }
  form.querySelector("output").value = shown + " of " + all.length;
};
form.hidden = false;
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
for (const button of document.querySelectorAll("button[data-find]"))
  button.addEventListener("click", () => {
    form.reset();
    form.find.value = button.dataset.find;
    filter();
    document.getElementById("customers").scrollIntoView();
  });
filter();
`;

/** Hashes instead of 'unsafe-inline'. A test holds them against the stylesheet and the script. */
const policy =
  "default-src 'none'; style-src 'sha256-1mPVuIVd7yuRFmaGFVW7zB173qC1u/KNKWrB0cZJ4A4='; " +
  "script-src 'sha256-czlOuiu9iXAqho9U8xLRAdJ7tlJGI8Amx3YTkIcMqxA='; img-src data:; " +
  "base-uri 'none'; form-action 'none'";

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
[hidden] { display: none !important; }
body { margin: 0; background: var(--ground); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1, h2, h3, p, dd, dt, li, summary { overflow-wrap: anywhere; }
h1 { margin: 0; font-size: 1.4rem; line-height: 1.25; }
h2 { margin: 2rem 0 .5rem; font-size: 1.2rem; }
h3 { margin: .8rem 0 .3rem; font-size: .9rem; }
p { margin: .4rem 0; }
code, .address { font-family: ui-monospace, monospace; font-size: .9em; }
.quiet { color: var(--quiet); font-size: .9rem; }
.mark { padding: .05rem .5rem; border-radius: 1rem; border: 1px solid var(--line); font-size: .85rem; font-weight: 600; white-space: nowrap; }
.bad { background: var(--bad-soft); color: var(--bad); border-color: var(--bad); }
.good { background: var(--good-soft); color: var(--good); border-color: var(--good); }
.new { background: var(--new-soft); color: var(--new); border-color: var(--new); }
table { margin: 1rem 0 .5rem; width: 100%; border-collapse: collapse; background: var(--surface); border: 1px solid var(--line); }
th, td { padding: .4rem .6rem; border-bottom: 1px solid var(--line); text-align: right; font-variant-numeric: tabular-nums; }
th:first-child { text-align: left; }
thead th { font-size: .85rem; color: var(--quiet); }
.buttons { display: flex; flex-wrap: wrap; gap: .4rem; margin: .3rem 0; padding: 0; list-style: none; }
button, input, select { padding: .4rem .6rem; border: 1px solid var(--quiet); border-radius: .4rem; background: var(--surface); color: inherit; font: inherit; }
input, select { height: 2.4rem; }
button { cursor: pointer; }
button:hover { border-color: var(--accent); }
form { display: flex; flex-wrap: wrap; align-items: end; gap: .5rem .8rem; margin: .5rem 0 .8rem; }
label { display: grid; font-size: .85rem; color: var(--quiet); }
label:first-child { flex: 1 1 14rem; }
label input, label select { width: 100%; color: var(--text); }
output { padding: .4rem 0; color: var(--quiet); font-variant-numeric: tabular-nums; }
details { margin: .3rem 0; padding: .3rem .7rem; background: var(--surface); border: 1px solid var(--line); border-radius: .4rem; }
.customer { content-visibility: auto; contain-intrinsic-size: auto 2.8rem; }
summary { cursor: pointer; padding: .2rem 0; }
.remedy { margin: .3rem 0 .6rem; padding: .4rem .8rem; border-left: 4px solid var(--bad); background: var(--bad-soft); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
dl { margin: .3rem 0; }
dl > div { display: flex; flex-wrap: wrap; gap: 0 .8rem; }
dt { flex: 0 0 6.5rem; color: var(--quiet); font-size: .9rem; }
dd { flex: 1 1 11rem; min-width: 0; margin: 0; }
ul { margin: .3rem 0; padding-left: 1.4rem; }
@media (max-width: 30rem) { th, td, thead th { padding: .4rem .2rem; font-size: .8rem; } .mark { font-size: .75rem; } }
@media print {
  :root { color-scheme: light; }
  body { background: #fff; font-size: 10pt; }
  form, .buttons { display: none; }
  li, dl > div, summary { break-inside: avoid; }
}
`;
