// The pages of Variant B's authorization server; they work without JavaScript.
import { html } from "hono/html";
import type { Refusal } from "../checks.js";
import { recordAuthorization, recordCallback, recordLogin } from "../flow/flow-steps.js";
import {
  type BrowserSession,
  findSession,
  isOfSession,
  openSession,
  type SessionPlace,
} from "../pages/browser-session.js";
import { linkTo, type PageRoute, readForm, renderPage, type Visit } from "../pages/page.js";
import { AUTHORIZATION_PATH, CONSENT_PATH, LOGIN_PATH } from "../paths.js";
import { displayName, type Operator } from "../registrations/operators.js";
import { type RuleId, rules } from "../rules.js";
import type { AuthorizationRequest, Deployment } from "../state.js";
import {
  authenticatePerson,
  beginPending,
  type ClaimedPerson,
  decide,
  findPending,
  findPerson,
  finishPending,
  readAuthorizationRequest,
  refusedCallback,
} from "./authorization.js";

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
  // An unknown user id may be a password in the wrong field.
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
<p class="quiet" id="empty">Leave it empty for a person without a password.</p>
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
<a href="${back}">Log in as another person</a></p></div>
<p>It asks to act for you with${scopes === undefined ? " everything that you have" : ""}:</p>
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

/** An error that only the person may see, not the client. */
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

export const loginRoutes: readonly PageRoute[] = [
  { variant: "B", operation: "authorize", method: "GET", path: AUTHORIZATION_PATH, answer: authorize },
  { variant: "B", operation: "showLogin", method: "GET", path: LOGIN_PATH, answer: showLogin },
  { variant: "B", operation: "logIn", method: "POST", path: LOGIN_PATH, answer: logIn },
  { variant: "B", operation: "showConsent", method: "GET", path: CONSENT_PATH, answer: showConsent },
  { variant: "B", operation: "decideConsent", method: "POST", path: CONSENT_PATH, answer: decideConsent },
];

function placeOf({ loginSessions }: Deployment): SessionPlace {
  return { sessions: loginSessions, cookie: "emulator-login", path: "/v1/auth" };
}

function authorize({ deployment, request, note }: Visit): Response | Promise<Response> {
  const { searchParams } = new URL(request.url);
  const read = readAuthorizationRequest(deployment, searchParams);
  if (!("refusal" in read)) {
    const id = beginPending(deployment, read);
    recordAuthorization(deployment, searchParams, read, id);
    return nextPage(deployment, request, id, read);
  }
  const flow = recordAuthorization(deployment, searchParams, read);
  const { refusal, callback } = read;
  if (callback?.client.tenantId !== undefined) note.tenantId = callback.client.tenantId;
  record(deployment, callback, refusal);
  if (callback === undefined) return loginErrorPage(deployment, refusal.rule);
  const location = refusedCallback(deployment, callback, refusal.rule);
  recordCallback(deployment, flow, location, { rule: refusal.rule });
  return redirect(302, location);
}

/** The consent page if a person is logged in, else the login page. Every request asks for consent again. */
async function nextPage(
  deployment: Deployment,
  request: Request,
  id: string,
  asked: AuthorizationRequest,
): Promise<Response> {
  const session = findSession(deployment, placeOf(deployment), request);
  const person = personOf(deployment, session, asked);
  if (session !== undefined && person !== undefined) {
    return consentPage(deployment, { id, request: asked, session }, person);
  }
  return freshLoginPage(deployment, request, { id, request: asked });
}

/** Opens a session only for a browser that has none. */
async function freshLoginPage(
  deployment: Deployment,
  request: Request,
  page: Omit<LoginPage, "session">,
): Promise<Response> {
  const place = placeOf(deployment);
  const session = findSession(deployment, place, request);
  if (session !== undefined) return loginPage(deployment, { ...page, session });
  const opened = openSession(deployment, place, request, undefined);
  const response = await loginPage(deployment, { ...page, session: opened.session });
  response.headers.append("set-cookie", opened.setCookie);
  return response;
}

function showLogin({ deployment, request }: Visit): Promise<Response> {
  const id = new URL(request.url).searchParams.get("request") ?? "";
  const pending = findPending(deployment, id);
  if ("rule" in pending) return refuse(deployment, pending);
  return freshLoginPage(deployment, request, { id, request: pending });
}

async function logIn({ deployment, request, note }: Visit): Promise<Response> {
  const form = await readOwnForm(deployment, request);
  if ("rule" in form) return refuse(deployment, form);
  const { id, asked, fields } = form;
  if (fields.get("decision") === "deny") {
    finishPending(deployment, id);
    const location = decide(deployment, asked, "deny", undefined);
    recordCallback(deployment, deployment.flows.find(id), location, { decision: "deny" });
    return redirect(303, location);
  }
  const claimed = { tenantId: fields.get("tenantId") ?? undefined, userId: fields.get("userId") ?? "" };
  const person = authenticatePerson(deployment, asked.client, claimed, fields.get("password") ?? "");
  recordLogin(deployment, id, claimed, fields.get("password") ?? undefined, person);
  if ("rule" in person) {
    record(deployment, asked, person, claimed.tenantId);
    return freshLoginPage(deployment, request, { id, request: asked, failed: claimed });
  }
  note.tenantId = person.tenantId;
  const { setCookie } = openSession(deployment, placeOf(deployment), request, person);
  const response = redirect(
    303,
    `${linkTo(deployment, CONSENT_PATH)}?${new URLSearchParams({ request: id })}`,
  );
  response.headers.append("set-cookie", setCookie);
  return response;
}

function showConsent({ deployment, request }: Visit): Promise<Response> {
  const id = new URL(request.url).searchParams.get("request") ?? "";
  const pending = findPending(deployment, id);
  return "rule" in pending ? refuse(deployment, pending) : nextPage(deployment, request, id, pending);
}

async function decideConsent({ deployment, request, note }: Visit): Promise<Response> {
  const form = await readOwnForm(deployment, request);
  if ("rule" in form) return refuse(deployment, form);
  const { id, asked, fields, session } = form;
  const person = personOf(deployment, session, asked);
  if (person === undefined) return freshLoginPage(deployment, request, { id, request: asked });
  note.tenantId = person.tenantId;
  finishPending(deployment, id);
  const decision = fields.get("decision") === "allow" ? "allow" : "deny";
  const location = decide(deployment, asked, decision, person);
  recordCallback(deployment, deployment.flows.find(id), location, { decision, person });
  return redirect(303, location);
}

interface OwnForm {
  readonly id: string;
  readonly asked: AuthorizationRequest;
  readonly fields: URLSearchParams;
  /** Undefined: the form is of no page of this browser, and the rule that says so is off. */
  readonly session: BrowserSession | undefined;
}

/** A form of a page that this browser was shown, for a login that is still open. */
async function readOwnForm(deployment: Deployment, request: Request): Promise<OwnForm | Refusal> {
  const isRuled = deployment.switches.isEnforced("login.form");
  const fields = await readForm(request);
  const session = findSession(deployment, placeOf(deployment), request);
  if (fields === undefined || (isRuled && !isOfSession(session, fields.get("form_token")))) {
    return { rule: "login.form", expected: "a form of this browser's page", actual: "another form" };
  }
  const id = fields.get("request") ?? "";
  const asked = findPending(deployment, id);
  return "rule" in asked ? asked : { id, asked, fields, session };
}

/** The person who is logged in, if the client may ask them. */
function personOf(
  deployment: Deployment,
  session: BrowserSession | undefined,
  { client }: AuthorizationRequest,
): Operator | undefined {
  if (session?.operator === undefined) return undefined;
  const person = findPerson(deployment, client, session.operator);
  return "rule" in person ? undefined : person;
}

function record(
  { clock, customerLog }: Deployment,
  asked: Pick<AuthorizationRequest, "client"> | undefined,
  refusal: Refusal,
  tenantId: string | undefined = asked?.client.tenantId,
): void {
  customerLog.record(clock(), { tenantId, clientId: asked?.client.clientId }, refusal);
}

function refuse(deployment: Deployment, refusal: Refusal): Promise<Response> {
  record(deployment, undefined, refusal);
  return loginErrorPage(deployment, refusal.rule);
}

function redirect(status: 302 | 303, location: string): Response {
  const headers = { location, "cache-control": "no-store", "referrer-policy": "no-referrer" };
  return new Response(null, { status, headers });
}
