// The newest requests in short, each with the rule that refused it.
import { html } from "hono/html";
import type { Markup } from "../pages/page.js";
import type { AdminView } from "./admin-site.js";
import { instant, requestLine, statusMark, whose } from "./shown-parts.js";

/** Entries; the log has more. */
const SHOWN = 20;

export function activity({ deployment }: AdminView): Markup {
  const entries = deployment.journal.entries().slice(-SHOWN).reverse();
  if (entries.length === 0) return html`<p class="quiet">No request was made yet.</p>`;
  return html`<ol class="activity">${entries.map(
    (entry) => html`<li>${statusMark(entry.status)} <strong>${entry.operation ?? "no route"}</strong>
${entry.rule === undefined ? "" : html`<code class="rule">${entry.rule}</code>`}${entry.fault === undefined ? "" : html`<code class="rule">fault ${entry.fault}</code>`}
<p class="quiet">${requestLine(entry)}</p><p class="quiet">${instant(entry.at)} ${whose(entry)}</p></li>`,
  )}</ol>`;
}
