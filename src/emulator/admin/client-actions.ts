// The forms of service accounts and API clients: each changes one thing and leaves the rest as it is.
import type { ApiClientUpdate } from "../registrations/api-client-registration.js";
import type { ServiceAccountUpdate } from "../registrations/service-account-registration.js";
import type { AdminAction } from "./admin-site.js";
import { clientsPage } from "./clients-page.js";
import { readLimitedScopes } from "./scopes-field.js";

export const accountAction: AdminAction = {
  path: "/clients/account",
  page: clientsPage,
  act(site, fields) {
    const clientId = fields.get("clientId") ?? "";
    site.deployment().serviceAccounts.update({ clientId, ...accountChange(fields) });
  },
};

export const clientAction: AdminAction = {
  path: "/clients/client",
  page: clientsPage,
  act(site, fields) {
    const clientId = fields.get("clientId") ?? "";
    site.deployment().apiClients.update({ clientId, ...clientChange(fields) });
  },
};

function accountChange(fields: URLSearchParams): Omit<ServiceAccountUpdate, "clientId"> {
  const clientSecret = fields.get("clientSecret");
  return clientSecret === null ? { scopes: readLimitedScopes(fields) } : { clientSecret };
}

function clientChange(fields: URLSearchParams): Omit<ApiClientUpdate, "clientId"> {
  const clientSecret = fields.get("clientSecret");
  if (fields.get("do") === "public") return { clientSecret: null };
  if (clientSecret !== null) return { clientSecret };
  if (fields.get("do") === "scopes") return { scopes: readLimitedScopes(fields) };
  const read = (name: string) => (fields.get(name) ?? "").trim();
  const lines = read("redirectUris").split(/\r?\n/);
  return {
    name: read("name"),
    tenantId: read("tenantId") || null,
    redirectUris: lines.map((line) => line.trim()).filter((line) => line !== ""),
  };
}
