// Who sends a request, as it says itself, before any handler has looked at it.

import { asGrant, type Grant } from "../grant.js";
import { readBody } from "../http/read-body.js";
import type { Endpoint } from "../journal.js";
import type { Deployment } from "../state.js";

/** What the request claims, registered or not. */
export interface Caller {
  readonly tenantId?: string | undefined;
  readonly clientId?: string | undefined;
  readonly grant?: Grant | undefined;
  /** Whether the client is registered: only then may its id be shown. */
  readonly isKnown: boolean;
}

const NOBODY: Caller = { isKnown: false };
/** RFC 6750 section 2.1. */
const BEARER = /^Bearer +(\S+)$/i;

/** `tenantId` is that of the path, where the path has one. The body can be read again afterwards. */
export async function identifyCaller(
  deployment: Deployment,
  endpoint: Endpoint,
  tenantId: string | undefined,
  request: Request,
): Promise<Caller> {
  if (endpoint === "api") {
    const value = BEARER.exec(request.headers.get("authorization") ?? "")?.[1];
    const token = value === undefined ? undefined : deployment.accessTokens.find(value);
    return { tenantId: tenantId ?? token?.tenantId, clientId: token?.clientId, isKnown: token !== undefined };
  }
  const text = await peekBody(request);
  if (text === undefined) return NOBODY;
  return tenantId === undefined
    ? clientOfB(deployment, readJson(text))
    : pluginOfA(deployment, tenantId, text);
}

function pluginOfA({ plugins }: Deployment, tenantId: string, text: string): Caller {
  const form = new URLSearchParams(text);
  const clientId = form.get("client_id") ?? undefined;
  const isKnown = plugins.find(tenantId, clientId ?? "") !== undefined;
  return { tenantId, clientId, grant: asGrant(form.get("grant_type")), isKnown };
}

/** The path names no tenant: it is that of the account, of what is exchanged, or of the client. */
function clientOfB(
  { serviceAccounts, apiClients, authorizationCodes, refreshTokens, authorizations }: Deployment,
  fields: Readonly<Record<string, unknown>>,
): Caller {
  const text = (name: string) => (typeof fields[name] === "string" ? fields[name] : undefined);
  const [clientId, code, refreshToken] = [text("client_id"), text("code"), text("refresh_token")];
  const client = serviceAccounts.find(clientId ?? "") ?? apiClients.find(clientId ?? "");
  const refreshed = refreshToken === undefined ? undefined : refreshTokens.find(refreshToken);
  const person =
    code === undefined
      ? refreshed && authorizations.find(refreshed.authorizationId)
      : authorizationCodes.find(code);
  const implied = code !== undefined ? "authorization_code" : refreshToken && "refresh_token";
  return {
    tenantId: person?.tenantId ?? client?.tenantId,
    clientId,
    grant: asGrant(fields.grant_type ?? implied),
    isKnown: client !== undefined,
  };
}

async function peekBody(request: Request): Promise<string | undefined> {
  try {
    const body = await readBody(request.clone());
    return "text" in body ? body.text : undefined;
  } catch {
    return undefined;
  }
}

function readJson(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
