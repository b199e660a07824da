// The pages of Variant B's authorization server; they work without JavaScript.
import { html } from "hono/html";
import type { Arrival, Operation } from "../http/operation.js";
import { AUTHORIZATION_PATH, CONSENT_PATH, LOGIN_PATH } from "../http/paths.js";
import {
  type BrowserSession,
  openSession,
  readOwnForm,
  type SessionPlace,
  type Visit,
  visitAt,
} from "../pages/browser-session.js";
import { linkTo, passwordField, postForm, redirect, renderPage } from "../pages/page.js";
import { recordAuthorization, recordCallback, recordLogin } from "../records/flow.js";
import { displayName, type Operator } from "../registrations/operators.js";
import type { Refusal } from "../rules/checks.js";
import { emulatorRules, type RuleId } from "../rules.js";
import type { AuthorizationRequest, Deployment } from "../state/deployment.js";
import {
  authenticatePerson,
  beginPending,
  type ClaimedPerson,
  decide,
  findPending,
  findPerson,
  readAuthorizationRequest,
  refuseAuthorization,
} from "./authorization.js";

/** Its session may be another one than that of the form's page if the rule against that is off. */
interface LoginVisit extends Visit {
  readonly id: string;
  readonly asked: AuthorizationRequest;
  readonly fields: URLSearchParams;
}

const place: SessionPlace = {
  sessions: "loginSessions",
  cookie: "emulator-login",
  path: "/v1/auth",
  rule: "login.form",
};

/**
 * `failed` names the person of a refused login. The browser keeps its session, for forms in other
 * tabs.
 */
function loginPage(visit: LoginVisit, failed?: ClaimedPerson): Promise<Response> {
  const { deployment, id, asked } = visit;
  const session = visit.session ?? openSession(visit);
  const operators = deployment.operators.list(asked.client.tenantId);
  const tenants = [...new Set(operators.map(({ tenantId }) => tenantId))];
  const known = [...new Set(operators.map(({ userId }) => userId))];
  const isRetry = failed !== undefined;
  // An unknown user id may be a password in the wrong field.
  const typed = known.find((userId) => userId === failed?.userId);
  const option = (tenantId: string) =>
    html`<option${tenantId === failed?.tenantId ? html` selected` : ""}>${tenantId}</option>`;
  const tenant = html`<div class="field">
<label for="tenantId">Tenant</label>
<select id="tenantId" name="tenantId">${tenants.map(option)}</select>
</div>`;
  const fields = html`${tenants.length > 1 ? tenant : ""}
<div class="field">
<label for="userId">User id</label>
<input id="userId" name="userId" list="people" autocomplete="username" autocapitalize="none" spellcheck="false"
value="${typed ?? ""}" required${isRetry ? "" : html` autofocus`}>
<datalist id="people">${known.map((userId) => html`<option value="${userId}"></option>`)}</datalist>
</div>
${passwordField(isRetry)}
<div class="actions">
<button class="primary" name="decision" value="login">Log in</button>
<button name="decision" value="deny" formnovalidate>Cancel</button>
</div>`;
  const body = html`<main>
<div><h1>Log in</h1><p class="quiet">to continue to ${asked.client.name}</p></div>
${isRetry ? html`<p class="alarm" role="alert" id="failed">User id and password do not belong together.</p>` : ""}
${postForm(deployment, LOGIN_PATH, { request: id, form_token: session.formToken }, fields)}
</main>`;
  // No form-action: cancelling redirects to the app, and browsers apply form-action to such
  // redirects too.
  return renderPage(deployment, {
    title: "Log in",
    layout: "card",
    body,
    status: isRetry ? 403 : 200,
    session,
  });
}

function consentPage(
  { deployment, id, asked }: LoginVisit,
  session: BrowserSession,
  operator: Operator,
): Promise<Response> {
  const { client, redirectUri, scopes } = asked;
  const names = [...(scopes ?? operator.capabilities)];
  const entry = (scope: string) =>
    html`<li><code>${scope}</code>${operator.capabilities.has(scope) ? "" : html` <span class="quiet">You do not have this, so neither will the app.</span>`}</li>`;
  const list =
    names.length === 0
      ? html`<p>It asks for nothing that you have.</p>`
      : html`<ul class="scopes">${names.map(entry)}</ul>`;
  const buttons = html`<div class="actions">
<button class="primary" name="decision" value="allow">Allow</button>
<button name="decision" value="deny">Deny</button>
</div>`;
  const body = html`<main>
<div><h1>Allow ${client.name}?</h1>
<p class="quiet">You are ${displayName(operator)} (<code>${operator.userId}</code>, tenant <code>${operator.tenantId}</code>).
<a href="${linkTo(deployment, LOGIN_PATH)}?request=${id}">Log in as another person</a></p></div>
<p>It asks to act for you with${scopes === undefined ? " everything that you have" : ""}:</p>
${list}
${postForm(deployment, CONSENT_PATH, { request: id, form_token: session.formToken }, buttons)}
<p class="quiet">You will be sent to <code>${redirectUri}</code>.</p>
</main>`;
  // No form-action here either, because both buttons lead to the app.
  return renderPage(deployment, { title: `Allow ${client.name}?`, layout: "card", body });
}

/** An error that only the person may see, not the client. */
function loginErrorPage(deployment: Deployment, rule: RuleId): Promise<Response> {
  const { answer, says, remedy } = emulatorRules[rule];
  const title = "This login cannot go on";
  const body = html`<main>
<h1>${title}</h1>
<p class="alarm">It breaks the rule: ${says}</p>
<p>${remedy}</p>
</main>`;
  return renderPage(deployment, { title, layout: "card", body, status: answer.status });
}

const OPERATION = { endpoint: "page", variant: "B" } as const;
export const loginRoutes: readonly Operation[] = [
  {
    ...OPERATION,
    operation: "authorize",
    method: "GET",
    path: AUTHORIZATION_PATH,
    handler: authorize,
  },
  loginRoute("showLogin", "GET", LOGIN_PATH, (visit) => loginPage(visit)),
  loginRoute("logIn", "POST", LOGIN_PATH, logIn),
  loginRoute("showConsent", "GET", CONSENT_PATH, nextPage),
  loginRoute("decideConsent", "POST", CONSENT_PATH, decideConsent),
];

/**
 * Refuses a request whose login has ended, and a form that does not come from this browser's own
 * page.
 */
function loginRoute(
  operation: string,
  method: "GET" | "POST",
  path: string,
  answer: (visit: LoginVisit) => Promise<Response>,
): Operation {
  const handler = async (arrival: Arrival) => {
    const visit = visitAt(place, arrival);
    const { deployment, request } = visit;
    const query = new URL(request.url).searchParams;
    const fields = method === "GET" ? query : await readOwnForm(visit);
    if (fields === undefined) {
      const finding = { expected: "a form of this browser's page", actual: "another form" };
      return refuse(deployment, { rule: "login.form", ...finding });
    }
    const id = fields.get("request") ?? "";
    const asked = findPending(deployment, id);
    if ("rule" in asked) return refuse(deployment, asked);
    return answer({ ...visit, id, asked, fields });
  };
  return { ...OPERATION, operation, method, path, handler };
}

async function authorize(arrival: Arrival): Promise<Response> {
  const { deployment, request, note } = arrival;
  const { searchParams: fields } = new URL(request.url);
  const read = readAuthorizationRequest(deployment, fields);
  if (!("rule" in read)) {
    const id = beginPending(deployment, read);
    recordAuthorization(deployment, fields, read, id);
    return nextPage({ ...visitAt(place, arrival), id, asked: read, fields });
  }
  note.tenantId = read.callback?.client.tenantId;
  const location = refuseAuthorization(
    deployment,
    recordAuthorization(deployment, fields, read),
    read,
  );
  return location === undefined
    ? loginErrorPage(deployment, read.rule)
    : redirect(location, undefined, 302);
}

/**
 * Shows the consent page to a logged-in person, otherwise the login page. Consent is asked for
 * every time.
 */
function nextPage(visit: LoginVisit): Promise<Response> {
  const person = personOf(visit);
  return visit.session && person ? consentPage(visit, visit.session, person) : loginPage(visit);
}

async function logIn(visit: LoginVisit): Promise<Response> {
  const { deployment, note, id, asked, fields } = visit;
  if (fields.get("decision") === "deny") return finish(visit, "deny", undefined);
  const claimed = {
    tenantId: fields.get("tenantId") ?? undefined,
    userId: fields.get("userId") ?? "",
  };
  const person = authenticatePerson(
    deployment,
    asked.client,
    claimed,
    fields.get("password") ?? "",
  );
  recordLogin(deployment, id, claimed, fields.get("password") ?? undefined, person);
  if ("rule" in person) {
    const { tenantId = asked.client.tenantId } = claimed;
    deployment.customerLog.record({ tenantId, clientId: asked.client.clientId }, person);
    return loginPage(visit, claimed);
  }
  note.tenantId = person.tenantId;
  const location = `${linkTo(deployment, CONSENT_PATH)}?${new URLSearchParams({ request: id })}`;
  return redirect(location, openSession(visit, person).setCookie);
}

async function decideConsent(visit: LoginVisit): Promise<Response> {
  const person = personOf(visit);
  if (person === undefined) return loginPage(visit);
  visit.note.tenantId = person.tenantId;
  return finish(visit, visit.fields.get("decision") === "allow" ? "allow" : "deny", person);
}

function finish(
  { deployment, id, asked }: LoginVisit,
  decision: "allow" | "deny",
  person: Operator | undefined,
): Response {
  // Only the first decision counts.
  deployment.pendingLogins.change(id, { isDecided: true });
  const location = decide(deployment, asked, decision, person);
  recordCallback(deployment, deployment.flows.find(id), location, { decision, person });
  return redirect(location);
}

/** Returns the logged-in person, if there is one whom the client may ask. */
function personOf({ deployment, session, asked }: LoginVisit): Operator | undefined {
  if (session?.operator === undefined) return undefined;
  const person = findPerson(deployment, asked.client, session.operator);
  return "rule" in person ? undefined : person;
}

function refuse(deployment: Deployment, refusal: Refusal): Promise<Response> {
  deployment.customerLog.record({}, refusal);
  return loginErrorPage(deployment, refusal.rule);
}
