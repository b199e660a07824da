// A sequence diagram of the last launch or login: an ordered list, with each step drawn between the lanes of two parties.
import { html } from "hono/html";
import type { Flow, FlowStep, Party } from "../flow/flow-record.js";
import type { Markup } from "../pages/page.js";
import { type AdminPage, type AdminView, identityLine, instant, livePart } from "./view.js";

export const flowPage: AdminPage = {
  path: "/flow",
  title: "Launch and login",
  body: (view) => livePart(view, "flow", lastFlow(view)),
};

/** From left to right. */
const LANES: readonly Party[] = ["browser", "front", "client", "token"];
const PARTIES: Readonly<Record<Flow["kind"], Readonly<Record<Party, string>>>> = {
  launch: {
    browser: "Browser",
    front: "Host application",
    client: "Plugin backend",
    token: "Token endpoint",
  },
  login: {
    browser: "Browser",
    front: "Authorization server",
    client: "Client",
    token: "Token endpoint",
  },
};

/** Characters. A longer value takes two columns. */
const LONG = 20;

export function lastFlow({ deployment }: AdminView): Markup {
  const flow = deployment.flows.last();
  if (flow === undefined) {
    return html`<p class="quiet">No plugin was launched and no person logged in yet. The overview links to the host application.</p>`;
  }
  const parties = PARTIES[flow.kind];
  return html`<p>${flow.kind === "launch" ? "A launch in Variant A" : "A login in Variant B"} ${identityLine(flow)}</p>
<p class="quiet">A secret is shown by its length only; a password is not shown at all.</p>
<div class="sequence"><div class="lanes" aria-hidden="true">${LANES.map((lane) => html`<span>${parties[lane]}</span>`)}</div>
<ol>${flow.steps.map((step) => drawn(step, parties))}</ol></div>
${flow.forgotten === 0 ? "" : html`<p class="quiet">${flow.forgotten} steps before the newest ones are left out.</p>`}`;
}

function drawn(step: FlowStep, parties: Readonly<Record<Party, string>>): Markup {
  const { at, name, from, to, fields, refused } = step;
  const [start, end] = [LANES.indexOf(from), LANES.indexOf(to)];
  const direction = start < end ? "right" : "left";
  const span = `from-${Math.min(start, end)} to-${Math.max(start, end)}`;
  return html`<li class="step ${span} ${direction} ${refused === undefined ? "" : "refused"}"><div class="arrow" aria-hidden="true"></div>
<div class="message"><h2>${name}</h2><p class="quiet">${parties[from]} to ${parties[to]} · ${instant(at)}</p>
${refused === undefined ? "" : html`<p><code class="rule">${refused}</code></p>`}
${fields.length === 0 ? "" : html`<dl class="carried">${fields.map((field) => html`<div${field.shown.length > LONG ? html` class="wide"` : ""}><dt>${field.name}</dt><dd>${field.shown}</dd></div>`)}</dl>`}</div></li>`;
}
