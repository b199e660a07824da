// Answers requests under /_emulator, for its pages and for the files of all pages. They bypass the
// deployment: no journal or log records them, and a reset does not end them.
import { randomBytes } from "node:crypto";
import { html } from "hono/html";
import { EmulatorError } from "../errors.js";
import type { Connection } from "../http/connection.js";
import { readBody } from "../http/messages.js";
import { pathUnder } from "../http/paths.js";
import {
  HOST_SCRIPT_PATH,
  linkTo,
  redirect,
  renderPage,
  STYLESHEET_PATH,
  textFile,
} from "../pages/page.js";
import { adminScript, hostScript } from "../pages/scripts.js";
import { stylesheet } from "../pages/stylesheet.js";
import type { Deployment } from "../state/deployment.js";
import { refuseCall } from "./admin-access.js";
import { faultsPage, overviewPage, rulesPage } from "./control-pages.js";
import { flowPage } from "./flow-page.js";
import { outcome } from "./form.js";
import { logPage } from "./log-page.js";
import { registrationPages } from "./registrations-page.js";
import { ADMIN_PATH, type AdminPage, type AdminView } from "./view.js";

/** Served to every caller, whatever the option `admin` says. */
const sharedFiles = new Map<string, readonly [type: string, text: string]>([
  [STYLESHEET_PATH, ["text/css", stylesheet]],
  [HOST_SCRIPT_PATH, ["text/javascript", hostScript]],
]);

/** The pages in the order of their links. */
const pages = [overviewPage, logPage, flowPage, ...registrationPages, faultsPage, rulesPage];

type Answer = (view: AdminView, request: Request) => Response | Promise<Response>;
const contents = new Map<string, Answer>([
  ["/admin.js", () => file("text/javascript", adminScript)],
]);
const actions = new Map<string, Answer>();
for (const page of pages) {
  contents.set(page.path, (view) => render(view, page));
  for (const [name, part] of Object.entries(page.parts ?? {})) {
    contents.set(`/live/${name}`, async (view) => file("text/html", String(await part(view))));
  }
  for (const [path, act] of Object.entries(page.actions ?? {})) {
    actions.set(path, (view, request) => answerPost(view, page, act, request));
  }
}

/**
 * Returns a function that answers a request, a HEAD like a GET, or resolves with undefined for a
 * request to another path. `current` returns the current deployment, which `reset` replaces;
 * `prefix` is the path of the public URL.
 */
export function createAdmin(
  reset: () => void,
  current: () => Deployment,
  prefix: string,
): (request: Request, connection: Connection) => Promise<Response | undefined> {
  // One token for all pages, so that forms already on a screen survive a moved clock and a reset.
  const formToken = randomBytes(32).toString("base64url");
  const under = pathUnder(prefix);
  return async (request, { remoteAddress }) => {
    // Most requests are not for this page, so check before parsing anything.
    if (!request.url.includes(ADMIN_PATH)) return undefined;
    const deployment = current();
    const { admin: access, variants } = deployment.settings;
    const path = under(request) ?? "";
    const shared =
      variants.length > 0 && request.method === "GET" ? sharedFiles.get(path) : undefined;
    if (shared !== undefined) return textFile(...shared, { "cache-control": "no-cache" });
    const isOurs = path === ADMIN_PATH || path.startsWith(`${ADMIN_PATH}/`);
    if (!isOurs || access === false || variants.length === 0) return undefined;
    const refusal = refuseCall({
      access,
      request,
      remoteAddress,
      publicUrl: deployment.publicUrl(),
    });
    if (refusal !== undefined) return plain(403, refusal);
    const query = new URL(request.url).searchParams;
    const view = { reset, deployment, formToken, query };
    const name = path.slice(ADMIN_PATH.length).replace(/\/$/, "");
    const action = actions.get(name);
    const content = contents.get(name);
    const answers = {
      ...(content && { GET: content, HEAD: content }),
      ...(action && { POST: action }),
    };
    const methods = new Map(Object.entries(answers));
    if (methods.size === 0) return plain(404, "not_found: There is no such page.");
    const chosen = methods.get(request.method);
    const allow = [...methods.keys()].join(", ");
    return chosen?.(view, request) ?? plain(405, "method_not_allowed", { allow });
  };
}

async function answerPost(
  view: AdminView,
  page: AdminPage,
  act: (view: AdminView, fields: URLSearchParams) => void,
  request: Request,
): Promise<Response> {
  const body = await readBody(request);
  if (!("text" in body))
    return plain(400, "form_unreadable: The form is too large or was cut off.");
  const fields = new URLSearchParams(body.text);
  if (fields.get("form_token") !== view.formToken)
    return plain(403, "form_token_invalid: Reload the page: the emulator was restarted.");
  const id = fields.get("form") ?? "";
  try {
    act(view, fields);
  } catch (error) {
    if (!(error instanceof EmulatorError)) throw error;
    const issues = error.issues.length === 0 ? [error.message] : error.issues;
    return render({ ...view, failed: { id, issues, typed: fields } }, page, 400);
  }
  view.query.set("saved", id);
  const target =
    `${linkTo(view.deployment, ADMIN_PATH + page.path)}?${view.query}#` +
    `${encodeURIComponent(id)}`;
  return redirect(target);
}

/** Renders a page in the frame that all pages share, with the links. */
function render(view: AdminView, page: AdminPage, status = 200): Promise<Response> {
  const { deployment } = view;
  const link = ({ path, title }: AdminPage) =>
    html`<li><a href="${linkTo(deployment, ADMIN_PATH + path)}"${path === page.path ? html` aria-current="page"` : ""}>${title}</a></li>`;
  const body = html`<a class="skip" href="#main">Skip to the page</a>
<header class="bar"><div class="row"><p class="brand">Emulator</p>
<p class="live quiet" hidden><span id="live-state">live</span> <button type="button" id="live-pause" aria-pressed="false">Pause</button></p>
<noscript><a href="">Reload</a></noscript></div>
<nav aria-label="Pages"><ul>${pages.map(link)}</ul></nav></header>
<main id="main" tabindex="-1"><h1>${page.title}</h1>${outcome(view)}${page.body(view)}</main>`;
  return renderPage(deployment, {
    title: `${page.title} · Emulator`,
    layout: "admin",
    body,
    status,
    script: `${ADMIN_PATH}/admin.js`,
    policy: ["script-src 'self'", "connect-src 'self'", "form-action 'self'"],
    headers: { "cross-origin-resource-policy": "same-origin" },
  });
}

function file(type: string, text: string): Response {
  return textFile(type, text, { "cross-origin-resource-policy": "same-origin" });
}

function plain(
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return textFile("text/plain", `${text}\n`, headers, status);
}
