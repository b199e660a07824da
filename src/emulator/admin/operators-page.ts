// The people of every tenant, and the form that changes what each of them can do.
import { html } from "hono/html";
import type { Markup } from "../pages/page.js";
import { displayName, type Operator } from "../registrations/operators.js";
import type { AdminAction, AdminPage, AdminView } from "./admin-site.js";
import { confirmation } from "./confirmation.js";
import { form, formId, outcomePlace } from "./form.js";
import { readScopes, scopesField } from "./scopes-field.js";
import { facts } from "./shown-parts.js";

/** Where the outcome of taking one away is told. */
const UNREGISTERED = "unregistered";

export const operatorsPage: AdminPage = { path: "/operators", title: "Operators", body };

export const operatorAction: AdminAction = {
  path: "/operators",
  page: operatorsPage,
  act(site, fields) {
    const operator = { tenantId: fields.get("tenantId") ?? "", userId: fields.get("userId") ?? "" };
    site.deployment().operators.update({ ...operator, capabilities: readScopes(fields) });
  },
};

function body(view: AdminView): Markup {
  const operators = view.deployment.operators.list();
  const unregistered = outcomePlace(view, UNREGISTERED);
  if (operators.length === 0) return html`${unregistered}<p class="quiet">No operator is registered.</p>`;
  return html`<p>What a person cannot do no token does that acts for them, from the next call on.</p>
${unregistered}${operators.map((operator) => panel(view, operator))}`;
}

function panel(view: AdminView, operator: Operator): Markup {
  const { tenantId, userId, capabilities, roles, passwordDigest } = operator;
  const id = formId("operator", tenantId, userId);
  const rows = {
    Tenant: html`<code>${tenantId}</code>`,
    userId: html`<code>${userId}</code>`,
    Roles: roles.map(({ name, group }) => `${name} (${group})`).join(", ") || "none",
    Password: passwordDigest === undefined ? "none, signs in without one" : "set",
  };
  const button = html`<button>Save capabilities</button>`;
  const field = {
    form: id,
    legend: "Capabilities",
    granted: capabilities,
    faultName: "capabilities",
    button,
  };
  return html`<section class="panel"><h2>${displayName(operator)}</h2>${facts(rows)}
${form(view, { id, action: "/operators", hidden: { tenantId, userId }, content: scopesField(view, field) })}
${confirmation(view, {
  id: formId("unregister", tenantId, userId),
  action: "/operators/unregister",
  hidden: { tenantId, userId },
  place: UNREGISTERED,
  ask: "Unregister…",
  says: "The person is signed out everywhere, and every token that acts for them is revoked, for good.",
  button: `Yes, unregister ${displayName(operator)}`,
})}
</section>`;
}
