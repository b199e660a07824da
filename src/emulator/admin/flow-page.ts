// The last launch or login step by step: a sequence diagram, and each message with its fields.
import { html } from "hono/html";
import type { Markup } from "../pages/page.js";
import type { Flow, FlowStep, Party } from "../records/flow.js";
import { type AdminPage, type AdminView, facts, identityLine, instant, livePart } from "./view.js";

export const flowPage: AdminPage = {
  path: "/flow",
  title: "Launch and login",
  body: (view) => livePart(view, "flow", lastFlow),
  parts: { flow: lastFlow },
};

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
${diagram(flow)}
<ol class="steps">${steps.map(step)}</ol>
${forgotten === 0 ? "" : html`<p class="quiet">${forgotten} steps before the newest ones are left out.</p>`}`;
}

const [laneWidth, rowHeight, headHeight] = [190, 40, 34];

/** Each party has a line, in this order, since all messages go to a neighbour. */
const lanes: readonly Party[] = ["browser", "front", "client", "token"];

/** The arrows have the numbers of the steps in the list. */
function diagram({ kind, steps }: Flow): Markup {
  const x = (party: Party) => laneWidth * (lanes.indexOf(party) + 0.5);
  const height = headHeight + rowHeight * steps.length + 10;
  const lane = (party: Party) => html`<text x="${x(party)}" y="16">${PARTIES[kind][party]}</text>
<line x1="${x(party)}" y1="24" x2="${x(party)}" y2="${height}"/>`;
  const arrow = ({ name, from, to, refused }: FlowStep, index: number) => {
    const y = headHeight + rowHeight * (index + 0.75);
    const back = x(from) < x(to) ? -8 : 8;
    return html`<g class="${refused === undefined ? "arrow" : "arrow bad"}"><text x="${(x(from) + x(to)) / 2}" y="${y - 7}">${index + 1}. ${name}</text>
<path d="M${x(from)} ${y}H${x(to)}m${back} -4L${x(to)} ${y}l${back} 4"/></g>`;
  };
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Sequence diagram">
<svg class="sequence" viewBox="0 0 ${laneWidth * lanes.length} ${height}" role="img" aria-label="The steps below as a sequence diagram">
${lanes.map(lane)}
${steps.map(arrow)}
</svg></div>`;
}
