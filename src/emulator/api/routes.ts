// The table of all routes: the described ones, those of documents, declared ones and invented ones.
import { issueError } from "../errors.js";
import {
  AUTHORIZATION_PATH,
  CONSENT_PATH,
  LOGIN_PATH,
  TOKEN_PATH_A,
  TOKEN_PATH_B,
} from "../http/paths.js";
import {
  checkResponses,
  documentedRoute,
  documentedRows,
  emulationLoader,
  type RouteSettings,
} from "./documented.js";
import { type ApiRoute, placeOf, type ServedRoute, shapeOf, variantOf } from "./route.js";

/**
 * The two calls of section 4.3. The scope is the emulator's choice. A device restriction does not
 * filter the list, because the request names no device.
 */
const deviceListRoutes: readonly ApiRoute[] = ["/api/v1/{tenantId}/devices", "/v1/devices"].map(
  (path) => ({
    operationId: "listDevices",
    method: "GET",
    path,
    scope: "devices:read",
    respond: ({ devices }) => devices,
  }),
);

/**
 * Only Variant A has these. A declared route with the same method and path or operationId replaces
 * one.
 */
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
 * Returns all routes in matching order: a literal comes before a parameter. The option `routes`
 * replaces the operations of the option `api`, these the device lists and both the invented routes.
 * The paths of token endpoints and pages in an api are the emulator's own.
 *
 * @throws {@link EmulatorError} `option_invalid` for an answer to an unknown operation,
 *   `route_conflict` if two declared routes share method and path, or variant and operationId, or
 *   if one takes the path of a token endpoint, of a page or of the refresh.
 */
export function routeTable(settings: RouteSettings): ServedRoute[] {
  const { routes } = settings;
  const load = emulationLoader(settings.api);
  checkResponses(settings);
  const ofApi = documentedRows(settings)
    .filter(({ reason, path }) => reason === undefined && !isReserved(path, settings))
    .map((row) => documentedRoute(row, settings, load, deviceListRoutes));
  const taken = new Set<string>();
  const namesOf = (route: ServedRoute) => [
    placeOf(route),
    `${variantOf(route)}: ${route.operationId}`,
  ];
  const take = (route: ServedRoute) => {
    const isFree = namesOf(route).every((name) => !taken.has(name));
    if (isFree) for (const name of namesOf(route)) taken.add(name);
    return isFree;
  };
  const documented = new Set(ofApi.flatMap(namesOf));
  const described = deviceListRoutes.filter(
    (route) => !namesOf(route).some((name) => documented.has(name)),
  );
  const declared = [
    ...described.map((route) => ({ route, at: "refreshPath" })),
    ...routes.map((route, index) => ({ route, at: `routes.${index}` })),
  ];
  for (const { route, at } of declared) {
    if (take(route) && !isReserved(route.path, settings)) continue;
    const issue = `${at}: ${route.operationId} (${route.method} ${route.path}) is taken`;
    throw issueError("route_conflict", issue);
  }
  const all = [...described, ...routes, ...[...ofApi, ...inventedRoutes].filter(take)];
  const rank = new Map(all.map((route) => [route, rankOf(route.path)]));
  return all.sort((a, b) => ((rank.get(a) ?? "") < (rank.get(b) ?? "") ? -1 : 1));
}

function isReserved(path: string, { refreshPath }: RouteSettings): boolean {
  const reserved = [
    TOKEN_PATH_A,
    TOKEN_PATH_B,
    refreshPath,
    AUTHORIZATION_PATH,
    LOGIN_PATH,
    CONSENT_PATH,
  ];
  return reserved.some((other) => shapeOf(other) === shapeOf(path));
}

/**
 * Sorts a literal before a parameter, and a parameter that is a part of a segment before a whole
 * one.
 */
function rankOf(path: string): string {
  const segments = shapeOf(path).split("/");
  return segments
    .map((one) => (one === "{}" ? "\uffff\uffff" : one.replaceAll("{}", "\uffff")))
    .join("/");
}

/**
 * The operations that a fault can match: the token endpoints, the host's answer to a launch, and
 * every route.
 */
export function operationsOf(settings: RouteSettings): string[] {
  const table = routeTable(settings);
  return [
    "requestToken",
    "authorizeLaunch",
    ...new Set(table.map(({ operationId }) => operationId)),
  ];
}
