// All routes of one emulator: the described, the declared, and the invented ones that nobody declared anew.
import { EmulatorError } from "../emulator-error.js";
import { TOKEN_PATH_A } from "../variant-a/token-endpoint.js";
import { TOKEN_PATH_B } from "../variant-b/client-token-endpoint.js";
import { loginRoutes } from "../variant-b/login-routes.js";
import { type ApiRoute, variantOf } from "./api-route.js";
import { deviceListRoutes } from "./device-list.js";
import { inventedRoutes } from "./invented-routes.js";

/**
 * In matching order: where two paths fit, the one that is literal first is first.
 *
 * @throws {@link EmulatorError} `route_conflict`: two routes share method and path, or variant and operationId, or
 *   one takes the path of a token endpoint or of a page, or that of the refresh.
 */
export function routeTable(declared: readonly ApiRoute[], refreshPath: string): ApiRoute[] {
  const fixed = [...deviceListRoutes, ...declared];
  const reserved = [TOKEN_PATH_A, TOKEN_PATH_B, refreshPath, ...loginRoutes.map(({ path }) => path)];
  fixed.forEach((route, index) => {
    const isTaken = fixed.slice(0, index).some((earlier) => collide(earlier, route));
    const isReserved = reserved.some((path) => shapeOf(path) === shapeOf(route.path));
    if (!isTaken && !isReserved) return;
    const declaredAt = index - deviceListRoutes.length;
    // A described route is in nobody's way: the refresh was put on its path.
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

/** The path with parameters unnamed, by a character that sorts after every literal one. */
function shapeOf(path: string): string {
  return path.replace(/\{[^}]+\}/g, "\uffff");
}
