// The faults that are armed, and the form that arms one.
import { html } from "hono/html";
import { type FaultName, faultMoments } from "../faults/fault.js";
import type { FaultReport } from "../faults/faults.js";
import { GRANTS } from "../grant.js";
import { linkTo, type Markup } from "../pages/page.js";
import { ADMIN_PATH, type AdminAction, type AdminPage, type AdminView } from "./admin-site.js";
import { faultFields, faultNames, readFault } from "./fault-form.js";
import { form, selectField, textField } from "./form.js";
import { livePart } from "./shown-parts.js";

export const faultsPage: AdminPage = { path: "/faults", title: "Faults", body };

export const armAction: AdminAction = {
  path: "/faults",
  page: faultsPage,
  keep: ["name"],
  act: (site, fields) => void site.deployment().faults.add(readFault(fields)),
};

export const disarmAction: AdminAction = {
  path: "/faults/remove",
  page: faultsPage,
  act(site, fields) {
    const { faults } = site.deployment();
    const id = fields.get("remove");
    if (id === null) faults.clear();
    else faults.remove(id);
  },
};

const FORM = "arm";
const MOMENTS = {
  "before-token": "before the token endpoint looks at anything",
  "after-commit": "after the token endpoint did its work",
  resource: "on a route of the API",
};

function body(view: AdminView): Markup {
  const asked = view.query.get("name");
  const name = faultNames.find((known) => known === asked) ?? "status";
  const choose = (other: FaultName) =>
    html`<li><a href="${linkTo(view.deployment, `${ADMIN_PATH}/faults`)}?name=${other}#${FORM}"${other === name ? html` aria-current="true"` : ""}>${other}</a></li>`;
  return html`<section class="panel" aria-labelledby="armed"><h2 id="armed">Armed</h2>${livePart(view, "faults", armed(view))}</section>
<section class="panel" aria-labelledby="arm-name"><h2 id="arm-name">Arm: ${name}</h2>
<nav aria-label="Faults"><ul class="choices">${faultNames.map(choose)}</ul></nav>
${form(view, { id: FORM, action: "/faults", hidden: { name }, content: fieldsOf(view, name) })}</section>`;
}

export function armed(view: AdminView): Markup {
  const reports = view.deployment.faults.list();
  if (reports.length === 0) return html`<p class="quiet">None: everything goes as it should.</p>`;
  const row = ({ id, fault, fired, left }: FaultReport) => {
    const { name, ...rest } = fault;
    return html`<li><div class="row"><code class="rule">${name}</code> <span class="quiet">fired ${fired}, ${left === "always" ? "always armed" : `${left} left`}</span>
<button class="end" name="remove" value="${id}" aria-label="Remove ${name}, ${id}">Remove</button></div>
<p class="quiet"><code>${JSON.stringify(rest)}</code></p></li>`;
  };
  const content = html`<ul class="rules">${reports.map(row)}</ul><div><button>Clear all</button></div>`;
  return form(view, { id: "disarm", action: "/faults/remove", content });
}

function fieldsOf(view: AdminView, name: FaultName): Markup {
  const moments = faultMoments[name];
  const [first] = moments;
  const at = moments.map((moment): readonly [string, string] => [moment, MOMENTS[moment]]);
  // As in code, where `at` may be left out: the operation decides.
  if (first !== undefined) at.unshift(["", `${MOMENTS[first]}, or on the operation's route`]);
  const { serviceAccounts, apiClients, plugins, operators } = view.deployment;
  const tenants = [...plugins.list(), ...operators.list(), ...serviceAccounts.list()];
  const clients = [...plugins.list(), ...serviceAccounts.list(), ...apiClients.list()];
  const operations = ["requestToken", ...view.site.routes().map(({ operationId }) => operationId)];
  const methods = ["POST", ...view.site.routes().map(({ method }) => method)];
  const suggestions = (id: string, values: readonly string[]) =>
    html`<datalist id="${id}">${[...new Set(values)].map((value) => html`<option value="${value}"></option>`)}</datalist>`;
  const choices = (values: readonly string[]) =>
    ["", ...values].map((of) => [of, of === "" ? "any" : of] as const);
  const field = (shape: Omit<Parameters<typeof textField>[1], "form">) =>
    textField(view, { ...shape, form: FORM });
  const matched = (shape: Parameters<typeof field>[0]) =>
    field({ ...shape, faultName: `match.${shape.name}` });
  return html`${faultFields[name].map((own) => field(own))}
${at.length === 0 ? html`<p class="quiet">It strikes when the host answers a launch.</p>` : selectField(view, { form: FORM, name: "at", label: "When", choices: at })}
<div class="fields">${field({ name: "count", label: "How many requests", hint: "A number, or always. Default: 1." })}
${field({ name: "probability", label: "Probability", hint: "Above 0, at most 1. Default: 1." })}
${field({ name: "seed", label: "Seed", hint: "Of the draws. Default: one that is drawn." })}</div>
<fieldset><legend>Only requests of</legend><div class="fields">
${matched({ name: "tenantId", label: "Tenant", list: "known-tenants" })}
${matched({ name: "clientId", label: "Client", list: "known-clients" })}
${matched({ name: "operation", label: "Operation", list: "known-operations" })}
${matched({ name: "method", label: "Method", list: "known-methods" })}
${matched({ name: "path", label: "Path", hint: "Without the query." })}
${selectField(view, { form: FORM, name: "grant", label: "Grant", choices: choices(GRANTS) })}
${selectField(view, { form: FORM, name: "variant", label: "Variant", choices: choices(["A", "B"]) })}</div></fieldset>
${suggestions(
  "known-tenants",
  tenants.map(({ tenantId }) => tenantId),
)}
${suggestions(
  "known-clients",
  clients.map(({ clientId }) => clientId),
)}${suggestions("known-operations", operations)}${suggestions("known-methods", methods)}
<div><button class="primary">Arm it</button></div>`;
}
