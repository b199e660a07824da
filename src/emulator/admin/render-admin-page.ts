// The frame of the pages at /_emulator: where one can go, the page itself, and what the emulator answers meanwhile.
import { html } from "hono/html";
import { linkTo, renderPage } from "../pages/page.js";
import { activity } from "./activity.js";
import { adminPages } from "./admin-routes.js";
import { ADMIN_PATH, type AdminPage, type AdminView } from "./admin-site.js";
import { outcome } from "./form.js";
import { livePart } from "./shown-parts.js";

export const ADMIN_SCRIPT = "/admin.js";
export const ADMIN_STYLES = "/admin.css";

export async function renderAdminPage(view: AdminView, page: AdminPage, status = 200): Promise<Response> {
  const { deployment, failed } = view;
  const content = await page.body(view);
  // Somebody may have taken the form away meanwhile, with what it was about.
  const isTold = failed === undefined || String(content).includes(` id="${failed.id}-issues"`);
  const base = linkTo(deployment, ADMIN_PATH);
  const link = ({ path, title }: AdminPage) =>
    html`<li><a href="${base}${path}"${path === page.path ? html` aria-current="page"` : ""}>${title}</a></li>`;
  const body = html`<a class="skip" href="#main">To the page</a>
<header class="bar"><div class="row"><p class="brand">Emulator</p>
<p class="live quiet" hidden><span id="live-state">live</span> <button type="button" id="live-pause" aria-pressed="false">Pause</button></p>
<noscript><a href="">Reload</a></noscript></div>
<nav aria-label="Pages"><ul>${adminPages.map(link)}</ul></nav></header>
<main id="main" tabindex="-1"><h1>${page.title}</h1>${isTold ? "" : outcome(view, failed.id)}${content}</main>
${page.isWide ? "" : html`<aside aria-labelledby="activity"><h2 id="activity">Requests</h2>${livePart(view, "activity", activity(view))}</aside>`}`;
  return renderPage(deployment, {
    title: `${page.title} · Emulator`,
    layout: "admin",
    body,
    status,
    script: ADMIN_PATH + ADMIN_SCRIPT,
    stylesheet: ADMIN_PATH + ADMIN_STYLES,
    policy: ["script-src 'self'", "connect-src 'self'", "form-action 'self'"],
    headers: { "cross-origin-resource-policy": "same-origin" },
  });
}
