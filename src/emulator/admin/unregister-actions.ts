// The forms that take a registration away, each on the page of its kind.
import type { Deployment } from "../deployment.js";
import {
  unregisterApiClient,
  unregisterOperator,
  unregisterPlugin,
  unregisterServiceAccount,
} from "../registrations/unregister.js";
import type { AdminAction, AdminPage } from "./admin-site.js";
import { clientsPage } from "./clients-page.js";
import { operatorsPage } from "./operators-page.js";
import { pluginsPage } from "./plugins-page.js";

export const unregisterActions: readonly AdminAction[] = [
  action("/plugins/unregister", pluginsPage, unregisterPlugin),
  action("/operators/unregister", operatorsPage, unregisterOperator),
  action("/clients/unregister-account", clientsPage, unregisterServiceAccount),
  action("/clients/unregister-client", clientsPage, unregisterApiClient),
];

function action(
  path: string,
  page: AdminPage,
  unregister: (deployment: Deployment, identity: unknown) => void,
): AdminAction {
  // The identity is what the form's hidden fields name; the rest of them does not matter.
  return { path, page, act: (site, fields) => unregister(site.deployment(), Object.fromEntries(fields)) };
}
