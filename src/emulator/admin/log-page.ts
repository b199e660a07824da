// What happened: the customer log and the journal of requests.
import { html } from "hono/html";
import type { Markup } from "../pages/page.js";
import type { CustomerLogEntry } from "../records/customer-log.js";
import type { JournalEntry } from "../records/journal.js";
import {
  type AdminPage,
  type AdminView,
  facts,
  identityLine,
  instant,
  livePart,
  sectionName,
  statusMark,
} from "./view.js";

export const logPage: AdminPage = {
  path: "/log",
  title: "Log",
  body,
  parts: { log: customerLog, journal },
};

const SHOWN_ENTRIES = 100;

function body(view: AdminView): Markup {
  return html`<p>The customer log has the real reason of each refusal, which the caller does not get. Neither list holds a secret.</p>
<section aria-labelledby="refusals"><h2 id="refusals">Customer log</h2>${livePart(view, "log", customerLog)}</section>
<section aria-labelledby="journal"><h2 id="journal">Journal</h2>${livePart(view, "journal", journal)}</section>`;
}

function customerLog({ deployment }: AdminView): Markup {
  const entries = deployment.customerLog.entries();
  if (entries.length === 0) return html`<p class="quiet">Nothing was refused yet.</p>`;
  const requests = new Map(deployment.journal.entries().map((entry) => [entry.id, entry]));
  const shown = entries.slice(-SHOWN_ENTRIES).reverse();
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
      ? html`#${request.id} <code>${request.method} ${request.path}</code> ${statusMark(request.status)}`
      : withoutEntry,
  };
  return html`<li class="panel"><div class="row">${statusMark(outcome.status)} <code class="rule">${rule}</code>
<span class="quiet">${sectionName(section)}${outcome.error === undefined ? "" : ` · ${outcome.error}`}</span></div>
<p class="quiet">${instant(at)} ${identityLine(entry)}</p>${facts(rows)}</li>`;
}

function journal({ deployment }: AdminView): Markup {
  const entries = deployment.journal.entries();
  if (entries.length === 0) return html`<p class="quiet">No request was made yet.</p>`;
  const shown = entries.slice(-SHOWN_ENTRIES).reverse();
  const row = (
    entry: JournalEntry,
  ) => html`<tr><td>#${entry.id}</td><td>${instant(entry.at)}</td><td>${statusMark(entry.status)}</td>
<td>${[entry.rule, entry.fault && `fault ${entry.fault}`, entry.detectionProbe && "detection probe"].filter(Boolean).join(", ")}</td>
<td><code>${entry.method} ${entry.path}</code></td><td>${entry.operation ?? ""}</td><td>${entry.tenantId ?? ""}</td><td>${entry.clientId ?? ""}</td>
<td>${entry.grant ?? ""}</td></tr>`;
  return html`<p class="quiet">${shown.length} of ${entries.length}, newest first</p>
<div class="scroll" tabindex="0" role="group" aria-labelledby="journal"><table><thead><tr><th>No.</th><th>Arrived</th><th>Status</th><th>Rule or fault</th>
<th>Request</th><th>Operation</th><th>Tenant</th><th>Client</th><th>Grant</th></tr></thead><tbody>${shown.map(row)}</tbody></table></div>`;
}
