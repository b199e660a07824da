// Answers requests to /_emulator. They bypass the deployment: no journal or log records them, and a reset does not end them.
import { randomBytes } from "node:crypto";
import { html } from "hono/html";
import { EmulatorError } from "../errors.js";
import type { Connection } from "../http/connection.js";
import { readBody } from "../http/messages.js";
import { HOST_SCRIPT_PATH, linkTo, type Markup, renderPage, STYLESHEET_PATH } from "../pages/page.js";
import { stylesheet } from "../pages/stylesheet.js";
import { pathUnder } from "../paths.js";
import { type AdminRefusal, refuseCall } from "./admin-access.js";
import { adminScript } from "./admin-script.js";
import { adminStyles } from "./admin-styles.js";
import { armAction, armedFaults, disarmAction, faultsPage } from "./faults-page.js";
import { flowPage, lastFlow } from "./flow-page.js";
import { outcome } from "./form.js";
import { customerLog, journal, logPage, recentRequests } from "./log-page.js";
import { clockAction, currentTime, overviewPage, resetAction } from "./overview-page.js";
import { registrationActions, registrationPages } from "./registrations-page.js";
import { ruleAction, rulesPage } from "./rules-page.js";
import {
  ADMIN_PATH,
  type AdminAction,
  type AdminPage,
  type AdminSite,
  type AdminView,
  livePart,
} from "./view.js";

/** Resolves with undefined for a request to another path. */
export type AnswerAdmin = (request: Request, connection: Connection) => Promise<Response | undefined>;

/** In the order of the links. */
const pages = [overviewPage, logPage, flowPage, ...registrationPages, faultsPage, rulesPage];
const actions = [clockAction, resetAction, ...registrationActions, armAction, disarmAction, ruleAction];
type Serve = (view: AdminView) => Response | Promise<Response>;
const files: Readonly<Record<string, Serve | undefined>> = {
  "/admin.js": () => file("text/javascript", adminScript),
  "/admin.css": () => file("text/css", stylesheet + adminStyles),
  "/live/clock": live(currentTime),
  "/live/activity": live(recentRequests),
  "/live/log": live(customerLog),
  "/live/journal": live(journal),
  "/live/flow": live(lastFlow),
  "/live/faults": live(armedFaults),
};
/** Files for all pages of the emulator, which the deployment serves whatever the option `admin` says. */
const SHARED = [STYLESHEET_PATH, HOST_SCRIPT_PATH];

/** `prefix` is the path of the public URL. */
export function createAdmin(site: AdminSite, prefix: string): AnswerAdmin {
  // One token for all pages: forms that are on a screen survive a moved clock and a reset.
  const formToken = randomBytes(32).toString("base64url");
  const under = pathUnder(prefix);
  const answer: AnswerAdmin = async (request, { remoteAddress }) => {
    // Most requests are not for this page, so check before parsing anything.
    if (!request.url.includes(ADMIN_PATH)) return undefined;
    const deployment = site.deployment();
    const { admin: access, variants } = deployment.settings;
    const path = under(request) ?? "";
    const isOurs = path === ADMIN_PATH || (path.startsWith(`${ADMIN_PATH}/`) && !SHARED.includes(path));
    if (!isOurs || access === false || variants.length === 0) return undefined;
    const refusal = refuseCall({ access, request, remoteAddress, publicUrl: deployment.publicUrl() });
    if (refusal !== undefined) return refuse(refusal);
    const view = { emulator: site.emulator, deployment, formToken, query: new URL(request.url).searchParams };
    const name = path.slice(ADMIN_PATH.length).replace(/\/$/, "");
    const action = actions.find((candidate) => candidate.path === name);
    if (action !== undefined && request.method === "POST") return answerPost(view, site, action, request);
    const page = pages.find((candidate) => candidate.path === name);
    const served = page ? (of: AdminView) => render(of, page) : files[name];
    const allow = [...(served ? ["GET", "HEAD"] : []), ...(action ? ["POST"] : [])];
    if (allow.length === 0) return plain(404, "not_found: There is no such page.");
    if (!allow.includes(request.method)) return plain(405, "method_not_allowed", { allow: allow.join(", ") });
    return served?.(view);
  };
  return async (request, connection) => {
    const response = await answer(request, connection);
    return response !== undefined && request.method === "HEAD" ? new Response(null, response) : response;
  };
}

async function answerPost(
  view: AdminView,
  site: AdminSite,
  action: AdminAction,
  request: Request,
): Promise<Response> {
  const body = await readBody(request);
  if (!("text" in body)) return plain(400, "form_unreadable: The form is too large or was cut off.");
  const fields = new URLSearchParams(body.text);
  if (fields.get("form_token") !== view.formToken) {
    return refuse({ code: "form_token_invalid", text: "Reload the page: the emulator was restarted." });
  }
  const id = fields.get("form") ?? "";
  const query = new URLSearchParams((action.keep ?? []).map((name) => [name, fields.get(name) ?? ""]));
  try {
    action.act(site, fields);
  } catch (error) {
    if (!(error instanceof EmulatorError)) throw error;
    const issues = error.issues.length === 0 ? [error.message] : error.issues;
    return render({ ...view, query, failed: { id, issues, typed: fields } }, action.page, 400);
  }
  query.set("saved", id);
  const anchor = encodeURIComponent(action.anchor?.(fields) ?? id);
  const location = `${linkTo(view.deployment, ADMIN_PATH + action.page.path)}?${query}#${anchor}`;
  return new Response(null, { status: 303, headers: { location, "cache-control": "no-store" } });
}

/** The frame of every page: the links, the page itself, and the newest requests. */
async function render(view: AdminView, page: AdminPage, status = 200): Promise<Response> {
  const { deployment, failed } = view;
  const content = await page.body(view);
  // The form is missing if its record was unregistered in the meantime.
  const isFormShown = failed === undefined || String(content).includes(` id="${failed.id}-issues"`);
  const base = linkTo(deployment, ADMIN_PATH);
  const link = ({ path, title }: AdminPage) =>
    html`<li><a href="${base}${path}"${path === page.path ? html` aria-current="page"` : ""}>${title}</a></li>`;
  const body = html`<a class="skip" href="#main">Skip to the page</a>
<header class="bar"><div class="row"><p class="brand">Emulator</p>
<p class="live quiet" hidden><span id="live-state">live</span> <button type="button" id="live-pause" aria-pressed="false">Pause</button></p>
<noscript><a href="">Reload</a></noscript></div>
<nav aria-label="Pages"><ul>${pages.map(link)}</ul></nav></header>
<main id="main" tabindex="-1"><h1>${page.title}</h1>${isFormShown ? "" : outcome(view, failed.id)}${content}</main>
${page.isWide ? "" : html`<aside aria-labelledby="activity"><h2 id="activity">Requests</h2>${livePart(view, "activity", recentRequests(view))}</aside>`}`;
  return renderPage(deployment, {
    title: `${page.title} · Emulator`,
    layout: "admin",
    body,
    status,
    script: `${ADMIN_PATH}/admin.js`,
    stylesheet: `${ADMIN_PATH}/admin.css`,
    policy: ["script-src 'self'", "connect-src 'self'", "form-action 'self'"],
    headers: { "cross-origin-resource-policy": "same-origin" },
  });
}

/** Serves a part of a page, which the script puts in place of the present one. */
function live(part: (view: AdminView) => Markup): (view: AdminView) => Promise<Response> {
  return async (view) => file("text/html", String(await part(view)));
}

function file(type: string, text: string): Response {
  const headers = { "content-type": `${type}; charset=utf-8`, "cache-control": "no-store" };
  const guards = { "x-content-type-options": "nosniff", "cross-origin-resource-policy": "same-origin" };
  return new Response(text, { headers: { ...headers, ...guards } });
}

function refuse({ code, text }: AdminRefusal): Response {
  return plain(403, `${code}: ${text}`);
}

function plain(status: number, text: string, headers: Readonly<Record<string, string>> = {}): Response {
  const common = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };
  return new Response(`${text}\n`, {
    status,
    headers: { ...common, "x-content-type-options": "nosniff", ...headers },
  });
}
