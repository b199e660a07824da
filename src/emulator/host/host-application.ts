// Variant A's host application (description, section 5.3): sign-in, the page with the sidebar, and its script's requests.
import { html } from "hono/html";
import type { Refusal } from "../checks.js";
import { recordAuthCode, recordLaunch } from "../flow/flow.js";
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
import type { Deployment, LaunchIdentity } from "../state.js";
import { authorizeLaunch, openLaunch } from "./launch.js";

interface SignInPage {
  readonly tenantId: string;
  readonly session: BrowserSession;
  readonly failed?: boolean;
  readonly userId?: string | undefined;
}

function signInPage(deployment: Deployment, page: SignInPage): Promise<Response> {
  const { tenantId, session, failed = false, userId } = page;
  const operators = deployment.operators.list(tenantId);
  const needPassword = operators.some(({ passwordDigest }) => passwordDigest !== undefined);
  const option = (operator: Operator) =>
    html`<option value="${operator.userId}"${operator.userId === userId ? html` selected` : ""}>${displayName(operator)}</option>`;
  const password = html`<div class="field">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password"
aria-describedby="${failed ? "failed empty" : "empty"}"${failed ? html` aria-invalid="true" autofocus` : ""}>
<p class="quiet" id="empty">Leave it empty for an operator without a password.</p>
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
${failed ? html`<p class="alarm" role="alert" id="failed">The password is wrong.</p>` : ""}
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

function hostPage(deployment: Deployment, session: BrowserSession, operator: Operator): Promise<Response> {
  const { tenantId } = operator;
  const base = linkTo(deployment, `/host/${tenantId}`);
  const plugins = deployment.plugins
    .list(tenantId)
    .filter(({ enabled, type }) => enabled && type === "user_interface");
  const entry = ({ clientId, name, pageUrl }: Plugin) =>
    html`<li><button type="button" data-client-id="${clientId}" data-name="${name}"${pageUrl === undefined ? html` disabled title="It is registered without a page"` : ""}>${name}</button></li>`;
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
<p class="status" id="status" role="status">Choose a plugin. Choosing it again starts a new launch.</p>
<div class="frame" id="frame"><div class="empty"><p class="quiet">No plugin is launched yet.</p></div></div>
<noscript><p class="alarm">A launch needs JavaScript: the plugin's page and this page exchange messages.</p></noscript>
</main>`;
  return renderPage(deployment, {
    title: `${tenantId}: host application`,
    layout: "app",
    body,
    script: HOST_SCRIPT_PATH,
    // Any site: a plugin's page may redirect its iframe, and browsers check each redirect against this.
    policy: ["script-src 'self'", "connect-src 'self'", "frame-src http: https:", "form-action 'self'"],
    // The plugin's page may identify the host by its referrer.
    headers: { "referrer-policy": "strict-origin-when-cross-origin" },
  });
}

/** The description shows no path; this one is the emulator's own. */
const HOST_PATH = "/host/{tenantId}";

export const hostRoutes: readonly PageRoute[] = [
  hostRoute("showHost", "GET", "", showHost),
  hostRoute("signInAtHost", "POST", "/sign-in", signIn),
  hostRoute("signOutOfHost", "POST", "/sign-out", signOut),
  hostRoute("launchPlugin", "POST", "/launches", launch),
  hostRoute("authorizeLaunch", "POST", "/authorizations", authorize),
];

/** A visit to the host application of one tenant. */
interface HostVisit extends Visit {
  readonly tenantId: string;
  readonly place: SessionPlace;
  readonly session: BrowserSession | undefined;
  /** The operator who is signed in. */
  readonly operator: Operator | undefined;
}

function hostRoute(
  operation: string,
  method: "GET" | "POST",
  path: string,
  answer: (visit: HostVisit) => Promise<Response>,
): PageRoute {
  const answerVisit = (visit: Visit) => {
    const { deployment, request, parameters, note } = visit;
    const { tenantId = "" } = parameters;
    if (!tenantIdSchema.safeParse(tenantId).success)
      return Response.json({ error: "not_found" }, { status: 404 });
    note.tenantId = tenantId;
    const place = { sessions: deployment.hostSessions, cookie: "emulator-host", path: `/host/${tenantId}` };
    const session = findSession(deployment, place, request);
    const signedIn = session?.operator;
    const operator =
      signedIn?.tenantId === tenantId ? deployment.operators.find(tenantId, signedIn.userId) : undefined;
    return answer({ ...visit, tenantId, place, session, operator });
  };
  return { variant: "A", operation, method, path: HOST_PATH + path, answer: answerVisit };
}

async function showHost(visit: HostVisit): Promise<Response> {
  const { deployment, session, operator } = visit;
  if (session === undefined || operator === undefined) return freshSignInPage(visit);
  return hostPage(deployment, session, operator);
}

/** The browser keeps its session if it has one, so that a form in another tab stays valid. */
async function freshSignInPage(
  { deployment, request, tenantId, place, session }: HostVisit,
  failure: { failed?: boolean; userId?: string } = {},
): Promise<Response> {
  if (session !== undefined) return signInPage(deployment, { tenantId, session, ...failure });
  const opened = openSession(deployment, place, request, undefined);
  const page = await signInPage(deployment, { tenantId, session: opened.session, ...failure });
  page.headers.append("set-cookie", opened.setCookie);
  return page;
}

async function signIn(visit: HostVisit): Promise<Response> {
  const { deployment, request, tenantId, place } = visit;
  const form = await readOwnForm(visit);
  if (form === undefined) return backToHost(visit);
  const userId = form.get("userId") ?? "";
  const operator = deployment.operators.find(tenantId, userId);
  const isRight = operator !== undefined && isPasswordOf(operator, form.get("password") ?? "");
  if (operator !== undefined && (isRight || !deployment.switches.isEnforced("launch.signed-in"))) {
    return backToHost(visit, openSession(deployment, place, request, operator).setCookie);
  }
  const actual = operator === undefined ? "not an operator of the tenant" : "another password";
  record(visit, { rule: "launch.signed-in", expected: "an operator and their password", actual });
  return freshSignInPage(visit, { failed: true, userId });
}

async function signOut(visit: HostVisit): Promise<Response> {
  const { deployment, request, place } = visit;
  const form = await readOwnForm(visit);
  if (form === undefined) return backToHost(visit);
  return backToHost(visit, openSession(deployment, place, request, undefined).setCookie);
}

/** Reads a form of a page that this browser was shown. Any other request is recorded. */
async function readOwnForm(visit: HostVisit): Promise<URLSearchParams | undefined> {
  const form = await readForm(visit.request);
  if (form !== undefined && hasFormToken(visit, form.get("form_token"))) return form;
  record(visit, FOREIGN_REQUEST);
  return undefined;
}

const FOREIGN_REQUEST: Refusal = {
  rule: "launch.form",
  expected: "a request of the host's page",
  actual: "another request",
};

/** The page of another site can have the cookie sent, but does not know the form token. */
function hasFormToken({ deployment, session }: HostVisit, formToken: unknown): boolean {
  return !deployment.switches.isEnforced("launch.form") || isOfSession(session, formToken);
}

async function launch(visit: HostVisit): Promise<Response> {
  const read = await readRequest(visit);
  if ("rule" in read) return refuse(visit, read);
  const { identity } = read;
  const opened = openLaunch(visit.deployment, identity);
  recordLaunch(visit.deployment, identity, opened, "page");
  if ("rule" in opened) return refuse(visit, opened, identity.clientId);
  return answerJson({ url: opened.url, origin: new URL(opened.url).origin }, 201);
}

async function authorize(visit: HostVisit): Promise<Response> {
  const read = await readRequest(visit);
  if ("rule" in read) return refuse(visit, read);
  const { opaque_code: opaqueCode, challenge: codeChallenge } = read.fields;
  const attempt = { ...read.identity, opaqueCode, codeChallenge };
  const answer = authorizeLaunch(visit.deployment, attempt);
  recordAuthCode(visit.deployment, attempt, answer);
  if ("rule" in answer) return refuse(visit, answer, attempt.clientId || undefined);
  if (answer.posts !== undefined) visit.note.fault = "duplicate-auth-code";
  return answerJson(answer, 200);
}

interface ScriptRequest {
  readonly identity: LaunchIdentity;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Reads a request of the page's script. */
async function readRequest(visit: HostVisit): Promise<ScriptRequest | Refusal> {
  const { request, tenantId, operator } = visit;
  const fields = await readJson(request);
  if (fields === undefined || !hasFormToken(visit, request.headers.get("x-form-token")))
    return FOREIGN_REQUEST;
  if (operator === undefined) {
    return {
      rule: "launch.signed-in",
      expected: "an operator who is signed in",
      actual: "a session without one",
    };
  }
  const clientId = typeof fields.clientId === "string" ? fields.clientId : "";
  return { identity: { tenantId, clientId, userId: operator.userId }, fields };
}

function record({ deployment, tenantId }: HostVisit, refusal: Refusal, clientId?: string): void {
  deployment.customerLog.record(deployment.clock(), { tenantId, clientId }, refusal);
}

function refuse(visit: HostVisit, refusal: Refusal, clientId?: string): Response {
  record(visit, refusal, clientId);
  const { answer, says } = rules[refusal.rule];
  return answerJson({ error: answer.error, error_description: says }, answer.status);
}

function answerJson(body: object, status: number): Response {
  return Response.json(body, { status, headers: { "cache-control": "no-store" } });
}

function backToHost({ deployment, tenantId }: HostVisit, setCookie?: string): Response {
  const headers = new Headers({
    location: linkTo(deployment, `/host/${tenantId}`),
    "cache-control": "no-store",
  });
  if (setCookie !== undefined) headers.append("set-cookie", setCookie);
  return new Response(null, { status: 303, headers });
}
