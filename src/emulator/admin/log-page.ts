// The customer log and the journal of requests, newest first, and the short list of requests beside the other pages.
import { html } from "hono/html";
import type { CustomerLogEntry } from "../customer-log.js";
import type { JournalEntry } from "../journal.js";
import type { Markup } from "../pages/page.js";
import {
  type AdminPage,
  type AdminView,
  facts,
  identityLine,
  instant,
  livePart,
  requestLine,
  sectionName,
  statusMark,
} from "./view.js";

export const logPage: AdminPage = { path: "/log", title: "Log", isWide: true, body };

/** The number of entries that each list shows. */
const SHOWN = 100;
const SHOWN_BESIDE = 20;

function body(view: AdminView): Markup {
  return html`<p>The customer log has the real reason of each refusal, which the caller does not get. Neither list holds a secret.</p>
<section aria-labelledby="refusals"><h2 id="refusals">Customer log</h2>${livePart(view, "log", customerLog(view))}</section>
<section aria-labelledby="journal"><h2 id="journal">Journal</h2>${livePart(view, "journal", journal(view))}</section>`;
}

export function customerLog({ emulator }: AdminView): Markup {
  const entries = emulator.customerLog.entries();
  if (entries.length === 0) return html`<p class="quiet">Nothing was refused yet.</p>`;
  const requests = new Map(emulator.journal.entries().map((entry) => [entry.id, entry]));
  const shown = entries.slice(-SHOWN).reverse();
  return html`<p class="quiet">${shown.length} of ${entries.length}, newest first</p>
<ol class="refusals">${shown.map((entry) => refusal(entry, requests.get(entry.requestId ?? 0)))}</ol>`;
}

function refusal(entry: CustomerLogEntry, request: JournalEntry | undefined): Markup {
  const { at, rule, section, outcome, expected, actual, remedy, requestId } = entry;
  const withoutEntry = requestId === undefined ? "none: refused in-process" : `#${requestId}`;
  const rows = {
    Expected: expected,
    Actual: actual,
    Remedy: remedy,
    Request: request
      ? html`#${request.id} ${requestLine(request)} ${statusMark(request.status)}`
      : withoutEntry,
  };
  return html`<li class="panel"><div class="row">${statusMark(outcome.status)} <code class="rule">${rule}</code>
<span class="quiet">${sectionName(section)}${outcome.error === undefined ? "" : ` · ${outcome.error}`}</span></div>
<p class="quiet">${instant(at)} ${identityLine(entry)}</p>${facts(rows)}</li>`;
}

export function journal({ emulator }: AdminView): Markup {
  const entries = emulator.journal.entries();
  if (entries.length === 0) return html`<p class="quiet">No request was made yet.</p>`;
  const shown = entries.slice(-SHOWN).reverse();
  const row = (
    entry: JournalEntry,
  ) => html`<tr><td>#${entry.id}</td><td>${instant(entry.at)}</td><td>${statusMark(entry.status)}</td>
<td>${[entry.rule, entry.fault && `fault ${entry.fault}`].filter(Boolean).join(", ")}</td>
<td>${requestLine(entry)}</td><td>${entry.operation ?? ""}</td><td>${entry.tenantId ?? ""}</td><td>${entry.clientId ?? ""}</td>
<td>${entry.grant ?? ""}</td></tr>`;
  return html`<p class="quiet">${shown.length} of ${entries.length}, newest first</p>
<div class="scroll" tabindex="0" role="group" aria-labelledby="journal"><table><thead><tr><th>No.</th><th>Arrived</th><th>Status</th><th>Rule or fault</th>
<th>Request</th><th>Operation</th><th>Tenant</th><th>Client</th><th>Grant</th></tr></thead><tbody>${shown.map(row)}</tbody></table></div>`;
}

/** The newest requests, each with the rule that refused it. */
export function recentRequests({ emulator }: AdminView): Markup {
  const entries = emulator.journal.entries().slice(-SHOWN_BESIDE).reverse();
  if (entries.length === 0) return html`<p class="quiet">No request was made yet.</p>`;
  return html`<ol class="activity">${entries.map(
    (entry) => html`<li>${statusMark(entry.status)} <strong>${entry.operation ?? "no route"}</strong>
${entry.rule === undefined ? "" : html`<code class="rule">${entry.rule}</code>`}${entry.fault === undefined ? "" : html`<code class="rule">fault ${entry.fault}</code>`}
<p class="quiet">${requestLine(entry)}</p><p class="quiet">${instant(entry.at)} ${identityLine(entry)}</p></li>`,
  )}</ol>`;
}
