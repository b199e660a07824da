// The rule table with its switches.
import { html } from "hono/html";
import { linkTo, type Markup } from "../pages/page.js";
import { type RuleId, rules } from "../rules.js";
import { ADMIN_PATH, type AdminAction, type AdminPage, type AdminView } from "./admin-site.js";
import { form } from "./form.js";
import { sectionName } from "./shown-parts.js";

export const rulesPage: AdminPage = { path: "/rules", title: "Rules", body };

export const ruleAction: AdminAction = {
  path: "/rules",
  page: rulesPage,
  keep: ["filter"],
  anchor: (fields) => fields.get("off") ?? fields.get("on") ?? undefined,
  act(site, fields) {
    const { switches } = site.deployment();
    if (fields.has("all")) return switches.setOff([]);
    const [off, on] = [fields.get("off"), fields.get("on")];
    switches.enforce((off ?? on ?? "") as RuleId, off === null);
  },
};

const ids = Object.keys(rules) as RuleId[];
/** Rules belong together by what stands before the dot. */
const groups = [...new Set(ids.map((id) => id.split(".")[0] ?? ""))];

function body(view: AdminView): Markup {
  const filter = view.query.get("filter") ?? "";
  const off = view.deployment.switches.off();
  const summary =
    off.length === 0
      ? html`<p>All ${ids.length} rules are enforced.</p>`
      : html`<p><span class="mark bad">${off.length} off</span> ${off.map((id) => html`<a href="#${id}"><code>${id}</code></a> `)}</p>
<button name="all" value="on">Enforce all</button>`;
  const table = html`${summary}${groups.map((name) => group(view, name, filter.toLowerCase()))}`;
  return html`<form method="get" action="${linkTo(view.deployment, `${ADMIN_PATH}/rules`)}" class="line" role="search">
<div class="field"><label for="filter">Filter</label><input id="filter" name="filter" type="search" value="${filter}" data-filter=".rules > li"></div>
<button>Filter</button></form>
${form(view, { id: "switch", action: "/rules", hidden: { filter }, content: table })}`;
}

function group({ deployment: { switches } }: AdminView, name: string, filter: string): Markup {
  const members = ids.filter((id) => id.startsWith(`${name}.`));
  const row = (id: RuleId) => {
    const { says, section, off, answer } = rules[id];
    const isOn = switches.isEnforced(id);
    const isHidden = !`${id} ${says} ${section} ${off}`.toLowerCase().includes(filter);
    return html`<li id="${id}"${isHidden ? html` hidden` : ""}><div class="row"><code class="rule">${id}</code>
<span class="quiet">${sectionName(section)} · ${answer.status} ${answer.error ?? ""}</span>
<button class="end" name="${isOn ? "off" : "on"}" value="${id}" aria-label="${isOn ? "Switch off" : "Enforce"} ${id}">${isOn ? "Switch off" : "Enforce"}</button></div>
<p>${says}</p><p class="quiet">${isOn ? "While off: " : html`<span class="mark bad">off</span> `}${off}</p></li>`;
  };
  return html`<fieldset class="panel"><legend>${name}</legend><ul class="rules">${members.map(row)}</ul></fieldset>`;
}
