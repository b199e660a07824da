/**
 * Results as one HTML page for people: it loads nothing, and its only script filters what is there.
 */
import { factList, mark, reportPage, section, htmlText as text, utcText } from "../html-page.js";
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
const stateMarks = { works: "good", served: "new", fails: "bad" } as const;
const stateMark = (state: State) => mark(stateMarks[state], stateWords[state]);
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
  const { startedAt, seconds, since, gone = [] } = about;
  const sorted = states.flatMap((state) => results.filter((one) => stateOf(one) === state));
  const customers = [filterForm(results), ...sorted.map(customerDetails)].join("\n");
  return reportPage({
    title: `Survey of ${results.length === 1 ? "1 customer" : `${results.length} customers`}`,
    facts: [utcText(startedAt), `${seconds.toFixed(1)} s`, `bivariant ${version}`],
    content: [
      counts(results),
      reasons(results),
      ...(since === undefined ? [] : [changes(results, since, gone)]),
      section("customers", "Customers", customers),
    ].join("\n"),
    script,
  });
}

function counts(results: readonly SurveyResult[]): string {
  const number = (state: State, variant?: SurveyResult["variant"]) =>
    results.filter(
      (one) => stateOf(one) === state && (variant === undefined || one.variant === variant),
    ).length;
  const shown = states.filter((state) => state !== "served" || number(state) > 0);
  const rows = shown.map((state) => {
    const cells = [...variants, undefined].map((one) => `<td>${number(state, one)}</td>`);
    return `<tr><th scope="row">${stateMark(state)}</th>${cells.join("")}</tr>`;
  });
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
  const list = `<ul class="buttons">\n${items.join("\n")}\n</ul>`;
  return section("reasons", "Why customers do not work", list);
}

const changeWords: Readonly<Record<Change, string>> = {
  moved: "runs another variant",
  broke: "no longer works",
  recovered: "works again",
  new: "new",
};
const changeNames = Object.keys(changeWords) as Change[];

function changes(
  results: readonly SurveyResult[],
  since: string,
  gone: readonly EarlierResult[],
): string {
  const group = (title: string, of: readonly Pick<EarlierResult, "tenantId" | "baseUrl">[]) => {
    const list = of.map((one) => `<li>${nameOf(one)}</li>`).join("\n");
    const summary = `<summary>${title}: ${of.length}</summary>`;
    return list && `<details>${summary}\n<ul>${list}</ul></details>\n`;
  };
  const groups = changeNames.map((change) => {
    const changed = results.filter((one) => one.changes?.includes(change));
    return group(changeWords[change], changed);
  });
  const all = groups.join("") + group("not asked about any more", gone);
  return section("changes", `Since ${text(since)}`, all || "<p>Nothing changed.</p>");
}

function nameOf({ tenantId, baseUrl }: Pick<EarlierResult, "tenantId" | "baseUrl">): string {
  const address = `<span class="quiet address">${text(baseUrl)}</span>`;
  return `<strong>${text(tenantId ?? "no tenant")}</strong> ${address}`;
}

function filterForm(results: readonly SurveyResult[]): string {
  const select = (name: string, of: readonly (readonly [value: string, word: string])[]) => {
    const options = of.map(([value, word]) => `<option value="${value}">${word}</option>`);
    return `<select name="${name}"><option value="">all</option>${options.join("")}</select>`;
  };
  const changed = changeNames.filter((one) =>
    results.some(({ changes }) => changes?.includes(one)),
  );
  const stateOptions = [
    ...states.map((one) => [one, stateWords[one]] as const),
    ...changed.map((one) => [one, changeWords[one]] as const),
  ];
  const variantOptions = variants.map((one) => [`${one}`, variantWord(one)] as const);
  return `<form hidden>
<label>Find <input type="search" name="find" placeholder="tenant, address or code" \
autocomplete="off"></label>
<label>State ${select("state", stateOptions)}</label>
<label>Variant ${select("variant", variantOptions)}</label>
<output>${results.length}</output>
</form>`;
}

function customerDetails(one: SurveyResult): string {
  const { tenantId, baseUrl, variant, code, problem = "", remedy, changes = [] } = one;
  const { findings, evidence, other = {} } = one;
  const state = stateOf(one);
  const find = [tenantId, baseUrl, code, ...Object.values(other)].join(" ").toLowerCase();
  const codeText = code && `<code>${text(code)}</code>`;
  const changed = changes.map((change) => mark("new", changeWords[change])).join(" ");
  const questions = evidence.map(({ url, status, reason, variant, says }) => {
    const verdict = `<span class="quiet">${text(`(Variant ${variant}: ${says})`)}</span>`;
    return `<li><code>POST ${text(url)}</code><br>${text(`${status}: ${reason}`)} ${verdict}</li>`;
  });
  const checks = findings.map(({ verdict, check, evidence, remedy }) => {
    const advice = remedy && `<br><span class="quiet">${text(remedy)}</span>`;
    const found = `${mark(findingMarks[verdict], verdict)} <code>${text(check)}</code>`;
    return `<li>${found} ${text(evidence)}${advice ?? ""}</li>`;
  });
  const list = (title: string, items: readonly string[]) =>
    items.length === 0 ? "" : `<h3>${title}</h3>\n<ul>${items.join("\n")}</ul>\n`;
  const advice =
    remedy &&
    `<div class="remedy"><p>${text(problem)}</p><p><strong>${text(remedy)}</strong></p></div>\n`;
  const facts = factList([
    ["Plugin", one.aClientId],
    ["Account", one.bClientId],
    ...Object.entries(other),
    ["Asked", `${utcText(one.at)}, took ${one.durationMs} ms`],
  ]);
  return `<details class="customer" data-state="${[state, ...changes].join(" ")}" \
data-variant="${variant}" data-find="${text(find)}">
<summary>${stateMark(state)} ${nameOf(one)} ${mark("", variantWord(variant))}
${codeText ?? ""} ${changed}</summary>
${advice ?? ""}${facts}
${list("Questions about the variant", questions)}${list("Checks", checks)}</details>`;
}

const findingMarks = { pass: "good", fail: "bad", unknown: "" } as const;

/**
 * Shows the customers that fit the form. A button of a reason fills the form. A test holds the hash
 * against the text.
 */
const script = {
  hash: "6KfjJDCzUHl1wgNKQAbWMegB0RfUy5uTQZe7yedtHQY=",
  text: `
const form = document.forms[0];
const all = [...document.querySelectorAll(".customer")];
const filter = () => {
  const { find, state, variant } = form;
  const sought = find.value.trim().toLowerCase();
  let shown = 0;
  for (const one of all) {
    const { dataset } = one;
    const fits =
      dataset.find.includes(sought) &&
      (!state.value || dataset.state.split(" ").includes(state.value)) &&
      (!variant.value || dataset.variant === variant.value);
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
`,
} as const;
