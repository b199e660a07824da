// Variant B's registrations, service accounts and API clients, and the forms that change them. Of a secret the pages tell
// whether there is one, never which.
import { html } from "hono/html";
import type { Markup } from "../pages/page.js";
import type { ApiClient } from "../registrations/api-clients.js";
import type { ServiceAccount } from "../registrations/service-accounts.js";
import type { AdminPage, AdminView } from "./admin-site.js";
import { confirmation } from "./confirmation.js";
import { form, formId, outcomePlace, secretField, textField } from "./form.js";
import { scopesField } from "./scopes-field.js";
import { facts } from "./shown-parts.js";

/** Where the outcome of taking one away is told. */
const UNREGISTERED = "unregistered";

export const clientsPage: AdminPage = { path: "/clients", title: "Clients", body };

function body(view: AdminView): Markup {
  const { serviceAccounts, apiClients } = view.deployment;
  const [accounts, clients] = [serviceAccounts.list(), apiClients.list()];
  return html`<p>A secret counts from the next request on; scopes, redirect URIs, name and tenant for the tokens and logins that begin then.</p>
${outcomePlace(view, UNREGISTERED)}<h2>Service accounts</h2>
${accounts.length === 0 ? html`<p class="quiet">No service account is registered.</p>` : accounts.map((account) => accountPanel(view, account))}
<h2>API clients</h2>
${clients.length === 0 ? html`<p class="quiet">No API client is registered.</p>` : clients.map((client) => clientPanel(view, client))}`;
}

function accountPanel(view: AdminView, { clientId, tenantId, scopes }: ServiceAccount): Markup {
  const id = (kind: string) => formId(`account-${kind}`, clientId);
  const about = { action: "/clients/account", hidden: { clientId } };
  return html`<section class="panel" aria-labelledby="${id("name")}"><h3 id="${id("name")}"><code>${clientId}</code></h3>
${facts({ Tenant: html`<code>${tenantId}</code>`, Secret: "set" })}
${form(view, { ...about, id: id("scopes"), content: limitedScopes(view, id("scopes"), scopes, "Without a limit it reaches every route of Variant B.") })}
${secretForm(view, { ...about, id: id("secret") }, html`<button>Replace the secret</button>`)}
${confirmation(view, {
  id: id("unregister"),
  action: "/clients/unregister-account",
  hidden: about.hidden,
  place: UNREGISTERED,
  ask: "Unregister…",
  says: "Its secret is refused from the next request on, and its tokens are revoked, for good.",
  button: `Yes, unregister ${clientId}`,
})}</section>`;
}

function clientPanel(view: AdminView, client: ApiClient): Markup {
  const { clientId, name, tenantId, secretDigest, scopes } = client;
  const id = (kind: string) => formId(`client-${kind}`, clientId);
  const about = { action: "/clients/client", hidden: { clientId } };
  const isPublic = secretDigest === undefined;
  const secretButtons = html`<div class="row"><button>${isPublic ? "Make it confidential" : "Replace the secret"}</button>
${isPublic ? "" : html`<button name="do" value="public" formnovalidate>Make it public</button>`}</div>`;
  const rows = {
    client_id: html`<code>${clientId}</code>`,
    Tenant: tenantId === undefined ? "every tenant" : html`<code>${tenantId}</code>`,
    Kind: isPublic ? "public client, no secret" : "confidential client, secret set",
  };
  return html`<section class="panel" aria-labelledby="${id("name")}"><h3 id="${id("name")}">${name}</h3>${facts(rows)}
${form(view, { ...about, id: id("about"), content: aboutFields(view, id("about"), client) })}
${form(view, { ...about, id: id("scopes"), content: limitedScopes(view, id("scopes"), scopes, "Without a limit it may be allowed whatever the person has.") })}
${secretForm(view, { ...about, id: id("secret") }, secretButtons)}
${confirmation(view, {
  id: id("unregister"),
  action: "/clients/unregister-client",
  hidden: about.hidden,
  place: UNREGISTERED,
  ask: "Unregister…",
  says: "It is unknown from the next request on. What people allowed it is revoked, for good, with its tokens; logins in progress end.",
  button: `Yes, unregister ${name}`,
})}</section>`;
}

function aboutFields(view: AdminView, of: string, { name, tenantId, redirectUris }: ApiClient): Markup {
  const uris = {
    label: "Redirect URIs, one a line",
    rows: 2,
    value: redirectUris.join("\n"),
    required: true,
  };
  const tenant = { label: "Tenant", hint: "Empty: every tenant.", value: tenantId ?? "" };
  return html`<fieldset><legend>About it</legend>
${textField(view, { form: of, name: "name", label: "Name", value: name, required: true })}
${textField(view, { form: of, name: "tenantId", ...tenant })}
${textField(view, { form: of, name: "redirectUris", ...uris })}
<div><button name="do" value="about">Save</button></div></fieldset>`;
}

function limitedScopes(
  view: AdminView,
  of: string,
  scopes: ReadonlySet<string> | undefined,
  otherwise: string,
): Markup {
  const button = html`<button name="do" value="scopes">Save scopes</button>`;
  const limit = { label: "Limit it to these scopes", isLimited: scopes !== undefined, hint: otherwise };
  const granted = scopes ?? new Set<string>();
  return scopesField(view, { form: of, legend: "Scopes", granted, faultName: "scopes", button, limit });
}

function secretForm(
  view: AdminView,
  shape: { id: string; action: string; hidden: Readonly<Record<string, string>> },
  buttons: Markup,
): Markup {
  const isOpen = view.failed?.id === shape.id || view.query.get("saved") === shape.id;
  const field = { form: shape.id, name: "clientSecret", label: "New secret", required: true };
  return html`<details${isOpen ? html` open` : ""}><summary>Secret</summary>
${form(view, { ...shape, content: html`${secretField(view, field)}${buttons}` })}</details>`;
}
