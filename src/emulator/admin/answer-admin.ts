// Answers what is asked of /_emulator: beside the deployment, so that no journal or log shows it and no reset ends it.
import { randomBytes } from "node:crypto";
import { defaultOptions } from "../default-options.js";
import { EmulatorError } from "../emulator-error.js";
import type { Connection } from "../http/connection.js";
import { pathUnder } from "../http/path-under.js";
import { HOST_SCRIPT_PATH, linkTo, STYLESHEET_PATH } from "../pages/page.js";
import { type AdminRefusal, refuseCall } from "./admin-access.js";
import { adminActions, adminFiles, adminPages } from "./admin-routes.js";
import { ADMIN_PATH, type AdminAction, type AdminSite, type AdminView } from "./admin-site.js";
import { readAdminForm } from "./read-admin-form.js";
import { renderAdminPage } from "./render-admin-page.js";

/** Undefined: not for it. */
export type AnswerAdmin = (request: Request, connection: Connection) => Promise<Response | undefined>;

/** Served to every page of the emulator, whoever may use this one. */
const SHARED = [STYLESHEET_PATH, HOST_SCRIPT_PATH];

export function createAdmin(site: AdminSite, prefix: string): AnswerAdmin {
  // One for all pages: no clock that somebody moves, and no reset, makes a form useless that is already on a screen.
  const formToken = randomBytes(32).toString("base64url");
  const under = pathUnder(prefix);
  const answer: AnswerAdmin = async (request, { remoteAddress }) => {
    // Before anything is parsed: most requests are not for it.
    if (!request.url.includes(ADMIN_PATH)) return undefined;
    const { admin: access = defaultOptions.admin, variants } = site.settings();
    const { searchParams: query } = new URL(request.url);
    const path = under(request) ?? "";
    const isOurs = path === ADMIN_PATH || (path.startsWith(`${ADMIN_PATH}/`) && !SHARED.includes(path));
    if (!isOurs || access === false || variants?.length === 0) return undefined;
    const deployment = site.deployment();
    const name = path.slice(ADMIN_PATH.length).replace(/\/$/, "");
    const action = adminActions.find((candidate) => candidate.path === name);
    const publicUrl = deployment.publicUrl();
    const mediaType =
      action?.upload === undefined ? "application/x-www-form-urlencoded" : "multipart/form-data";
    const refusal = refuseCall({ access, request, remoteAddress, publicUrl, mediaType });
    if (refusal !== undefined) return refuse(refusal);
    const view = { site, deployment, formToken, query };
    if (action !== undefined && request.method === "POST") return answerPost(view, action, request);
    const page = adminPages.find((candidate) => candidate.path === name);
    const file = adminFiles[name];
    const allow = [...((page ?? file) ? ["GET", "HEAD"] : []), ...(action ? ["POST"] : [])];
    if (allow.length === 0) return plain(404, "not_found: There is no such page.");
    if (!allow.includes(request.method)) return plain(405, "method_not_allowed", { allow: allow.join(", ") });
    return page === undefined ? file?.(view) : renderAdminPage(view, page);
  };
  return async (request, connection) => {
    const response = await answer(request, connection);
    return response !== undefined && request.method === "HEAD" ? new Response(null, response) : response;
  };
}

async function answerPost(view: AdminView, action: AdminAction, request: Request): Promise<Response> {
  const { site, deployment, formToken } = view;
  const fields = await readAdminForm(request, action.upload);
  if (fields === undefined) return plain(400, "form_unreadable: The form is too large or broke off.");
  if (fields.get("form_token") !== formToken) {
    return refuse({ code: "form_token_invalid", text: "Load the page anew; the emulator was restarted." });
  }
  const id = fields.get("form") ?? "";
  const query = new URLSearchParams((action.keep ?? []).map((name) => [name, fields.get(name) ?? ""]));
  try {
    action.act(site, fields);
  } catch (error) {
    if (!(error instanceof EmulatorError)) throw error;
    const issues = error.issues.length === 0 ? [error.message] : error.issues;
    return renderAdminPage({ ...view, query, failed: { id, issues, typed: fields } }, action.page, 400);
  }
  query.set("saved", id);
  const anchor = encodeURIComponent(action.anchor?.(fields) ?? id);
  const location = `${linkTo(deployment, ADMIN_PATH + action.page.path)}?${query}#${anchor}`;
  return new Response(null, { status: 303, headers: { location, "cache-control": "no-store" } });
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
