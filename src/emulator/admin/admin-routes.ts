// Everything that is served under /_emulator but the shared assets.
import type { Markup } from "../pages/page.js";
import { stylesheet } from "../pages/stylesheet.js";
import { activity } from "./activity.js";
import { adminScript } from "./admin-script.js";
import type { AdminAction, AdminPage, AdminView } from "./admin-site.js";
import { adminStyles } from "./admin-styles.js";
import { accountAction, clientAction } from "./client-actions.js";
import { clientsPage } from "./clients-page.js";
import { clockAction } from "./clock-action.js";
import { armAction, armed, disarmAction, faultsPage } from "./faults-page.js";
import { flowPage, lastFlow } from "./flow-page.js";
import { customerLog, journal, logPage } from "./log-page.js";
import { operatorAction, operatorsPage } from "./operators-page.js";
import { clockNow, overviewPage } from "./overview-page.js";
import { pluginAction } from "./plugin-action.js";
import { pluginsPage } from "./plugins-page.js";
import { ruleAction, rulesPage } from "./rules-page.js";
import { resetAction, statePage } from "./state-page.js";
import { unregisterActions } from "./unregister-actions.js";

/** In the order in which they are linked. */
export const adminPages: readonly AdminPage[] = [
  overviewPage,
  logPage,
  flowPage,
  pluginsPage,
  clientsPage,
  operatorsPage,
  faultsPage,
  rulesPage,
  statePage,
];

export const adminActions: readonly AdminAction[] = [
  clockAction,
  pluginAction,
  operatorAction,
  accountAction,
  clientAction,
  ...unregisterActions,
  armAction,
  disarmAction,
  ruleAction,
  resetAction,
];

/** By path. */
export const adminFiles: Readonly<Record<string, (view: AdminView) => Response | Promise<Response>>> = {
  "/admin.js": () => asset("text/javascript", adminScript),
  // With the shared one in it: what this page loads is in no journal.
  "/admin.css": () => asset("text/css", stylesheet + adminStyles),
  "/live/clock": live(clockNow),
  "/live/activity": live(activity),
  "/live/log": live(customerLog),
  "/live/journal": live(journal),
  "/live/flow": live(lastFlow),
  "/live/faults": live(armed),
};

/** What the script puts in the place of a part of a page. */
function live(part: (view: AdminView) => Markup): (view: AdminView) => Promise<Response> {
  return async (view) => asset("text/html", String(await part(view)));
}

function asset(type: string, text: string): Response {
  return new Response(text, {
    headers: {
      "content-type": `${type}; charset=utf-8`,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "cross-origin-resource-policy": "same-origin",
    },
  });
}
