// API routes: how they are declared, the described and the invented ones, and the table of all.
import { z } from "zod";
import type { OperationEntry } from "../../../generated/operations.js";
import { mostAlike } from "../../option-names.js";
import { EmulatorError, isJson } from "../errors.js";
import { AUTHORIZATION_PATH, CONSENT_PATH, LOGIN_PATH, TOKEN_PATH_A, TOKEN_PATH_B } from "../paths.js";
import { scopeSchema, tenantIdSchema } from "../registrations/fields.js";
import { canBeRouted } from "../router.js";
import { type Answers, documentedAnswer } from "./answers.js";
import type { CallParams, Described, DocumentedRequests } from "./requests.js";
import { Schemas } from "./schemas.js";

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
   * The parameters by their place. Of an operation of the option `api`: those of the document, in its types. Of any other
   * route: of path, query and cookies, as texts, and as a list of texts where a name was sent several times.
   */
  readonly params: CallParams;
  /**
   * The body by its media type: JSON, the members of a form or of a multipart body with its files as `File`, text, or a
   * `Blob`. Undefined without a body, and where it cannot be read as its media type says.
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
 * { operationId: "restartDevice", method: "POST", path: "/api/v1/{tenantId}/devices/{deviceId}/restart",
 *   scope: "devices:execute", deviceParameter: "deviceId" }
 */
export interface ApiRoute {
  readonly operationId: string;
  readonly method: "GET" | "HEAD" | "OPTIONS" | "POST" | "PUT" | "PATCH" | "DELETE";
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
    method: z.enum(["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]),
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

/** By operationId. Each returns a `Response`, a JSON value for the first documented success, or undefined for no body. */
export type Responses = Readonly<Record<string, (call: ApiCall) => unknown>>;

export const responsesSchema: z.ZodType<Responses> = z.record(
  z.string(),
  z.custom<(call: ApiCall) => unknown>((value) => typeof value === "function", "must be a function"),
);

/** The module operations.ts that `bivariant generate` wrote from documents of your own. */
export interface EmulatedApi {
  readonly operations: { readonly A: object; readonly B: object };
  /** Loads the answers. Without it every operation answers its operationId and parameters. */
  readonly emulation?: (() => Promise<object>) | undefined;
  /** Why an operation has no sample among the answers, by operationId. Absent if each has one. */
  readonly notSampled?: Readonly<Record<"A" | "B", Readonly<Record<string, string>>>> | undefined;
}

const documentedTable = z.record(z.string(), z.looseObject({ method: z.string(), path: z.string() }));
const reasonTable = z.record(z.string(), z.string());
export const apiSchema: z.ZodType<EmulatedApi> = z.object(
  {
    operations: z.object({ A: documentedTable, B: documentedTable }),
    emulation: z.custom<() => Promise<object>>((value) => typeof value === "function").optional(),
    notSampled: z.object({ A: reasonTable, B: reasonTable }).optional(),
  },
  "must be the module operations.ts that `bivariant generate` writes",
);

/** The Fetch standard forbids TRACE, so no client could send it. */
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]);

interface RouteSettings {
  readonly variants: readonly ("A" | "B")[];
  readonly routes: readonly ApiRoute[];
  readonly refreshPath: string;
  readonly api: EmulatedApi;
  readonly respond: Responses;
  readonly devices?: Devices | undefined;
}

/** An operation of the option `api` that the emulator leaves out, or for whose answer it has no sample. */
export interface NotServed {
  readonly variant: "A" | "B";
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly reason: string;
}

type DocumentedRow = OperationEntry & Pick<NotServed, "variant" | "operationId">;

function documentedRows({ variants, api }: RouteSettings): DocumentedRow[] {
  return variants.flatMap((variant) => {
    const table: Record<string, OperationEntry> = { ...api.operations[variant] };
    return Object.entries(table).map(([operationId, entry]) => ({ ...entry, variant, operationId }));
  });
}

/** The operations of the option `api` that no request can reach. */
export function operationsNotServed(settings: RouteSettings): readonly NotServed[] {
  const taken = new Map<string, string>();
  return documentedRows(settings).flatMap(({ variant, operationId, method, path }) => {
    const reason = reasonNotToServe(method, path, taken.get(placeOf({ method, path })));
    taken.set(placeOf({ method, path }), operationId);
    return reason === undefined ? [] : [{ variant, operationId, method, path, reason }];
  });
}

/** The operations of the option `api` whose documented answer the emulator cannot make. */
export function operationsNotSampled(settings: RouteSettings): readonly NotServed[] {
  return documentedRows(settings).flatMap(({ variant, operationId, method, path }) => {
    const reason = new Map(Object.entries(settings.api.notSampled?.[variant] ?? {})).get(operationId);
    return reason === undefined ? [] : [{ variant, operationId, method, path, reason }];
  });
}

function reasonNotToServe(method: string, path: string, same: string | undefined): string | undefined {
  if (!METHODS.has(method)) return "fetch does not send this method";
  if (!canBeRouted(path))
    return "its path holds a query, a fragment, or two parameters without a character between them";
  return same === undefined ? undefined : `no request could tell it from ${same}`;
}

function documentedRoute(
  { success, ...row }: DocumentedRow,
  { devices: given, respond: responses }: RouteSettings,
  load: () => Promise<Emulation>,
): ServedRoute {
  const { variant, operationId } = row;
  const [status = 200, ...statuses] = success;
  const route = row as ServedRoute;
  const list = deviceListRoutes.find((described) => placeOf(described) === placeOf(route));
  const own = Object.hasOwn(responses, operationId) ? responses[operationId] : undefined;
  return {
    ...route,
    scope: route.scope ?? list?.scope,
    describe: async () => {
      const { requests = {}, schemas = {} } = await load();
      const documented = requests[variant]?.operations;
      if (documented === undefined) return undefined;
      const request = Object.hasOwn(documented, operationId) ? documented[operationId] : undefined;
      return { request: request ?? {}, schemas: schemas[variant] ?? new Schemas() };
    },
    async respond(call) {
      const { parameters, devices, request } = call;
      const accept = request.headers.get("accept");
      if (own !== undefined) {
        const value = await own(call);
        if (value instanceof Response) return value;
        const isEmpty = value === undefined;
        const empty = statuses.includes(204) || success.length === 0 ? 204 : status;
        const contentType = "application/json";
        return documentedAnswer(
          isEmpty ? { status: empty } : { status, contentType, body: value },
          value,
          accept,
        );
      }
      const { emulation = {} } = await load();
      const answer = emulation[variant]?.[operationId] ?? { status, contentType: "application/json" };
      if (list === undefined) return documentedAnswer(answer, { operationId, parameters }, accept);
      const { body: _, ...shape } = answer;
      return documentedAnswer(given === undefined ? answer : shape, devices, accept);
    },
  };
}

/** The module emulation.ts, with the schemas of each document ready for use. */
interface Emulation {
  readonly emulation?: Answers;
  readonly requests?: { readonly [V in "A" | "B"]?: DocumentedRequests };
  readonly schemas?: { readonly [V in "A" | "B"]?: Schemas };
}

/** Loads the module at the first call. */
function emulationLoader({ emulation }: EmulatedApi): () => Promise<Emulation> {
  let loaded: Promise<Emulation> | undefined;
  const load = async (): Promise<Emulation> => {
    const module: Emulation = (await emulation?.()) ?? {};
    const schemas = {
      A: new Schemas(module.requests?.A?.schemas),
      B: new Schemas(module.requests?.B?.schemas),
    };
    return { ...module, schemas };
  };
  return () => {
    loaded ??= load();
    return loaded;
  };
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

export const defaultDevices: readonly Device[] = [
  { id: "device-1", name: "North gate" },
  { id: "device-2", name: "South gate" },
  { id: "device-3", name: "Loading bay" },
];

export function devicesOf(devices: Devices | undefined, tenantId: string): readonly Device[] {
  if (devices === undefined || Array.isArray(devices)) return devices ?? defaultDevices;
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
 * Returns all routes in matching order: a literal comes before a parameter. The option `routes` replaces the operations
 * of the option `api`, these the device lists and both the invented routes. The paths of token endpoints and pages in an
 * api are the emulator's own.
 *
 * @throws {@link EmulatorError} `option_invalid` for an answer to an unknown operation, `route_conflict` if two declared routes share method and path, or variant and
 *   operationId, or if one takes the path of a token endpoint, of a page or of the refresh.
 */
export function routeTable(settings: RouteSettings): ServedRoute[] {
  const { routes } = settings;
  const load = emulationLoader(settings.api);
  checkResponses(settings);
  const left = new Set(
    operationsNotServed(settings).map(({ variant, operationId }) => `${variant} ${operationId}`),
  );
  const ofApi = documentedRows(settings)
    .filter(({ variant, operationId }) => !left.has(`${variant} ${operationId}`))
    .filter(({ path }) => !isReserved(path, settings))
    .map((row) => documentedRoute(row, settings, load));
  const taken = new Set<string>();
  const namesOf = (route: ServedRoute) => [placeOf(route), `${variantOf(route)}: ${route.operationId}`];
  const take = (route: ServedRoute) => {
    const isFree = namesOf(route).every((name) => !taken.has(name));
    if (isFree) for (const name of namesOf(route)) taken.add(name);
    return isFree;
  };
  const documented = new Set(ofApi.flatMap(namesOf));
  const described = deviceListRoutes.filter((route) => !namesOf(route).some((name) => documented.has(name)));
  const declared = [
    ...described.map((route) => ({ route, at: "refreshPath" })),
    ...routes.map((route, index) => ({ route, at: `routes.${index}` })),
  ];
  for (const { route, at } of declared) {
    if (take(route) && !isReserved(route.path, settings)) continue;
    const issue = `${at}: ${route.operationId} (${route.method} ${route.path}) is taken`;
    throw new EmulatorError("route_conflict", issue, { issues: [issue] });
  }
  const all = [...described, ...routes, ...[...ofApi, ...inventedRoutes].filter(take)];
  const rank = new Map(all.map((route) => [route, rankOf(route.path)]));
  return all.sort((a, b) => ((rank.get(a) ?? "") < (rank.get(b) ?? "") ? -1 : 1));
}

/** A misspelt name would leave the documented answer in place. */
function checkResponses({ api: { operations }, respond }: RouteSettings): void {
  const known = [...Object.keys(operations.A), ...Object.keys(operations.B)];
  const unknown = Object.keys(respond).find((id) => !known.includes(id));
  if (unknown === undefined) return;
  const meant = mostAlike(unknown, known);
  const issue = `respond.${unknown}: no operation of \`api\` has this operationId${meant ? `; use ${meant}` : ""}`;
  throw new EmulatorError("option_invalid", issue, { issues: [issue] });
}

function isReserved(path: string, { refreshPath }: RouteSettings): boolean {
  const reserved = [TOKEN_PATH_A, TOKEN_PATH_B, refreshPath, AUTHORIZATION_PATH, LOGIN_PATH, CONSENT_PATH];
  return reserved.some((other) => shapeOf(other) === shapeOf(path));
}

/** The same for two operations that no request can tell apart. */
function placeOf({ method, path }: { readonly method: string; readonly path: string }): string {
  return `${method} ${shapeOf(path)}`;
}

function shapeOf(path: string): string {
  return path.replace(/\{[^{}]+\}/g, "{}");
}

/** Sorts a literal before a parameter, and a parameter that is a part of a segment before a whole one. */
function rankOf(path: string): string {
  const segments = shapeOf(path).split("/");
  return segments.map((one) => (one === "{}" ? "\uffff\uffff" : one.replaceAll("{}", "\uffff"))).join("/");
}

/** The operations that a fault can match: the token endpoints, the host's answer to a launch, and every route. */
export function operationsOf(settings: RouteSettings): string[] {
  const table = routeTable(settings);
  return ["requestToken", "authorizeLaunch", ...new Set(table.map(({ operationId }) => operationId))];
}
