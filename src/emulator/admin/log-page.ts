// What happened: the customer log, the journal of requests, and the last launch or login step by step.
import { html } from "hono/html";
import type { Markup } from "../pages/page.js";
import type { CustomerLogEntry } from "../records/customer-log.js";
import type { Flow, FlowStep, Party } from "../records/flow.js";
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

export const logPage: AdminPage = { path: "/log", title: "Log", body, parts: { log: customerLog, journal } };

export const flowPage: AdminPage = {
  path: "/flow",
  title: "Launch and login",
  body: (view) => livePart(view, "flow", lastFlow),
  parts: { flow: lastFlow },
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

const COMMON = { browser: "Browser", token: "Token endpoint" };
const PARTIES: Readonly<Record<Flow["kind"], Readonly<Record<Party, string>>>> = {
  launch: { ...COMMON, front: "Host application", client: "Plugin backend" },
  login: { ...COMMON, front: "Authorization server", client: "Client" },
};

function lastFlow({ deployment }: AdminView): Markup {
  const flow = deployment.flows.last;
  if (flow === undefined) {
    return html`<p class="quiet">No plugin was launched and no person logged in yet. The overview links to the host application.</p>`;
  }
  const { kind, identity, steps, forgotten } = flow;
  const parties = PARTIES[kind];
  const step = ({
    at,
    name,
    from,
    to,
    fields,
    refused,
  }: FlowStep) => html`<li class="step panel"><h2>${name}</h2>
<p class="quiet">${parties[from]} to ${parties[to]} · ${instant(at)}</p>
${refused === undefined ? "" : html`<p><span class="mark bad">refused</span> <code class="rule">${refused}</code></p>`}${facts(fields)}</li>`;
  return html`<p>${kind === "launch" ? "A launch in Variant A" : "A login in Variant B"} ${identityLine(identity)}</p>
<p class="quiet">A secret is shown by its length only; a password is not shown at all.</p>
<ol class="steps">${steps.map(step)}</ol>
${forgotten === 0 ? "" : html`<p class="quiet">${forgotten} steps before the newest ones are left out.</p>`}`;
}
