// The two pages of the host application: who is there, and the sidebar with the plugins.
import { html } from "hono/html";
import type { Deployment } from "../deployment.js";
import { HOST_SCRIPT_PATH } from "../pages/asset-paths.js";
import type { BrowserSession } from "../pages/browser-session.js";
import { linkTo } from "../pages/page-route.js";
import { renderPage } from "../pages/render-page.js";
import { displayName, type Operator } from "../registrations/operators.js";
import type { Plugin } from "../registrations/plugin.js";

interface SignInPage {
  readonly tenantId: string;
  readonly session: BrowserSession;
  readonly failed?: boolean;
  readonly userId?: string | undefined;
}

export function signInPage(deployment: Deployment, page: SignInPage): Promise<Response> {
  const { tenantId, session, failed = false, userId } = page;
  const operators = deployment.operators.list(tenantId);
  const needPassword = operators.some(({ passwordDigest }) => passwordDigest !== undefined);
  const option = (operator: Operator) =>
    html`<option value="${operator.userId}"${operator.userId === userId ? html` selected` : ""}>${displayName(operator)}</option>`;
  const password = html`<div class="field">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password"
aria-describedby="${failed ? "failed empty" : "empty"}"${failed ? html` aria-invalid="true" autofocus` : ""}>
<p class="quiet" id="empty">Leave it empty for an operator who has none.</p>
</div>`;
  const form = html`<form method="post" action="${linkTo(deployment, `/host/${tenantId}/sign-in`)}">
<input type="hidden" name="form_token" value="${session.formToken}">
<div class="field">
<label for="userId">Operator</label>
<select id="userId" name="userId" autocomplete="username" required${failed ? "" : html` autofocus`}>${operators.map(option)}</select>
</div>
${needPassword ? password : ""}
<button class="primary">Sign in</button>
</form>`;
  const body = html`<main>
<div><h1>Host application</h1><p class="quiet">Tenant <code>${tenantId}</code> of the emulator</p></div>
${failed ? html`<p class="alarm" role="alert" id="failed">This is not the operator's password.</p>` : ""}
${operators.length === 0 ? html`<p>No operator is registered in this tenant.</p>` : form}
</main>`;
  return renderPage(deployment, {
    title: "Sign in to the host application",
    layout: "card",
    body,
    status: failed ? 403 : 200,
    policy: ["form-action 'self'"],
  });
}

export function hostPage(
  deployment: Deployment,
  session: BrowserSession,
  operator: Operator,
): Promise<Response> {
  const { tenantId } = operator;
  const base = linkTo(deployment, `/host/${tenantId}`);
  const plugins = deployment.plugins
    .list(tenantId)
    .filter(({ enabled, type }) => enabled && type === "user_interface");
  const entry = ({ clientId, name, pageUrl }: Plugin) =>
    html`<li><button type="button" data-client-id="${clientId}" data-name="${name}"${pageUrl === undefined ? html` disabled title="No page is registered for it"` : ""}>${name}</button></li>`;
  const list =
    plugins.length === 0
      ? html`<p class="quiet">No user-interface plugin is registered and enabled.</p>`
      : html`<ul class="plugins">${plugins.map(entry)}</ul>`;
  const body = html`<header class="sidebar" data-base="${base}" data-form-token="${session.formToken}">
<div><h1>${tenantId}</h1><p class="quiet">${displayName(operator)}</p></div>
<nav aria-label="Plugins"><h2>Plugins</h2>${list}</nav>
<form method="post" action="${base}/sign-out">
<input type="hidden" name="form_token" value="${session.formToken}"><button>Sign out</button>
</form>
</header>
<main class="stage">
<p class="status" id="status" role="status">Choose a plugin. Choosing it again launches it afresh.</p>
<div class="frame" id="frame"><div class="empty"><p class="quiet">Nothing is launched yet.</p></div></div>
<noscript><p class="alarm">Launching a plugin takes JavaScript: its page talks to this one by messages.</p></noscript>
</main>`;
  return renderPage(deployment, {
    title: `${tenantId}: host application`,
    layout: "app",
    body,
    script: HOST_SCRIPT_PATH,
    // Any site: a plugin's page may send its iframe elsewhere, and each redirect is held against this.
    policy: ["script-src 'self'", "connect-src 'self'", "frame-src http: https:", "form-action 'self'"],
    // The page in the iframe may know the host by its referrer.
    headers: { "referrer-policy": "strict-origin-when-cross-origin" },
  });
}
