// The first page at /_emulator: what is served, the clock, and the tenants.
import { html } from "hono/html";
import { linkTo, type Markup } from "../pages/page.js";
import { TOKEN_PATH_A } from "../variant-a/token-endpoint.js";
import { AUTHORIZATION_PATH } from "../variant-b/authorization-request.js";
import { TOKEN_PATH_B } from "../variant-b/client-token-endpoint.js";
import type { AdminPage, AdminView } from "./admin-site.js";
import { form, selectField, textField } from "./form.js";
import { facts, instant, livePart } from "./shown-parts.js";

export const overviewPage: AdminPage = { path: "", title: "Overview", body };

function body(view: AdminView): Markup {
  return html`<section class="panel" aria-labelledby="served"><h2 id="served">What is served</h2>${served(view)}</section>
<section class="panel" aria-labelledby="clock"><h2 id="clock">Clock</h2>${clockForms(view)}</section>
<section class="panel" aria-labelledby="tenants"><h2 id="tenants">Tenants</h2>${tenants(view)}</section>`;
}

function served({ site, deployment }: AdminView): Markup {
  const variants = site.settings().variants ?? ["A", "B"];
  const base = deployment.publicUrl();
  return facts({
    Variants: variants.join(" and "),
    "Base URL": html`<code>${base}</code>`,
    ...(variants.includes("A") && { "Token endpoint, Variant A": html`<code>${base}${TOKEN_PATH_A}</code>` }),
    ...(variants.includes("B") && {
      "Token endpoint, Variant B": html`<code>${base}${TOKEN_PATH_B}</code>`,
      "Authorization endpoint": html`<code>${base}${AUTHORIZATION_PATH}</code>`,
    }),
  });
}

export function clockNow({ deployment: { time } }: AdminView): Markup {
  return html`<p class="now">${instant(time.now())} <span class="mark ${time.frozen ? "bad" : "good"}">${time.frozen ? "frozen" : "running"}</span></p>`;
}

function clockForms(view: AdminView): Markup {
  const { frozen } = view.deployment.time;
  const way = frozen
    ? html`<button name="do" value="resume">Resume</button>`
    : html`<button name="do" value="freeze">Freeze</button>`;
  const units = [
    ["1000", "seconds"],
    ["60000", "minutes"],
    ["3600000", "hours"],
    ["86400000", "days"],
    ["1", "milliseconds"],
  ] as const;
  const amount = {
    form: "advance",
    name: "amount",
    label: "Advance by",
    hint: "Negative: back.",
    value: "120",
  };
  const set = {
    form: "set",
    name: "instant",
    label: "Set to",
    hint: "2026-03-01T12:00:00Z, or milliseconds.",
    required: true,
    faultName: "clock",
  };
  return html`${livePart(view, "clock", clockNow(view))}
${form(view, { id: "run", action: "/clock", className: "row", content: html`${way} <button name="do" value="reset">Reset</button>` })}
${form(view, {
  id: "advance",
  action: "/clock",
  className: "line",
  content: html`${textField(view, amount)}${selectField(view, { form: "advance", name: "unit", label: "Unit", choices: units })}
<button name="do" value="advance">Advance</button>`,
})}
${form(view, { id: "set", action: "/clock", className: "line", content: html`${textField(view, set)}<button name="do" value="set">Set</button>` })}`;
}

function tenants({ site, deployment }: AdminView): Markup {
  const { plugins, operators, serviceAccounts, apiClients } = deployment;
  const all = [...plugins.list(), ...operators.list(), ...serviceAccounts.list(), ...apiClients.list()];
  const ids = [...new Set(all.flatMap(({ tenantId }) => tenantId ?? []))];
  const everywhere = apiClients.list().filter(({ tenantId }) => tenantId === undefined).length;
  const are = everywhere === 1 ? "1 API client is" : `${everywhere} API clients are`;
  if (ids.length === 0) {
    if (everywhere > 0) return html`<p>${are} registered for every tenant, and nothing else is yet.</p>`;
    return html`<p class="quiet">Nothing is registered yet: give a seed, or register in code.</p>`;
  }
  const isHosted = site.settings().variants?.includes("A") ?? true;
  const of = (list: readonly { readonly tenantId: string | undefined }[], id: string) =>
    list.filter(({ tenantId }) => tenantId === id).length;
  const row = (id: string) => html`<tr><th scope="row"><code>${id}</code></th>
<td>${isHosted ? html`<a href="${linkTo(deployment, `/host/${encodeURIComponent(id)}`)}">Host application</a>` : ""}</td>
<td>${of(plugins.list(), id)}</td><td>${of(serviceAccounts.list(), id)}</td><td>${of(apiClients.list(), id) + everywhere}</td><td>${of(operators.list(), id)}</td></tr>`;
  return html`<div class="scroll" tabindex="0" role="group" aria-labelledby="tenants"><table><thead><tr><th>Tenant</th><td></td><th>Plugins</th><th>Service accounts</th>
<th>API clients</th><th>Operators</th></tr></thead><tbody>${ids.map(row)}</tbody></table></div>
${everywhere === 0 ? "" : html`<p class="quiet">${are} registered for every tenant and counted in each.</p>`}`;
}
