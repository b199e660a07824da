// The rule table with a switch for each rule.
import { html } from "hono/html";
import type { Markup } from "../pages/page.js";
import { type RuleId, rules } from "../rules.js";
import { form } from "./form.js";
import { type AdminPage, type AdminView, sectionName } from "./view.js";

export const rulesPage: AdminPage = {
  path: "/rules",
  title: "Rules",
  body,
  actions: {
    "/rules": ({ emulator }, fields) =>
      emulator.rules.enforce((fields.get("rule") ?? "") as RuleId, fields.get("enforce") === "true"),
  },
};

const ids = Object.keys(rules) as RuleId[];
/** A group is the part of an id before the dot. */
const groups = [...new Set(ids.map((id) => id.split(".")[0] ?? ""))];

function body(view: AdminView): Markup {
  const off = view.emulator.rules.off();
  const group = (name: string) =>
    html`<fieldset class="panel"><legend>${name}</legend><ul class="rules">${ids.filter((id) => id.startsWith(`${name}.`)).map((id) => rule(view, id))}</ul></fieldset>`;
  const links = off.map((id) => html`<a href="#${id}"><code>${id}</code></a> `);
  return html`<p>${off.length === 0 ? `All ${ids.length} rules are enforced.` : html`<span class="mark bad">${off.length} off</span> ${links}`}</p>
${groups.map(group)}`;
}

function rule(view: AdminView, id: RuleId): Markup {
  const { says, section, off, answer } = rules[id];
  const isOn = view.emulator.rules.isEnforced(id);
  const button = isOn ? "Switch off" : "Enforce";
  const content = html`<button aria-label="${button} ${id}">${button}</button>`;
  const shape = { id, action: "/rules", hidden: { rule: id, enforce: String(!isOn) }, className: "end" };
  return html`<li><div class="row"><code class="rule">${id}</code>
<span class="quiet">${sectionName(section)} · ${answer.status} ${answer.error ?? ""}</span>${off === undefined ? "" : form(view, { ...shape, content })}</div>
<p>${says}</p>${off === undefined ? "" : html`<p class="quiet">${isOn ? "While off: " : html`<span class="mark bad">off</span> `}${off}</p>`}</li>`;
}
