// One route of the API: what declares it, and what its answer receives.
import { z } from "zod";
import { scopeSchema } from "../registrations/fields.js";
import type { Device } from "./devices.js";
import type { CallParams, Described } from "./requests.js";

/** An authorised call, as `respond` receives it. */
export interface ApiCall {
  readonly variant: "A" | "B";
  readonly tenantId: string;
  readonly clientId: string;
  /** The person for whom the token acts; undefined if it acts for a machine. */
  readonly userId?: string | undefined;
  /** The decoded path parameters; in Variant A they include `tenantId`. */
  readonly parameters: Readonly<Record<string, string>>;
  /**
   * The parameters by their place. Of an operation of the option `api`: those of the document, in
   * its types. Of any other route: of path, query and cookies, as texts, and as a list of texts
   * where a name was sent several times.
   */
  readonly params: CallParams;
  /**
   * The body by its media type: JSON, the members of a form or of a multipart body with its files
   * as `File`, text, or a `Blob`. Undefined without a body, and where it cannot be read as its
   * media type says.
   */
  readonly body: unknown;
  /** Its body is still unread. */
  readonly request: Request;
  /** The devices of the tenant, from the option `devices`. */
  readonly devices: readonly Device[];
}

/**
 * One operation. Its path begins with the base path of the variant that serves it.
 *
 * @example
 * const restart: ApiRoute = {
 *   operationId: "restartDevice",
 *   method: "POST",
 *   path: "/api/v1/{tenantId}/devices/{deviceId}/restart",
 *   scope: "devices:execute",
 *   deviceParameter: "deviceId",
 * };
 */
export interface ApiRoute {
  readonly operationId: string;
  readonly method: "GET" | "HEAD" | "OPTIONS" | "POST" | "PUT" | "PATCH" | "DELETE";
  /**
   * Starts with `/api/v1/{tenantId}/` (Variant A) or `/v1/` (Variant B); a parameter is a whole
   * segment.
   */
  readonly path: string;
  /**
   * "A plugin-enabled route requires one scope" (description, section 5.6). Only a route of Variant
   * B and one that takes no plugin tokens can do without it.
   */
  readonly scope?: string | undefined;
  /**
   * The path or query parameter that names a device, or the member of a JSON body with one id or a
   * list of ids. A plugin's device restriction must permit each of them; from a restricted plugin,
   * a body that is not a JSON object, holds other values there or exceeds 64 KiB is refused.
   */
  readonly deviceParameter?: string | { readonly in: "body"; readonly name: string } | undefined;
  /**
   * "Only routes that opt in accept a plugin token" (section 5.5). Default: true. It has no effect
   * in Variant B.
   */
  readonly takesPluginTokens?: boolean | undefined;
  /**
   * The answer: a `Response`, a JSON value, or undefined for 204. Default: operationId and
   * parameters as JSON.
   */
  readonly respond?: ((call: ApiCall) => unknown) | undefined;
  /**
   * The description does not show this route; the emulator made it up so that rules can be tried.
   */
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
  const problem =
    `${operationId} (${method} ${path}) takes plugin tokens, so it needs a scope ` +
    "(section 5.6)";
  return `${problem}. Add scope, for example "devices:read", or takesPluginTokens: false.`;
}

export const apiRouteSchema: z.ZodType<ApiRoute> = z
  .strictObject({
    operationId: z.string().min(1),
    method: z.enum(["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]),
    path: z
      .string()
      .regex(SEGMENTS, "must consist of literal segments and whole-segment {parameters}")
      .regex(BASE_PATH, "must start with /api/v1/{tenantId}/ or /v1/"),
    scope: scopeSchema.optional(),
    deviceParameter: deviceParameter.optional(),
    takesPluginTokens: z.boolean().optional(),
    respond: z
      .custom<(call: ApiCall) => unknown>((value) => typeof value === "function")
      .optional(),
    invented: z.boolean().optional(),
  })
  .refine(hasNeededScope, { path: ["scope"], error: scopeProblem });

/** A route with what only the documents of a consumer can say. */
export interface ServedRoute extends ApiRoute {
  /** Default: by the path. */
  readonly variant?: "A" | "B";
  /** Served without a bearer. */
  readonly anonymous?: true | undefined;
  /** Loads what the document says about requests; absent for a route of no document. */
  readonly describe?: () => Promise<Described | undefined>;
}

export function variantOf(route: ServedRoute): "A" | "B" {
  return route.variant ?? (route.path.startsWith("/api/") ? "A" : "B");
}

/** Returns the same text for two operations that no request can tell apart. */
export function placeOf({
  method,
  path,
}: {
  readonly method: string;
  readonly path: string;
}): string {
  return `${method} ${shapeOf(path)}`;
}

export function shapeOf(path: string): string {
  return path.replace(/\{[^{}]+\}/g, "{}");
}
