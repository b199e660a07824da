/** The server half of an app for people: one handler for the routes, and the way from a request to a Service. */
import type { OperationTypes } from "../../generated/operations.js";
import type { LookupTypes } from "../client/outcome.js";
import { createService, type Service } from "../create-service.js";
import { ConfigurationError } from "../errors.js";
import type { Backend, SessionInfo } from "./backend.js";
import { type BackendOptions, parseOptions } from "./backend-options.js";
import { Context } from "./context.js";
import { errorAnswer, isWorthTelling, Refusal } from "./error-answer.js";
import { answerLaunch } from "./launch-route.js";
import { answerCallback, answerLogin, errorPage, wantsPage } from "./login-routes.js";
import { crossOriginHeaders, isAllowedOrigin, requireAllowedOrigin } from "./request-checks.js";
import { answerLogout, answerMe, answerSession } from "./session-routes.js";
import { csrfHeader, stateKeyOf } from "./sessions.js";

interface Route {
  readonly method: "GET" | "POST";
  /** Whether a browser navigates there, so that a person sees its errors. */
  readonly isPage?: true;
  readonly answer: (request: Request, context: Context) => Promise<Response>;
}

const routes: ReadonlyMap<string, Route> = new Map<string, Route>([
  ["launch", { method: "POST", answer: answerLaunch }],
  ["login", { method: "GET", isPage: true, answer: answerLogin }],
  ["callback", { method: "GET", isPage: true, answer: answerCallback }],
  ["session", { method: "POST", answer: answerSession }],
  ["me", { method: "GET", answer: answerMe }],
  ["logout", { method: "POST", answer: answerLogout }],
]);

/**
 * Makes the backend of a plugin (Variant A) or of an app that people log in to (Variant B), or of both at once. The
 * page's half is `startSession` of bivariant/page. The service's tokens stay here, in the store; the browser gets a
 * session of the backend's own.
 *
 * The routes, under `path`; everything else is yours: call `connect` in it.
 *
 * | route | takes | gives |
 * |---|---|---|
 * | `POST launch` | `{ code, codeVerifier, tenantId, hostOrigin }` | the session of a launch |
 * | `GET login` | `?tenant=`, `?return_to=`, both optional | 302 to the authorization endpoint, and a cookie |
 * | `GET callback` | `?code=`, `?state=` or `?error=`, and that cookie | 303 to `return_to`, with `#login_error=` if it failed |
 * | `POST session` | `{ login?, tenant? }`, and the cookie of a login or of a session | that session; 401 without one |
 * | `GET me` | the session | `{ variant, tenantId, operator?, roles?, expiresAt }` |
 * | `POST logout` | `{}`, and the session | 204; the service's tokens are forgotten too |
 *
 * `login` is the mark `bivariant_login` of the address that the page's login came back to, `tenant` whose session it must
 * be: neither is needed where a browser logs in once at a time.
 *
 * A session is `{ session, variant, tenantId, operator?, expiresAt }`, and goes along as `Authorization: Bearer` and
 * `session`. With sessions in cookies it is `{ csrf, ... }`: the cookie goes along by itself, and with all but GET the
 * header `X-Bivariant-Csrf`. A POST has the type `application/json`, and the `Origin` of the backend itself or one of
 * `origins`. An error is `{ error, message, reason? }`, `error` being a stable code.
 *
 * @throws ConfigurationError
 * @see the description, sections 4.1 and 5.3 to 5.9
 * @example
 * const backend = createBackend({
 *   deployments: [{ tenantId: "acme", baseUrl, hostOrigin, launch: userInterfacePlugin({ clientId, privateKey }) }],
 * });
 * app.all("/auth/*", (context) => backend(context.req.raw));
 * app.get("/devices", async (context) => {
 *   try {
 *     const service = await backend.connect(context.req.raw);
 *     return Response.json(unwrap(await service.call("listDevices")));
 *   } catch (error) {
 *     return backend.answer(error);
 *   }
 * });
 */
export function createBackend<T extends LookupTypes = OperationTypes>(
  options: BackendOptions<T>,
): Backend<T> {
  if (typeof options !== "object" || options === null)
    throw new ConfigurationError("option_invalid", "The options are missing.", { option: "options" });
  const settings = parseOptions(options);
  const context = new Context(settings);
  const { api, validate, fetch, now, timeoutMs, onEvent } = options;

  const answer = (error: unknown, route: string, asPage = false): Response => {
    const told = errorAnswer(error, settings.now());
    const { status, code, message, reason, headers } = told;
    if (isWorthTelling(error)) context.told(error, { status, code, route });
    if (asPage) return errorPage(told);
    return Response.json(
      { error: code, message, ...(reason && { reason }) },
      { status, ...(headers && { headers }) },
    );
  };

  const handle = async (request: Request): Promise<Response> => {
    try {
      requireRequest(request);
      const name = routeName(new URL(request.url).pathname, settings.path);
      const route = routes.get(name);
      const response = await dispatch(request, route).catch((error: unknown) =>
        answer(error, route === undefined ? "none" : name, route?.isPage && wantsPage(request)),
      );
      return withHeaders(response, crossOriginHeaders(request, settings));
    } catch (error) {
      return withHeaders(answer(error, "none"), {});
    }
  };

  const dispatch = async (request: Request, route: Route | undefined): Promise<Response> => {
    if (route === undefined) throw new Refusal("route_unknown");
    if (request.method === "OPTIONS") return preflight(request, route);
    if (request.method !== route.method)
      throw new Refusal("method_not_allowed", { headers: { allow: route.method } });
    if (route.method === "POST") requireAllowedOrigin(request, settings);
    return route.answer(request, context);
  };

  const preflight = (request: Request, { method }: Route): Response => {
    const origin = request.headers.get("origin");
    if (origin === null || !isAllowedOrigin(origin, request, settings))
      throw new Refusal("method_not_allowed", { headers: { allow: method } });
    const headers = {
      "access-control-allow-methods": method,
      "access-control-allow-headers": `authorization, content-type, ${csrfHeader}`,
      "access-control-max-age": "600",
    };
    return new Response(null, { status: 204, headers });
  };

  return Object.assign(handle, {
    async connect(request: Request): Promise<Service<T>> {
      requireRequest(request);
      return createService(await context.authOf(request), {
        api,
        validate,
        fetch,
        now,
        timeoutMs,
        onEvent,
      }) as Service<T>;
    },
    async session(request: Request): Promise<SessionInfo> {
      requireRequest(request);
      const { session } = await context.personOf(request);
      const { variant, tenantId, baseUrl, operator, roles, expiresAt } = session;
      return {
        ...{ variant, tenantId, baseUrl, expiresAt, stateKey: stateKeyOf(session) },
        ...(operator !== undefined && { operator }),
        ...(roles !== undefined && { roles }),
      };
    },
    answer(error: unknown): Response {
      context.endBehind(error);
      return withHeaders(answer(error, "answer"), {});
    },
  });
}

/** Of any realm. @throws ConfigurationError `option_invalid` */
function requireRequest(request: unknown): void {
  const { url, headers } = (request ?? {}) as Partial<Request>;
  if (typeof url === "string" && URL.canParse(url) && typeof headers?.get === "function") return;
  throw new ConfigurationError(
    "option_invalid",
    "The backend was given something that is no Request. For node:http and Express, give them toNodeHandler(backend); elsewhere give on the framework's web request, such as context.req.raw.",
    { option: "request" },
  );
}

/** The name of a route; below `callback` there may be more, so that each deployment can have a redirect URI of its own. */
function routeName(pathname: string, path: string): string {
  if (!pathname.startsWith(`${path}/`)) return "";
  const rest = pathname.slice(path.length + 1);
  return rest.startsWith("callback/") ? "callback" : rest;
}

function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  response.headers.set("cache-control", "no-store");
  response.headers.set("x-content-type-options", "nosniff");
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;
}
