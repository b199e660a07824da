// Takes a registration away, and with it for good what was handed out because of it: a later registration of that name
// is another one, to which nothing of the former belongs. Spent jti values and rate windows stay.
import type { Deployment } from "../deployment.js";

export function unregisterPlugin(deployment: Deployment, input: unknown): void {
  const { plugins, accessTokens, launches, launchCodes } = deployment;
  const { tenantId, clientId } = plugins.unregister(input);
  const isTheirs = (of: { readonly tenantId: string; readonly clientId: string }) =>
    of.tenantId === tenantId && of.clientId === clientId;
  accessTokens.end("plugin", (token) => token.variant === "A" && isTheirs(token));
  launches.forget(isTheirs);
  launchCodes.forget(isTheirs);
}

export function unregisterServiceAccount(deployment: Deployment, input: unknown): void {
  const { serviceAccounts, accessTokens } = deployment;
  const { clientId } = serviceAccounts.unregister(input);
  // No tenant: a client_id is unique in Variant B. What an API client of that name had is revoked already.
  accessTokens.end("service account", (token) => token.variant === "B" && token.clientId === clientId);
}

export function unregisterApiClient(deployment: Deployment, input: unknown): void {
  const { apiClients, authorizations, authorizationCodes, pendingLogins } = deployment;
  const { clientId } = apiClients.unregister(input);
  const isTheirs = (of: { readonly clientId: string }) => of.clientId === clientId;
  // The family of each login: its access tokens and its refresh tokens.
  authorizations.revokeAll(isTheirs);
  authorizationCodes.forget(isTheirs);
  pendingLogins.forget(({ request }) => isTheirs(request.client));
}

export function unregisterOperator(deployment: Deployment, input: unknown): void {
  const { operators, accessTokens, launches, launchCodes, authorizations, authorizationCodes } = deployment;
  const { tenantId, userId } = operators.unregister(input);
  const isTheirs = (of: { readonly tenantId: string; readonly userId?: string | undefined }) =>
    of.tenantId === tenantId && of.userId === userId;
  accessTokens.end("operator", isTheirs);
  launches.forget(isTheirs);
  launchCodes.forget(isTheirs);
  authorizations.revokeAll(isTheirs);
  authorizationCodes.forget(isTheirs);
  for (const sessions of [deployment.hostSessions, deployment.loginSessions]) {
    sessions.forget(({ operator }) => operator !== undefined && isTheirs(operator));
  }
}
