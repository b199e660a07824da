/** A run as one HTML page for people. */
import { factList, mark, reportPage, section, htmlText as text, utcText } from "../../html-page.js";
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
 * const startedAt = Date.now();
 * const results: ContractResult[] = [];
 * for await (const result of runContract({ baseUrl, tenantId, plugin: { clientId, privateKey } }))
 *   results.push(result);
 * const seconds = (Date.now() - startedAt) / 1_000;
 * const requests = new Set(results.flatMap(({ evidence }) => evidence)).size;
 * await writeFile(
 *   "contract.html",
 *   htmlReport(results, { baseUrl, tenantId, startedAt, requests, seconds }),
 * );
 */
export function htmlReport(results: readonly ContractResult[], about: RunAbout): string {
  requireAbout("htmlReport", about);
  const { baseUrl, tenantId, startedAt, requests, seconds, interrupted, moved } = about;
  const variants = byVariant(results);
  const settings = JSON.stringify(learnFrom(results).settings, null, 2);
  const follows = `<h2>What follows</h2>
<details>
<summary>Settings that follow from what was learnt</summary>
<pre>${text(settings)}</pre>
</details>`;
  return reportPage({
    title: `Contract of ${baseUrl}`,
    heading: `Contract of <span class="address">${text(baseUrl)}</span>`,
    facts: [
      ...(tenantId === undefined ? [] : [`tenant ${tenantId}`]),
      utcText(startedAt),
      `${requests} requests in ${seconds.toFixed(1)} s`,
      `bivariant ${version}`,
    ],
    alarms: [
      ...(interrupted
        ? ["The run was interrupted. The cases that are missing here were not tried."]
        : []),
      ...refusedCredentials(results).map((refused) => refused.text),
    ],
    content: [
      ...variants.map(variantLine),
      ...(moved === undefined ? [] : [movedSection(moved)]),
      ...variants.map(variantSection),
      ...(settings === "{}" ? [] : [follows]),
    ].join("\n"),
  });
}

function movedSection(movements: readonly Movement[]): string {
  const moved = onlyMoved(movements);
  const apart = movements.length - moved.length;
  const shown = [
    ...movedSettings(moved).map((line) => `<p><code>${text(line)}</code></p>`),
    ...moved.map((one) => {
      const kind = one.kind === "moved" ? "" : `, ${one.kind}`;
      const items = movementLines(one).map((line) => `<li>${text(line)}</li>`);
      const title = `<p><code>${text(one.id)}</code> (Variant ${one.variant})${kind}</p>`;
      return `${title}\n<ul>${items.join("")}</ul>`;
    }),
    ...(apart === 0 ? [] : [`<p class="quiet">Tried in only one of the two runs: ${apart}.</p>`]),
  ];
  return section("moved", `What moved since the baseline (${moved.length})`, shown.join("\n"));
}

const titles = {
  breaks: "What breaks",
  learnt: "What was learnt",
  holds: "What holds",
} as const;

const marks = { breaks: "bad", learnt: "new", holds: "good", "not tried": "" } as const;

type OfVariant = ReturnType<typeof byVariant>[number];

/**
 * The verdict of a variant. That a variant is served or not is a fact, and no promise that was
 * kept.
 */
function variantLine([variant, own]: OfVariant): string {
  const { breaks, holds } = countResults(own);
  const verdict = breaks > 0 ? "breaks" : holds > 0 ? "holds" : "not tried";
  return (
    `<p class="verdict"><a href="#variant-${variant}">Variant ${variant}</a> ` +
    `${mark(marks[verdict], verdict)} <span class="quiet">${countsText(own)}</span></p>`
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
  const groups = groupNotTried(own).map(({ says, cases }) => {
    const items = cases.map(
      (one) => `<li><code>${text(one.id)}</code> <span class="quiet">${text(one.says)}</span></li>`,
    );
    return `<p>${text(says)}</p>\n<ul>${items.join("\n")}</ul>`;
  });
  if (groups.length > 0)
    parts.push(
      folded(`<h3>What was not tried, and why (${countResults(own)["not tried"]})</h3>`, groups),
    );
  return section(`variant-${variant}`, `Variant ${variant}`, parts.join("\n"));
}

function folded(title: string, items: readonly string[]): string {
  return `<details class="part">\n<summary>${title}</summary>\n${items.join("\n")}\n</details>`;
}

/** A case that breaks is open, because it is what the reader looks for. */
function caseDetails(one: ContractResult): string {
  const { id, says, section, rule, unknown, result, expected, observed, settings, evidence } = one;
  const requests = `<h4>Requests and answers</h4>\n<ol>${evidence.map(exchangeItem).join("\n")}</ol>`;
  return `<details${result === "breaks" ? " open" : ""}>
<summary>${mark(marks[result], result)} <code>${text(id)}</code> \
<span class="quiet">${text(observed)}</span></summary>
${factList([
  ["Case", says],
  ["Expected", expected],
  ["Observed", observed],
  ["Section", section],
  ["Rule", rule],
  ["Unknown", unknown],
  ["Settings", settings && JSON.stringify(settings)],
])}
${evidence.length === 0 ? "" : requests}
</details>`;
}

function exchangeItem(exchange: Exchange): string {
  const { note, method, url, fields, status, contentType, headers, body, milliseconds } = exchange;
  const answer = [status || "no answer", contentType, `${milliseconds} ms`];
  return `<li><p><code>${text(`${method} ${url}`)}</code></p>${factList([
    ["For", note],
    ["Fields", fields.join(", ") || undefined],
    ["Answer", answer.filter((part) => part !== undefined).join(", ")],
    ["Body", body],
    ["Headers", headers.join(", ") || undefined],
  ])}</li>`;
}
