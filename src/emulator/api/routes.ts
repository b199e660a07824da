// API routes: how they are declared, the described and the invented ones, and the table of all.
import { z } from "zod";
import { EmulatorError, isJson } from "../errors.js";
import { AUTHORIZATION_PATH, CONSENT_PATH, LOGIN_PATH, TOKEN_PATH_A, TOKEN_PATH_B } from "../paths.js";
import { scopeSchema, tenantIdSchema } from "../registrations/fields.js";

/** An authorised call, as `respond` receives it. */
export interface ApiCall {
  readonly variant: "A" | "B";
  readonly tenantId: string;
  readonly clientId: string;
  /** The person for whom the token acts; undefined if it acts for a machine. */
  readonly userId?: string | undefined;
  /** The decoded path parameters; in Variant A they include `tenantId`. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly request: Request;
  /** The devices of the tenant, from the option `devices`. */
  readonly devices: readonly Device[];
}

/**
 * One operation. Its path begins with the base path of the variant that serves it.
 *
 * @example
 * { operationId: "restartDevice", method: "POST", path: "/api/v1/{tenantId}/devices/{deviceId}/restart",
 *   scope: "devices:execute", deviceParameter: "deviceId" }
 */
export interface ApiRoute {
  readonly operationId: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Starts with `/api/v1/{tenantId}/` (Variant A) or `/v1/` (Variant B); a parameter is a whole segment. */
  readonly path: string;
  /**
   * "A plugin-enabled route requires one scope" (description, section 5.6). Only a route of Variant B and one
   * that takes no plugin tokens can do without it.
   */
  readonly scope?: string | undefined;
  /**
   * The path or query parameter that names a device, or the member of a JSON body with one id or a list of
   * ids. A plugin's device restriction must permit each of them; from a restricted plugin, a body that is not
   * a JSON object, holds other values there or exceeds 64 KiB is refused.
   * @example { in: "body", name: "deviceIds" }
   */
  readonly deviceParameter?: string | { readonly in: "body"; readonly name: string } | undefined;
  /** "Only routes that opt in accept a plugin token" (section 5.5). Default: true. It has no effect in Variant B. */
  readonly takesPluginTokens?: boolean | undefined;
  /** The answer: a `Response`, a JSON value, or undefined for 204. Default: operationId and parameters as JSON. */
  readonly respond?: ((call: ApiCall) => unknown) | undefined;
  /** The description does not show this route; the emulator made it up so that rules can be tried. */
  readonly invented?: boolean | undefined;
}

/** A literal segment or a whole-segment parameter. */
const SEGMENTS = /^(\/([A-Za-z0-9._~-]+|\{[A-Za-z][A-Za-z0-9_]*\}))+$/;
const BASE_PATH = /^(\/api\/v1\/\{tenantId\}|\/v1)\//;

const deviceParameter = z.union(
  [z.string().min(1), z.strictObject({ in: z.literal("body"), name: z.string().min(1) })],
  'must be the name of a path or query parameter, or { in: "body", name }',
);

/** "A plugin-enabled route requires one scope" (description, section 5.6). */
function hasNeededScope(route: ApiRoute): boolean {
  return route.scope !== undefined || route.takesPluginTokens === false || variantOf(route) === "B";
}

function scopeProblem({ input }: { readonly input?: unknown }): string {
  const { operationId, method, path } = input as ApiRoute;
  const problem = `${operationId} (${method} ${path}) takes plugin tokens, so it needs a scope (section 5.6)`;
  return `${problem}. Add scope, for example "devices:read", or takesPluginTokens: false.`;
}

export const apiRouteSchema: z.ZodType<ApiRoute> = z
  .strictObject({
    operationId: z.string().min(1),
    method: z.enum(["GET", "POST", "PUT", "PATCH", "DELETE"]),
    path: z
      .string()
      .regex(SEGMENTS, "must consist of literal segments and whole-segment {parameters}")
      .regex(BASE_PATH, "must start with /api/v1/{tenantId}/ or /v1/"),
    scope: scopeSchema.optional(),
    deviceParameter: deviceParameter.optional(),
    takesPluginTokens: z.boolean().optional(),
    respond: z.custom<(call: ApiCall) => unknown>((value) => typeof value === "function").optional(),
    invented: z.boolean().optional(),
  })
  .refine(hasNeededScope, { path: ["scope"], error: scopeProblem });

export function variantOf(route: ApiRoute): "A" | "B" {
  return route.path.startsWith("/api/") ? "A" : "B";
}

/** "JSON; body shape not shown" (description, section 4.3): members besides the id are answered as given. */
export interface Device {
  readonly id: string;
  readonly [member: string]: unknown;
}

/** One list for every tenant, or one list for each; a tenant that is not named has no devices. */
export type Devices = readonly Device[] | { readonly [tenantId: string]: readonly Device[] };

const device = z.looseObject({ id: z.string().min(1) }).refine((value) => isJson(value), "must be JSON");
export const devicesSchema: z.ZodType<Devices> = z.union(
  [z.array(device), z.record(tenantIdSchema, z.array(device))],
  "must be a list of objects with an id, or such a list by tenant",
);

export function devicesOf(devices: Devices, tenantId: string): readonly Device[] {
  if (Array.isArray(devices)) return devices;
  const byTenant = new Map<string, readonly Device[]>(Object.entries(devices));
  return byTenant.get(tenantId) ?? [];
}

/**
 * The two calls of section 4.3. The scope is the emulator's choice. A device restriction does not filter the list,
 * because the request names no device.
 */
const deviceListRoutes: readonly ApiRoute[] = ["/api/v1/{tenantId}/devices", "/v1/devices"].map((path) => ({
  operationId: "listDevices",
  method: "GET",
  path,
  scope: "devices:read",
  respond: ({ devices }) => devices,
}));

/** Only Variant A has these. A declared route with the same method and path or operationId replaces one. */
const inventedRoutes: readonly ApiRoute[] = [
  {
    operationId: "inventedGetDevice",
    method: "GET",
    path: "/api/v1/{tenantId}/devices/{deviceId}",
    scope: "devices:read",
    deviceParameter: "deviceId",
    invented: true,
    respond({ parameters, devices }) {
      const device = devices.find(({ id }) => id === parameters.deviceId);
      return device ?? Response.json({ error: "not_found" }, { status: 404 });
    },
  },
  {
    operationId: "inventedExecuteSchedule",
    method: "POST",
    path: "/api/v1/{tenantId}/schedules/{scheduleId}/executions",
    scope: "schedules:execute",
    invented: true,
  },
  {
    operationId: "inventedReadTenantSettings",
    method: "GET",
    path: "/api/v1/{tenantId}/tenant-settings",
    takesPluginTokens: false,
    invented: true,
  },
];

/**
 * Returns all routes in matching order: a literal segment comes before a parameter.
 *
 * @throws {@link EmulatorError} `route_conflict` if two routes share method and path, or variant and operationId, or
 *   if one takes the path of a token endpoint, of a page or of the refresh.
 */
export function routeTable(declared: readonly ApiRoute[], refreshPath: string): ApiRoute[] {
  const fixed = [...deviceListRoutes, ...declared];
  const reserved = [TOKEN_PATH_A, TOKEN_PATH_B, refreshPath, AUTHORIZATION_PATH, LOGIN_PATH, CONSENT_PATH];
  fixed.forEach((route, index) => {
    const isTaken = fixed.slice(0, index).some((earlier) => collide(earlier, route));
    const isReserved = reserved.some((path) => shapeOf(path) === shapeOf(route.path));
    if (!isTaken && !isReserved) return;
    const declaredAt = index - deviceListRoutes.length;
    // A described route can only collide with the option refreshPath.
    const at = declaredAt < 0 ? "refreshPath" : `routes.${declaredAt}`;
    const issue = `${at}: ${route.operationId} (${route.method} ${route.path}) is taken`;
    throw new EmulatorError("route_conflict", issue, { issues: [issue] });
  });
  const invented = inventedRoutes.filter((route) => !fixed.some((other) => collide(other, route)));
  return [...fixed, ...invented].sort((a, b) => (shapeOf(a.path) < shapeOf(b.path) ? -1 : 1));
}

function collide(a: ApiRoute, b: ApiRoute): boolean {
  const samePlace = a.method === b.method && shapeOf(a.path) === shapeOf(b.path);
  return samePlace || (variantOf(a) === variantOf(b) && a.operationId === b.operationId);
}

/** Replaces each parameter by a character that sorts after every character of a literal segment. */
function shapeOf(path: string): string {
  return path.replace(/\{[^}]+\}/g, "\uffff");
}

/** The operations that a fault can match: the token endpoints, the host's answer to a launch, and every route. */
export function operationsOf(options: { routes: readonly ApiRoute[]; refreshPath: string }): string[] {
  const table = routeTable(options.routes, options.refreshPath);
  return ["requestToken", "authorizeLaunch", ...new Set(table.map(({ operationId }) => operationId))];
}
