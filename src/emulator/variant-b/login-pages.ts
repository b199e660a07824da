// The pages of Variant B's authorization server; they work without JavaScript.
import { html } from "hono/html";
import type { BrowserSession } from "../pages/browser-session.js";
import { linkTo, renderPage } from "../pages/page.js";
import { CONSENT_PATH, LOGIN_PATH } from "../paths.js";
import { displayName, type Operator } from "../registrations/operators.js";
import { type RuleId, rules } from "../rules.js";
import type { AuthorizationRequest, Deployment } from "../state.js";
import type { ClaimedPerson } from "./login.js";

/** A page of a login in progress. */
export interface LoginPage {
  /** The id of the pending login. */
  readonly id: string;
  readonly request: AuthorizationRequest;
  readonly session: BrowserSession;
  /** Who they said they were, if that failed. */
  readonly failed?: ClaimedPerson;
}

export function loginPage(
  deployment: Deployment,
  { id, request, session, failed }: LoginPage,
): Promise<Response> {
  const operators = deployment.operators.list(request.client.tenantId);
  const tenants = [...new Set(operators.map(({ tenantId }) => tenantId))];
  const known = [...new Set(operators.map(({ userId }) => userId))];
  const isRetry = failed !== undefined;
  // What is no one's user id may be a password in the wrong field.
  const typed = known.find((userId) => userId === failed?.userId);
  const focus = html` autofocus`;
  const option = (tenantId: string) =>
    html`<option${tenantId === failed?.tenantId ? html` selected` : ""}>${tenantId}</option>`;
  const tenant = html`<div class="field">
<label for="tenantId">Tenant</label>
<select id="tenantId" name="tenantId">${tenants.map(option)}</select>
</div>`;
  const body = html`<main>
<div><h1>Log in</h1><p class="quiet">to continue to ${request.client.name}</p></div>
${isRetry ? html`<p class="alarm" role="alert" id="failed">User id and password do not belong together.</p>` : ""}
<form method="post" action="${linkTo(deployment, LOGIN_PATH)}">
<input type="hidden" name="request" value="${id}">
<input type="hidden" name="form_token" value="${session.formToken}">
${tenants.length > 1 ? tenant : ""}
<div class="field">
<label for="userId">User id</label>
<input id="userId" name="userId" list="people" autocomplete="username" autocapitalize="none" spellcheck="false"
value="${typed ?? ""}" required${isRetry ? "" : focus}>
<datalist id="people">${known.map((userId) => html`<option value="${userId}"></option>`)}</datalist>
</div>
<div class="field">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password"
aria-describedby="${isRetry ? "failed empty" : "empty"}"${isRetry ? html` aria-invalid="true"${focus}` : ""}>
<p class="quiet" id="empty">Whoever was registered without one leaves it empty.</p>
</div>
<div class="actions">
<button class="primary" name="decision" value="login">Log in</button>
<button name="decision" value="deny" formnovalidate>Cancel</button>
</div>
</form>
</main>`;
  // No form-action: cancelling redirects to the app, and browsers hold each redirect after a form against it.
  return renderPage(deployment, {
    title: "Log in",
    layout: "card",
    body,
    status: isRetry ? 403 : 200,
  });
}

export function consentPage(
  deployment: Deployment,
  { id, request, session }: LoginPage,
  operator: Operator,
): Promise<Response> {
  const { client, redirectUri, scopes } = request;
  const asked = [...(scopes ?? operator.capabilities)];
  const entry = (scope: string) =>
    html`<li><code>${scope}</code>${operator.capabilities.has(scope) ? "" : html` <span class="quiet">You do not have this, so neither will the app.</span>`}</li>`;
  const list =
    asked.length === 0
      ? html`<p>It asks for nothing that you have.</p>`
      : html`<ul class="scopes">${asked.map(entry)}</ul>`;
  const back = html`${linkTo(deployment, LOGIN_PATH)}?request=${id}`;
  const body = html`<main>
<div><h1>Allow ${client.name}?</h1>
<p class="quiet">You are ${displayName(operator)} (<code>${operator.userId}</code>, tenant <code>${operator.tenantId}</code>).
<a href="${back}">Log in as somebody else</a></p></div>
<p>It asks to act for you with${scopes === undefined ? " whatever you have" : ""}:</p>
${list}
<form method="post" action="${linkTo(deployment, CONSENT_PATH)}">
<input type="hidden" name="request" value="${id}">
<input type="hidden" name="form_token" value="${session.formToken}">
<div class="actions">
<button class="primary" name="decision" value="allow">Allow</button>
<button name="decision" value="deny">Deny</button>
</div>
</form>
<p class="quiet">You will be sent to <code>${redirectUri}</code>.</p>
</main>`;
  // No form-action here either: both buttons lead to the app.
  return renderPage(deployment, { title: `Allow ${client.name}?`, layout: "card", body });
}

/** What the client must not be told, told to the person. */
export function loginErrorPage(deployment: Deployment, rule: RuleId): Promise<Response> {
  const { answer, says, remedy } = rules[rule];
  const body = html`<main>
<h1>This login cannot go on</h1>
<p class="alarm">It breaks the rule: ${says}</p>
<p>${remedy}</p>
</main>`;
  const status = answer.status;
  return renderPage(deployment, { title: "This login cannot go on", layout: "card", body, status });
}
