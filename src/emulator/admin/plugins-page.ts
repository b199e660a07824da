// The plugins of every tenant, and the forms that change them.
import { createHash } from "node:crypto";
import { html } from "hono/html";
import type { Markup } from "../pages/page.js";
import type { Plugin } from "../registrations/plugin.js";
import type { RegisteredKey } from "../registrations/registered-keys.js";
import type { AdminPage, AdminView } from "./admin-site.js";
import { confirmation } from "./confirmation.js";
import { form, formId, outcomePlace, textField, typedIn } from "./form.js";
import { scopesField } from "./scopes-field.js";
import { facts } from "./shown-parts.js";

/** Where the outcome of taking one away is told. */
const UNREGISTERED = "unregistered";

export const pluginsPage: AdminPage = { path: "/plugins", title: "Plugins", body };

function body(view: AdminView): Markup {
  const plugins = view.deployment.plugins.list();
  const unregistered = outcomePlace(view, UNREGISTERED);
  if (plugins.length === 0) return html`${unregistered}<p class="quiet">No plugin is registered.</p>`;
  const delay = view.site.settings().narrowingDelayMs ?? 0;
  return html`<p>Every change counts from the next request on, also for tokens already minted${delay === 0 ? "" : `; a narrowing after ${delay} ms`}.</p>
${unregistered}${plugins.map((plugin) => panel(view, plugin))}`;
}

function panel(view: AdminView, plugin: Plugin): Markup {
  const { tenantId, clientId, name, type, enabled, pageUrl, roles } = plugin;
  const id = (kind: string) => formId(kind, tenantId, clientId);
  const about = { action: "/plugins", hidden: { tenantId, clientId } };
  const isService = type === "service";
  const shown = facts({
    Tenant: html`<code>${tenantId}</code>`,
    client_id: html`<code>${clientId}</code>`,
    Type: isService ? "service plugin" : "user-interface plugin",
    ...(isService && { Roles: roles.map((role) => `${role.name} (${role.group})`).join(", ") }),
    ...(!isService && { Page: pageUrl === undefined ? "none" : html`<code>${pageUrl}</code>` }),
    Keys: html`${plugin.keys.map(keyLine)}`,
  });
  const toggle = html`<button name="enabled" value="${!enabled}">${enabled ? "Disable" : "Enable"}</button>`;
  const keys = {
    form: id("jwks"),
    name: "jwks",
    label: "Public keys as a JWKS",
    rows: 5,
    hint: 'Takes the place of all of them: {"keys": […]}, RSA, 2048 bits or more.',
  };
  const scopes = {
    form: id("scopes"),
    legend: "Granted scopes",
    granted: plugin.grant.scopes,
    faultName: "scopes",
    button: html`<button name="do" value="scopes">Save scopes</button>`,
  };
  const isOpen = view.failed?.id === keys.form || view.query.get("saved") === keys.form;
  return html`<section class="panel" aria-labelledby="${id("name")}">
<div class="row"><h2 id="${id("name")}">${name}</h2><span class="mark ${enabled ? "good" : "bad"}">${enabled ? "enabled" : "disabled"}</span>
${form(view, { ...about, id: id("enabled"), className: "end", content: toggle })}</div>
${shown}
${form(view, { ...about, id: scopes.form, content: scopesField(view, scopes) })}
${form(view, { ...about, id: id("devices"), content: devicesField(view, id("devices"), plugin) })}
<details${isOpen ? html` open` : ""}><summary>Replace the keys</summary>
${form(view, { ...about, id: keys.form, content: html`${textField(view, keys)}<button>Replace keys</button>` })}</details>
${confirmation(view, {
  id: id("unregister"),
  action: "/plugins/unregister",
  hidden: about.hidden,
  place: UNREGISTERED,
  ask: "Unregister…",
  says: "Its token requests and its tokens are refused from the next request on; its tokens, launches and codes stay refused when it is registered again.",
  button: `Yes, unregister ${name}`,
})}
</section>`;
}

function devicesField(view: AdminView, id: string, { grant: { devices } }: Plugin): Markup {
  const typed = typedIn(view, id);
  const isLimited = typed === undefined ? devices !== undefined : typed.has("limited");
  const list = {
    form: id,
    name: "devices",
    label: "These devices, one a line",
    rows: 3,
    value: [...(devices ?? [])].join("\n"),
  };
  return html`<fieldset><legend>Device restriction</legend>
<p class="box"><input type="checkbox" id="${id}-limited" name="limited" value="yes"${isLimited ? html` checked` : ""}>
<label for="${id}-limited">Limit it to these devices</label></p>
${textField(view, list)}<div><button name="do" value="devices">Save devices</button></div></fieldset>`;
}

/** With its thumbprint (RFC 7638). */
function keyLine({ kid, publicKey }: RegisteredKey): Markup {
  const { e, kty, n } = publicKey.export({ format: "jwk" });
  const thumbprint = createHash("sha256").update(JSON.stringify({ e, kty, n })).digest("base64url");
  return html`<span class="key"><code>${kid ?? "no kid"}</code> <span class="quiet">SHA-256 <code>${thumbprint}</code></span></span>`;
}
