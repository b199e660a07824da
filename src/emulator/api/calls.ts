// Answers a call of an API route: the bearer token, the rules of the route, then the route's own
// value.

import { isObject, ownMember, parseJson, parseObject, readBody } from "../http/messages.js";
import type { Arrival } from "../http/operation.js";
import type { KnownIdentity } from "../registrations/fields.js";
import { grantsInForce, type Plugin } from "../registrations/plugins.js";
import { answerTo, type Checks, firstRefusal, type Refusal, unless } from "../rules/checks.js";
import { shown } from "../rules/shown.js";
import type { Authorization, Deployment, IssuedToken } from "../state/deployment.js";
import { devicesOf } from "./devices.js";
import { type ReadCall, readCall } from "./requests.js";
import { type ApiCall, type ApiRoute, type ServedRoute, variantOf } from "./route.js";

export async function answerApiCall(
  route: ServedRoute,
  { deployment, request, note, parameters, encoded }: Arrival,
): Promise<Response> {
  const { switches } = deployment;
  const variant = variantOf(route);
  const pathTenantId = variant === "A" ? parameters.tenantId : undefined;
  const respond = route.respond ?? (() => ({ operationId: route.operationId, parameters }));
  /** Whom the log names; the caller of an anonymous route stays unknown. */
  let logged: KnownIdentity = { tenantId: pathTenantId };
  let caller: Pick<ApiCall, "tenantId" | "clientId" | "userId" | "devices"> = {
    tenantId: pathTenantId ?? "",
    clientId: "",
    devices: [],
  };
  /** The call as its document describes it, if its devices had to be read before the checks. */
  let read: ReadCall | Refusal | undefined;
  if (!route.anonymous) {
    const token = findToken(deployment, variant, request);
    if ("rule" in token) return refuse(deployment, token, logged);
    const { clientId, userId } = token;
    const tenantId = pathTenantId ?? token.tenantId;
    Object.assign(note, { tenantId, clientId });
    const described = route.deviceParameter === undefined ? undefined : await route.describe?.();
    read = described && (await readCall(described, encoded, request, switches));
    const named = await devicesNamed(route.deviceParameter, read, parameters, request);
    const refusal = checkCall(deployment, token, tenantId, route, named);
    // The log of another tenant does not show the client.
    logged = tenantId === token.tenantId ? { tenantId, clientId } : { tenantId };
    if (refusal !== undefined) return refuse(deployment, refusal, logged);
    const devices = devicesOf(deployment.settings.devices, tenantId);
    caller = { tenantId, clientId, userId, devices };
  }
  const call = read ?? (await readCall(await route.describe?.(), encoded, request, switches));
  if ("rule" in call) return refuse(deployment, call, logged);
  const value = await respond({ variant, ...caller, parameters, ...call, request });
  return callAnswer(deployment, value, request);
}

/**
 * Returns the devices that the call names: as its document says or, without one, in the JSON body,
 * in the path or, if the path lacks the parameter, in the query. Undefined means that they cannot
 * be read, so that it may name any device. A call that its document refuses reaches no device.
 */
async function devicesNamed(
  parameter: ApiRoute["deviceParameter"],
  read: ReadCall | Refusal | undefined,
  inPath: Readonly<Record<string, string>>,
  request: Request,
): Promise<string[] | undefined> {
  if (parameter === undefined || (read && "rule" in read)) return [];
  if (typeof parameter === "string") {
    const inQuery = () => new URL(request.url).searchParams.getAll(parameter);
    const places = read && Object.values({ ...read.params });
    return idsIn(places?.map((place) => place[parameter]) ?? inPath[parameter] ?? inQuery());
  }
  if (read?.body !== undefined)
    return isObject(read.body) ? idsIn(read.body[parameter.name]) : undefined;
  // This is a copy, because the route's own answer may read the body too.
  const body = await readBody(request.clone());
  const fields = "text" in body && (body.text === "" ? {} : parseObject(body.text));
  return fields ? idsIn(fields[parameter.name]) : undefined;
}

function idsIn(value: unknown): string[] | undefined {
  const ids = [value ?? []].flat(2).filter((id) => id !== undefined);
  return ids.every((id) => typeof id === "string" || typeof id === "number")
    ? ids.map(String)
    : undefined;
}

/** RFC 6750 section 2.1; the scheme's name is case-insensitive (RFC 9110 section 11.1). */
const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/** Finds the token that a call presents. */
function findToken(
  { accessTokens }: Deployment,
  variant: "A" | "B",
  request: Request,
): IssuedToken | Refusal {
  const authorization = request.headers.get("authorization");
  const value = BEARER.exec(authorization ?? "")?.[1];
  if (value === undefined) {
    const actual =
      authorization === null ? "no Authorization header" : "another Authorization header";
    return { rule: "bearer.present", expected: "Authorization: Bearer <ACCESS_TOKEN>", actual };
  }
  const token = accessTokens.find(value);
  if (token?.variant !== variant) {
    const actual = token === undefined ? "an unknown token" : `a token of Variant ${token.variant}`;
    return { rule: "bearer.known", expected: `a token of Variant ${variant}`, actual };
  }
  return token;
}

interface Call {
  readonly token: IssuedToken;
  /** The login that the token results from; undefined in Variant A and for a machine. */
  readonly login: Authorization | undefined;
  /** The tenant of the path. Variant B's paths have none, so there it is the token's. */
  readonly tenantId: string;
  readonly route: ApiRoute;
  /** The devices that the request names; undefined if they cannot be read. */
  readonly devices: readonly string[] | undefined;
  /**
   * "The registration is re-checked live on each call" (description, section 2.1). It is undefined
   * if not registered.
   */
  readonly plugin: Plugin | undefined;
  /** The grants of the plugin that are in force for the token. */
  readonly grants: readonly Plugin["grant"][];
  /** The current capabilities of the person for whom the token acts; undefined for a machine. */
  readonly capabilities: ReadonlySet<string> | undefined;
  readonly now: number;
}

const bearerChecks: Checks<Call> = {
  "bearer.lifetime"({ token, now }) {
    const lateMs = now - token.expiresAt;
    return unless(lateMs < 0, "a token that has not expired", `it expired ${lateMs / 1000} s ago`);
  },
  "bearer.revoked"({ token: { unregistered }, login }) {
    // A plugin that was unregistered breaks bearer.plugin-enabled instead.
    const former = unregistered === "plugin" ? undefined : unregistered;
    const actual =
      former === undefined ? "its login was revoked" : `its ${former} was unregistered`;
    return unless(former === undefined && !login?.revoked, "a token that was not revoked", actual);
  },
  "bearer.tenant": ({ token, tenantId }) =>
    unless(
      tenantId === token.tenantId,
      `a token of ${shown(tenantId)}`,
      "a token of another tenant",
    ),
};

const scopeChecks: Checks<Call> = {
  "route.scope"({ token: { scopes }, route: { scope } }) {
    if (scope === undefined || scopes === undefined) return undefined;
    return unless(scopes.has(scope), scope, [...scopes].join(" ") || "a token without scopes");
  },
  // "Granted scopes intersected with the capabilities of the operator who launched it" (section 1).
  "route.operator"({ capabilities, route: { scope } }) {
    if (scope === undefined || capabilities === undefined) return undefined;
    return unless(capabilities.has(scope), scope, [...capabilities].join(" ") || "no capabilities");
  },
};

const pluginChecks: Checks<Call> = {
  ...bearerChecks,
  "bearer.plugin-enabled"({ plugin, token: { unregistered } }) {
    if (plugin?.enabled && unregistered !== "plugin") return undefined;
    const registered = plugin?.enabled
      ? "registered anew: a token of its former registration"
      : "disabled";
    return {
      expected: "an enabled plugin",
      actual: plugin === undefined ? "not registered" : registered,
    };
  },
  "route.opt-in": ({ route }) =>
    unless(route.takesPluginTokens !== false, "a token that is not a plugin's", "a plugin token"),
  ...scopeChecks,
  "route.narrowed"({ plugin, route: { scope }, grants }) {
    if (plugin === undefined || scope === undefined) return undefined;
    const isGranted = grants.some(({ scopes }) => scopes.has(scope));
    return unless(
      isGranted,
      `${scope} still granted`,
      [...plugin.grant.scopes].join(" ") || "no scopes",
    );
  },
  "route.device"({ plugin, route: { scope }, devices, grants }) {
    if (plugin === undefined) return undefined;
    const covering = grants.filter(({ scopes }) => scope === undefined || scopes.has(scope));
    // If no grant covers the scope, route.narrowed is off, and the devices of every grant count.
    const isReached = (covering.length > 0 ? covering : grants).some(
      ({ devices: permitted }) =>
        permitted === undefined || devices?.every((device) => permitted.has(device)),
    );
    const permitted = [...(plugin.grant.devices ?? [])].map(shown).join(", ") || "none";
    // A body can name thousands, and each refusal is kept in the log.
    const actual =
      devices?.slice(0, 20).map(shown).join(", ") ?? "what cannot be read as ids of devices";
    return unless(isReached, `devices: ${permitted}`, actual);
  },
};

function checkCall(
  { authorizations, plugins, operators, clock, settings, switches }: Deployment,
  token: IssuedToken,
  tenantId: string,
  route: ApiRoute,
  devices: readonly string[] | undefined,
): Refusal | undefined {
  const { variant, clientId, userId } = token;
  const plugin = variant === "A" ? plugins.find(token.tenantId, clientId) : undefined;
  const now = clock();
  const issuedAt = token.expiresAt - settings.tokenLifetimeSeconds * 1000;
  return firstRefusal(
    switches,
    variant === "A" ? pluginChecks : { ...bearerChecks, ...scopeChecks },
    {
      token,
      tenantId,
      route,
      devices,
      now,
      login: authorizations.find(token.authorizationId),
      plugin,
      grants: plugin === undefined ? [] : grantsInForce(plugin, now, issuedAt),
      capabilities:
        userId === undefined
          ? undefined
          : (operators.find(token.tenantId, userId)?.capabilities ?? new Set()),
    },
  );
}

/**
 * Refuses a bearer with the status and the body from the options, because they are "not shown"
 * (description, section 7.2). With another status than 401 there is always a body, because an empty
 * 403 "has exactly three causes".
 */
function refuse(
  { customerLog, settings }: Deployment,
  refusal: Refusal,
  caller: KnownIdentity,
): Response {
  const { bearerStatus, bearerBody, pluginTokenRefusedStatus = bearerStatus } = settings;
  const isOptIn = refusal.rule === "route.opt-in";
  const isBearer = isOptIn || refusal.rule.startsWith("bearer.");
  const chosen = isOptIn ? pluginTokenRefusedStatus : bearerStatus;
  const { status: ruled, error } = answerTo(refusal);
  const status = isBearer ? chosen : ruled;
  customerLog.record(caller, { ...refusal, answer: { status } });
  const headers = new Headers();
  if (status === 401) {
    // RFC 6750 section 3.1: the answer to a request without authentication information has no error
    // code.
    const isAbsent = refusal.rule === "bearer.present";
    headers.set("www-authenticate", isAbsent ? "Bearer" : 'Bearer error="invalid_token"');
  }
  const bodyOfBearer = bearerBody ?? (status === 401 ? null : { error: "invalid_token" });
  const bodyOfScope = refusal.rule === "route.operator" ? settings.missingCapabilityBody : null;
  const body = isBearer ? bodyOfBearer : error === undefined ? bodyOfScope : { error };
  if (body !== null) return Response.json(body, { status, headers });
  headers.set("content-length", "0");
  return new Response(null, { status, headers });
}

/**
 * "Responses are raw JSON by default. The optional request header X-Envelope selects a wrapped
 * shape" (section 4.3).
 */
async function callAnswer(
  { settings }: Deployment,
  value: unknown,
  request: Request,
): Promise<Response> {
  const member = ownMember(settings.envelope, request.headers.get("x-envelope") ?? "");
  if (value === undefined) return new Response(null, { status: 204 });
  if (!(value instanceof Response))
    return Response.json(member === undefined ? value : { [member]: value });
  // This is a copy, because the headers of a Response from fetch cannot be changed.
  const response = new Response(value.body, value);
  const isJson = /^application\/(.+\+)?json\b/i.test(response.headers.get("content-type") ?? "");
  if (member === undefined || response.body === null || !isJson) return response;
  const text = await response.text();
  const { status, headers } = response;
  headers.delete("content-length");
  const json = parseJson(text);
  return new Response(json === undefined ? text : JSON.stringify({ [member]: json }), {
    status,
    headers,
  });
}
