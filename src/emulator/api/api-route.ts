// A route of the API as the emulator is told about it.
import { z } from "zod";
import { scopeSchema } from "../registrations/scope.js";
import type { Device } from "./device-list.js";

/**
 * An authorised call, as `respond` receives it. Who calls without a token, while the rules that want one are off, has an
 * empty `clientId` and, in Variant B, an empty `tenantId`.
 */
export interface ApiCall {
  readonly variant: "A" | "B";
  readonly tenantId: string;
  readonly clientId: string;
  /** The person for whom the token acts; undefined for a machine's. */
  readonly userId?: string | undefined;
  /** Path parameters, decoded, `tenantId` included in Variant A. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly request: Request;
  /** Those of the tenant, as the option `devices` has them. */
  readonly devices: readonly Device[];
}

/**
 * One operation under one variant's base path; the path decides which variant serves it.
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
  /** "A plugin-enabled route requires one scope" (description, section 5.6). Left out: any token of the variant. */
  readonly scope?: string | undefined;
  /** The path or query parameter that names a device, held against a plugin's device restriction. */
  readonly deviceParameter?: string | undefined;
  /** "Only routes that opt in accept a plugin token" (section 5.5). Default: true. Of no effect in Variant B. */
  readonly takesPluginTokens?: boolean | undefined;
  /** The answer: a `Response`, a JSON value, or undefined for 204. Default: operationId and parameters as JSON. */
  readonly respond?: ((call: ApiCall) => unknown) | undefined;
  /** The description does not show this route; the emulator made it up so that rules can be tried. */
  readonly invented?: boolean | undefined;
}

/** A literal segment or a whole-segment parameter. */
const SEGMENTS = /^(\/([A-Za-z0-9._~-]+|\{[A-Za-z][A-Za-z0-9_]*\}))+$/;
const BASE_PATH = /^(\/api\/v1\/\{tenantId\}|\/v1)\//;

export const apiRouteSchema: z.ZodType<ApiRoute> = z.strictObject({
  operationId: z.string().min(1),
  method: z.enum(["GET", "POST", "PUT", "PATCH", "DELETE"]),
  path: z
    .string()
    .regex(SEGMENTS, "must consist of literal segments and whole-segment {parameters}")
    .regex(BASE_PATH, "must start with /api/v1/{tenantId}/ or /v1/"),
  scope: scopeSchema.optional(),
  deviceParameter: z.string().min(1).optional(),
  takesPluginTokens: z.boolean().optional(),
  respond: z.custom<(call: ApiCall) => unknown>((value) => typeof value === "function").optional(),
  invented: z.boolean().optional(),
});

export function variantOf(route: ApiRoute): "A" | "B" {
  return route.path.startsWith("/api/") ? "A" : "B";
}
