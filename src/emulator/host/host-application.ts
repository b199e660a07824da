// The two pages of the host application: who is there, and the sidebar with the plugins.
import { html } from "hono/html";
import type { Refusal } from "../checks.js";
import { recordAuthCode, recordLaunch } from "../flow/flow-steps.js";
import {
  type BrowserSession,
  findSession,
  isOfSession,
  openSession,
  type SessionPlace,
} from "../pages/browser-session.js";
import {
  HOST_SCRIPT_PATH,
  linkTo,
  type PageRoute,
  readForm,
  readJson,
  renderPage,
  type Visit,
} from "../pages/page.js";
import { tenantIdSchema } from "../registrations/fields.js";
import { displayName, isPasswordOf, type Operator } from "../registrations/operators.js";
import type { Plugin } from "../registrations/plugins.js";
import { rules } from "../rules.js";
import type { Deployment, SignedIn } from "../state.js";
import { authorizeLaunch, openLaunch } from "./launch.js";

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

/** Not shown; the emulator's own. */
const HOST_PATH = "/host/{tenantId}";

export const hostRoutes: readonly PageRoute[] = [
  hostRoute("showHost", "GET", "", showHost),
  hostRoute("signInAtHost", "POST", "/sign-in", signIn),
  hostRoute("signOutOfHost", "POST", "/sign-out", signOut),
  hostRoute("launchPlugin", "POST", "/launches", launch),
  hostRoute("authorizeLaunch", "POST", "/authorizations", authorize),
];

function hostRoute(
  operation: string,
  method: "GET" | "POST",
  path: string,
  answer: PageRoute["answer"],
): PageRoute {
  const guarded = (visit: Visit) =>
    tenantIdSchema.safeParse(visit.parameters.tenantId).success
      ? answer(visit)
      : Response.json({ error: "not_found" }, { status: 404 });
  return { variant: "A", operation, method, path: HOST_PATH + path, answer: guarded };
}

function placeOf({ hostSessions }: Deployment, tenantId: string): SessionPlace {
  return { sessions: hostSessions, cookie: "emulator-host", path: `/host/${tenantId}` };
}

function arrive({ deployment, request, parameters, note }: Visit): {
  tenantId: string;
  place: SessionPlace;
  session: BrowserSession | undefined;
  operator: Operator | undefined;
} {
  const { tenantId = "" } = parameters;
  note.tenantId = tenantId;
  const place = placeOf(deployment, tenantId);
  const session = findSession(deployment, place, request);
  const signedIn = session?.operator;
  const operator =
    signedIn?.tenantId === tenantId ? deployment.operators.find(tenantId, signedIn.userId) : undefined;
  return { tenantId, place, session, operator };
}

async function showHost(visit: Visit): Promise<Response> {
  const { deployment } = visit;
  const { session, operator } = arrive(visit);
  if (session !== undefined && operator !== undefined) {
    deployment.flows.pageLoaded(deployment.clock(), operator);
    return hostPage(deployment, session, operator);
  }
  return freshSignInPage(visit);
}

/** The browser keeps its session, so that a form in another tab stays good, unless it has none. */
async function freshSignInPage(
  visit: Visit,
  failure: { failed?: boolean; userId?: string } = {},
): Promise<Response> {
  const { deployment, request } = visit;
  const { tenantId, place, session } = arrive(visit);
  if (session !== undefined) return signInPage(deployment, { tenantId, session, ...failure });
  const opened = openSession(deployment, place, request, undefined);
  const page = await signInPage(deployment, { tenantId, session: opened.session, ...failure });
  return withCookie(page, opened.setCookie);
}

async function signIn(visit: Visit): Promise<Response> {
  const { deployment, request } = visit;
  const { tenantId, place, session } = arrive(visit);
  const form = await readOwnForm(visit, session);
  if (form === undefined) return backToHost(deployment, tenantId);
  const userId = form.get("userId") ?? "";
  const operator = deployment.operators.find(tenantId, userId);
  const isTheirs = operator !== undefined && isPasswordOf(operator, form.get("password") ?? "");
  if (operator !== undefined && (isTheirs || !deployment.switches.isEnforced("launch.signed-in"))) {
    return backToHost(deployment, tenantId, openSession(deployment, place, request, operator).setCookie);
  }
  const actual = operator === undefined ? "no operator of the tenant" : "another password";
  record(visit, { rule: "launch.signed-in", expected: "an operator and their password", actual });
  return freshSignInPage(visit, { failed: true, userId });
}

async function signOut(visit: Visit): Promise<Response> {
  const { deployment, request } = visit;
  const { tenantId, place, session } = arrive(visit);
  const form = await readOwnForm(visit, session);
  if (form === undefined) return backToHost(deployment, tenantId);
  return backToHost(deployment, tenantId, openSession(deployment, place, request, undefined).setCookie);
}

/** A form of a page that this browser was shown; what is none is recorded. */
async function readOwnForm(
  visit: Visit,
  session: BrowserSession | undefined,
): Promise<URLSearchParams | undefined> {
  const isRuled = visit.deployment.switches.isEnforced("launch.form");
  const form = await readForm(visit.request);
  if (form !== undefined && (!isRuled || isOfSession(session, form.get("form_token")))) return form;
  record(visit, notOfThePage());
  return undefined;
}

async function launch(visit: Visit): Promise<Response> {
  const asked = await readAsked(visit);
  if ("rule" in asked) return refuse(visit, asked);
  const { operator, fields } = asked;
  const clientId = typeof fields.clientId === "string" ? fields.clientId : "";
  const opened = openLaunch(visit.deployment, { ...operator, clientId });
  recordLaunch(visit.deployment, { ...operator, clientId }, opened, "page");
  if ("rule" in opened) return refuse(visit, opened, clientId);
  return answerJson({ url: opened.url, origin: new URL(opened.url).origin }, 201);
}

async function authorize(visit: Visit): Promise<Response> {
  const asked = await readAsked(visit);
  if ("rule" in asked) return refuse(visit, asked);
  const { operator, fields } = asked;
  const { opaque_code: opaqueCode, challenge: codeChallenge } = fields;
  // A string in any case: a request that names no plugin asks for none.
  const clientId = typeof fields.clientId === "string" ? fields.clientId : "";
  const claimed = { ...operator, clientId, opaqueCode, codeChallenge };
  const answer = authorizeLaunch(visit.deployment, claimed);
  recordAuthCode(visit.deployment, claimed, answer);
  if ("rule" in answer) return refuse(visit, answer, clientId || undefined);
  if (answer.posts !== undefined) visit.note.fault = "duplicate-auth-code";
  return answerJson(answer, 200);
}

/** What the page's script asks, and for whom; another site's cannot send its token, nor JSON. */
async function readAsked(
  visit: Visit,
): Promise<{ operator: SignedIn; fields: Readonly<Record<string, unknown>> } | Refusal> {
  const { tenantId, session, operator } = arrive(visit);
  const { switches } = visit.deployment;
  const isFormRuled = switches.isEnforced("launch.form");
  const fields = await readJson(visit.request);
  const isOurs = !isFormRuled || isOfSession(session, visit.request.headers.get("x-form-token"));
  if (fields === undefined || !isOurs) return notOfThePage();
  if (operator !== undefined) return { operator: { tenantId, userId: operator.userId }, fields };
  return { rule: "launch.signed-in", expected: "somebody who is signed in", actual: "nobody" };
}

function notOfThePage(): Refusal {
  return { rule: "launch.form", expected: "a request of the host's page", actual: "another request" };
}

function record({ deployment, parameters }: Visit, refusal: Refusal, clientId?: string): void {
  const caller = { tenantId: parameters.tenantId, clientId };
  deployment.customerLog.record(deployment.clock(), caller, refusal);
}

function refuse(visit: Visit, refusal: Refusal, clientId?: string): Response {
  record(visit, refusal, clientId);
  const { answer, says } = rules[refusal.rule];
  return answerJson({ error: answer.error, error_description: says }, answer.status);
}

function answerJson(body: object, status: number): Response {
  return Response.json(body, { status, headers: { "cache-control": "no-store" } });
}

function backToHost(deployment: Deployment, tenantId: string, setCookie?: string): Response {
  const location = linkTo(deployment, `/host/${tenantId}`);
  const response = new Response(null, { status: 303, headers: { location, "cache-control": "no-store" } });
  return setCookie === undefined ? response : withCookie(response, setCookie);
}

function withCookie(response: Response, setCookie: string): Response {
  response.headers.append("set-cookie", setCookie);
  return response;
}
