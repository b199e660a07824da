// Variant B's registrations: service accounts and API clients; whether they have a secret, never which.
import { html } from "hono/html";
import type { Markup } from "../pages/render-page.js";
import type { ApiClient } from "../registrations/api-clients.js";
import type { ServiceAccount } from "../registrations/service-accounts.js";
import type { AdminPage, AdminView } from "./admin-site.js";
import { facts, scopeList } from "./shown-parts.js";

export const clientsPage: AdminPage = { path: "/clients", title: "Clients", body };

function body({ deployment: { serviceAccounts, apiClients } }: AdminView): Markup {
  const [accounts, clients] = [serviceAccounts.list(), apiClients.list()];
  return html`<h2>Service accounts</h2>
${accounts.length === 0 ? html`<p class="quiet">No service account is registered.</p>` : accounts.map(account)}
<h2>API clients</h2>
${clients.length === 0 ? html`<p class="quiet">No API client is registered.</p>` : clients.map(client)}`;
}

function account({ clientId, tenantId, scopes }: ServiceAccount): Markup {
  const rows = {
    Tenant: html`<code>${tenantId}</code>`,
    Secret: "set",
    Scopes: reach(scopes, "every scope"),
  };
  return html`<section class="panel"><h3><code>${clientId}</code></h3>${facts(rows)}</section>`;
}

function client({ clientId, name, tenantId, redirectUris, secretDigest, scopes }: ApiClient): Markup {
  const rows = {
    client_id: html`<code>${clientId}</code>`,
    Tenant: tenantId === undefined ? "every tenant" : html`<code>${tenantId}</code>`,
    Kind: secretDigest === undefined ? "public client, no secret" : "confidential client, secret set",
    "Redirect URIs": html`${redirectUris.map((uri) => html`<code>${uri}</code> `)}`,
    Scopes: reach(scopes, "whatever the person has"),
  };
  return html`<section class="panel"><h3>${name}</h3>${facts(rows)}</section>`;
}

function reach(scopes: ReadonlySet<string> | undefined, otherwise: string): string | Markup {
  return scopes === undefined ? otherwise : scopeList(scopes);
}
