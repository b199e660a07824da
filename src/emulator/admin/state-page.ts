// The whole state: back to the seed, written down, put back.
import { html } from "hono/html";
import type { Markup } from "../pages/page.js";
import type { AdminAction, AdminPage, AdminView } from "./admin-site.js";
import { confirmation } from "./confirmation.js";
import { outcomePlace } from "./form.js";

export const statePage: AdminPage = { path: "/state", title: "State", body };

export const resetAction: AdminAction = {
  path: "/reset",
  page: statePage,
  act: (site) => site.reset(),
};

function body(view: AdminView): Markup {
  return html`<section class="panel"><h2>Reset</h2>
<p>Back to the seed at once: registrations, tokens, codes, sessions, clock, rules, faults, logs.</p>
${outcomePlace(view, "was-reset")}${confirmation(view, {
  id: "reset",
  action: "/reset",
  place: "was-reset",
  ask: "Reset to the seed…",
  says: "Everything that was registered, issued or recorded since is gone then.",
  button: "Yes, reset everything",
})}</section>`;
}
