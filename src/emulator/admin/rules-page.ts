// The rule table with a switch for each rule.
import { html } from "hono/html";
import { linkTo, type Markup } from "../pages/page.js";
import { type RuleId, rules } from "../rules.js";
import { form } from "./form.js";
import { ADMIN_PATH, type AdminAction, type AdminPage, type AdminView, sectionName } from "./view.js";

export const rulesPage: AdminPage = { path: "/rules", title: "Rules", body };

export const ruleAction: AdminAction = {
  path: "/rules",
  page: rulesPage,
  keep: ["filter"],
  anchor: (fields) => fields.get("off") ?? fields.get("on") ?? undefined,
  act({ emulator }, fields) {
    if (fields.has("all")) {
      for (const rule of emulator.rules.off()) emulator.rules.enforce(rule, true);
      return;
    }
    const [off, on] = [fields.get("off"), fields.get("on")];
    emulator.rules.enforce((off ?? on ?? "") as RuleId, off === null);
  },
};

const ids = Object.keys(rules) as RuleId[];
/** The part of an id before the dot. */
const groups = [...new Set(ids.map((id) => id.split(".")[0] ?? ""))];

function body(view: AdminView): Markup {
  const filter = view.query.get("filter") ?? "";
  const off = view.emulator.rules.off();
  const summary =
    off.length === 0
      ? html`<p>All ${ids.length} rules are enforced.</p>`
      : html`<p><span class="mark bad">${off.length} off</span> ${off.map((id) => html`<a href="#${id}"><code>${id}</code></a> `)}</p>
<button name="all" value="on">Enforce all</button>`;
  const content = html`${summary}${groups.map((name) => group(view, name, filter.toLowerCase()))}`;
  return html`<form method="get" action="${linkTo(view.deployment, `${ADMIN_PATH}/rules`)}" class="line" role="search">
<div class="field"><label for="filter">Filter</label><input id="filter" name="filter" type="search" value="${filter}" data-filter=".rules > li"></div>
<button>Filter</button></form>
${form(view, { id: "switch", action: "/rules", hidden: { filter }, content })}`;
}

function group({ emulator }: AdminView, name: string, filter: string): Markup {
  const row = (id: RuleId) => {
    const { says, section, off, answer } = rules[id];
    const isOn = emulator.rules.isEnforced(id);
    const isHidden = !`${id} ${says} ${section} ${off ?? ""}`.toLowerCase().includes(filter);
    const button = isOn ? "Switch off" : "Enforce";
    const hint = isOn ? html`While off: ` : html`<span class="mark bad">off</span> `;
    return html`<li id="${id}"${isHidden ? html` hidden` : ""}><div class="row"><code class="rule">${id}</code>
<span class="quiet">${sectionName(section)} · ${answer.status} ${answer.error ?? ""}</span>
${off === undefined ? "" : html`<button class="end" name="${isOn ? "off" : "on"}" value="${id}" aria-label="${button} ${id}">${button}</button>`}</div>
<p>${says}</p>${off === undefined ? "" : html`<p class="quiet">${hint}${off}</p>`}</li>`;
  };
  const members = ids.filter((id) => id.startsWith(`${name}.`));
  return html`<fieldset class="panel"><legend>${name}</legend><ul class="rules">${members.map(row)}</ul></fieldset>`;
}
