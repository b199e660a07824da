// Variant A's host application (description, section 5.3): sign-in, the page with the sidebar, and
// its script's requests.
import { html } from "hono/html";
import { parseObject } from "../http/messages.js";
import type { Arrival, Operation } from "../http/operation.js";
import {
  type BrowserSession,
  isOwnToken,
  openSession,
  readOwnForm,
  type SessionPlace,
  type Visit,
  visitAt,
} from "../pages/browser-session.js";
import {
  HOST_SCRIPT_PATH,
  linkTo,
  passwordField,
  postForm,
  readText,
  redirect,
  renderPage,
} from "../pages/page.js";
import { tenantIdSchema } from "../registrations/fields.js";
import { displayName, isPasswordOf, type Operator } from "../registrations/operators.js";
import type { Plugin } from "../registrations/plugins.js";
import type { Refusal } from "../rules/checks.js";
import { emulatorRules } from "../rules.js";
import type { Deployment } from "../state/deployment.js";
import { authorizeLaunch, openLaunch } from "./launch.js";
import type { LaunchIdentity } from "./launch-codes.js";

/**
 * `failed` is the user id of a refused sign-in. The browser keeps its session, for forms in other
 * tabs.
 */
function signInPage(visit: HostVisit, failed?: string): Promise<Response> {
  const { deployment, tenantId, place } = visit;
  const session = visit.session ?? openSession(visit);
  const operators = deployment.operators.list(tenantId);
  const isRetry = failed !== undefined;
  const option = (operator: Operator) =>
    html`<option value="${operator.userId}"${operator.userId === failed ? html` selected` : ""}>${displayName(operator)}</option>`;
  const hasPasswords = operators.some(({ passwordDigest }) => passwordDigest !== undefined);
  const fields = html`<div class="field">
<label for="userId">Operator</label>
<select id="userId" name="userId" autocomplete="username" required${isRetry ? "" : html` autofocus`}>${operators.map(option)}</select>
</div>
${hasPasswords ? passwordField(isRetry) : ""}
<button class="primary">Sign in</button>`;
  const form = postForm(
    deployment,
    `${place.path}/sign-in`,
    { form_token: session.formToken },
    fields,
  );
  const body = html`<main>
<div><h1>Host application</h1><p class="quiet">Tenant <code>${tenantId}</code> of the emulator</p></div>
${isRetry ? html`<p class="alarm" role="alert" id="failed">The password is wrong.</p>` : ""}
${operators.length === 0 ? html`<p>No operator is registered in this tenant.</p>` : form}
</main>`;
  return renderPage(deployment, {
    title: "Sign in to the host application",
    layout: "card",
    body,
    status: isRetry ? 403 : 200,
    session,
    policy: ["form-action 'self'"],
  });
}

function hostPage(
  deployment: Deployment,
  session: BrowserSession,
  operator: Operator,
): Promise<Response> {
  const { tenantId } = operator;
  const path = `/host/${tenantId}`;
  const plugins = deployment.plugins
    .list(tenantId)
    .filter(({ enabled, type }) => enabled && type === "user_interface");
  const entry = ({ clientId, name, pageUrl }: Plugin) =>
    html`<li><button type="button" data-client-id="${clientId}" data-name="${name}"${pageUrl === undefined ? html` disabled title="It is registered without a page"` : ""}>${name}</button></li>`;
  const list =
    plugins.length === 0
      ? html`<p class="quiet">No user-interface plugin is registered and enabled.</p>`
      : html`<ul class="plugins">${plugins.map(entry)}</ul>`;
  const body = html`<header class="sidebar" data-base="${linkTo(deployment, path)}" data-form-token="${session.formToken}">
<div><h1>${tenantId}</h1><p class="quiet">${displayName(operator)}</p></div>
<nav aria-label="Plugins"><h2>Plugins</h2>${list}</nav>
${postForm(deployment, `${path}/sign-out`, { form_token: session.formToken }, html`<button>Sign out</button>`)}
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
    // Frames of any site, because a plugin's page may redirect its iframe and browsers check each
    // redirect.
    policy: [
      "script-src 'self'",
      "connect-src 'self'",
      "frame-src http: https:",
      "form-action 'self'",
    ],
    // The plugin's page may identify the host by its referrer.
    headers: { "referrer-policy": "strict-origin-when-cross-origin" },
  });
}

export const hostRoutes: readonly Operation[] = [
  hostRoute("showHost", "GET", "", showHost),
  hostRoute("signInAtHost", "POST", "/sign-in", signIn),
  hostRoute("signOutOfHost", "POST", "/sign-out", signOut),
  hostRoute("launchPlugin", "POST", "/launches", launch),
  hostRoute("authorizeLaunch", "POST", "/authorizations", authorize),
];

interface HostVisit extends Visit {
  readonly tenantId: string;
  readonly operator: Operator | undefined;
}

function hostRoute(
  operation: string,
  method: "GET" | "POST",
  path: string,
  answer: (visit: HostVisit) => Promise<Response>,
): Operation {
  const handler = async (arrival: Arrival) => {
    const { deployment, parameters } = arrival;
    const { tenantId = "" } = parameters;
    if (!tenantIdSchema.safeParse(tenantId).success) return answerJson({ error: "not_found" }, 404);
    const place: SessionPlace = {
      sessions: "hostSessions",
      cookie: "emulator-host",
      path: `/host/${tenantId}`,
      rule: "launch.form",
    };
    const visit = visitAt(place, arrival);
    const signedIn = visit.session?.operator;
    const operator =
      signedIn?.tenantId === tenantId
        ? deployment.operators.find(tenantId, signedIn.userId)
        : undefined;
    return answer({ ...visit, tenantId, operator });
  };
  const whole = `/host/{tenantId}${path}`;
  return { endpoint: "page", variant: "A", operation, method, path: whole, handler };
}

async function showHost(visit: HostVisit): Promise<Response> {
  const { deployment, session, operator } = visit;
  if (session === undefined || operator === undefined) return signInPage(visit);
  return hostPage(deployment, session, operator);
}

async function signIn(visit: HostVisit): Promise<Response> {
  const { deployment, tenantId } = visit;
  const form = await readOwnForm(visit);
  if (form === undefined) return backToHost(visit);
  const userId = form.get("userId") ?? "";
  const operator = deployment.operators.find(tenantId, userId);
  const isRight = operator !== undefined && isPasswordOf(operator, form.get("password") ?? "");
  if (operator !== undefined && (isRight || !deployment.switches.isEnforced("launch.signed-in"))) {
    return backToHost(visit, openSession(visit, operator));
  }
  const actual = operator === undefined ? "not an operator of the tenant" : "another password";
  const expected = "an operator and their password";
  deployment.customerLog.record({ tenantId }, { rule: "launch.signed-in", expected, actual });
  return signInPage(visit, userId);
}

async function signOut(visit: HostVisit): Promise<Response> {
  const form = await readOwnForm(visit);
  return backToHost(visit, form && openSession(visit));
}

/** Redirects to the host's page, with a new session unless the request comes from elsewhere. */
function backToHost(visit: HostVisit, session?: BrowserSession): Response {
  const { deployment, tenantId, place } = visit;
  if (session === undefined) deployment.customerLog.record({ tenantId }, FOREIGN_REQUEST);
  return redirect(linkTo(deployment, place.path), session?.setCookie);
}

const FOREIGN_REQUEST: Refusal = {
  rule: "launch.form",
  expected: "a request of the host's page",
  actual: "another request",
};

async function launch(visit: HostVisit): Promise<Response> {
  const read = await readRequest(visit);
  const opened = "rule" in read ? read : openLaunch(visit.deployment, read.identity);
  if ("rule" in opened) return answerRefusal(opened);
  return answerJson({ url: opened.url, origin: new URL(opened.url).origin }, 201);
}

async function authorize(visit: HostVisit): Promise<Response> {
  const read = await readRequest(visit);
  if ("rule" in read) return answerRefusal(read);
  const { opaque_code: opaqueCode, challenge: codeChallenge } = read.fields;
  const answer = authorizeLaunch(visit.deployment, { ...read.identity, opaqueCode, codeChallenge });
  if ("rule" in answer) return answerRefusal(answer);
  if (answer.posts !== undefined) visit.note.fault = "duplicate-auth-code";
  return answerJson(answer, 200);
}

async function readRequest(
  visit: HostVisit,
): Promise<{ identity: LaunchIdentity; fields: Readonly<Record<string, unknown>> } | Refusal> {
  const { deployment, request, tenantId, operator } = visit;
  const { customerLog } = deployment;
  const fields = parseObject((await readText(request, "application/json")) ?? "");
  const isOwn = isOwnToken(visit, request.headers.get("x-form-token"));
  if (fields === undefined || !isOwn) return customerLog.record({ tenantId }, FOREIGN_REQUEST);
  if (operator === undefined) {
    const finding = { expected: "an operator who is signed in", actual: "a session without one" };
    return customerLog.record({ tenantId }, { rule: "launch.signed-in", ...finding });
  }
  const clientId = typeof fields.clientId === "string" ? fields.clientId : "";
  return { identity: { tenantId, clientId, userId: operator.userId }, fields };
}

function answerRefusal({ rule }: Refusal): Response {
  const { answer, says } = emulatorRules[rule];
  return answerJson({ error: answer.error, error_description: says }, answer.status);
}

function answerJson(body: object, status: number): Response {
  return Response.json(body, { status, headers: { "cache-control": "no-store" } });
}
