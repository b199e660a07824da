/** The server half of an app for people: one handler for its routes, and typed calls as the person behind a request. */
import type { OperationTypes } from "../../generated/operations.js";
import type { Operator } from "../auth/auth.js";
import { resolveAuthOptions } from "../auth/auth-options.js";
import type { LookupTypes } from "../client/outcome.js";
import { ConfigurationError, type Variant } from "../errors.js";
import { requireObject } from "../options.js";
import { type Service, serviceMaker } from "../service.js";
import { type BackendOptions, parseOptions } from "./backend-options.js";
import { errorAnswer, errorPage, isWorthReporting, Refusal, wantsPage } from "./error-answer.js";
import { answerLaunch } from "./launch-route.js";
import { answerCallback, answerLogin } from "./login-routes.js";
import { PendingLogins } from "./pending-logins.js";
import { PersonAuths, type SessionSubject } from "./person-auths.js";
import { crossOriginHeaders, isAllowedOrigin, requireAllowedOrigin } from "./request-checks.js";
import { answerLogout, answerMe, answerSession, type Context, csrfHeader, Sessions } from "./sessions.js";

/** The person behind a session. */
export interface SessionInfo {
  readonly variant: Variant;
  readonly tenantId: string;
  readonly baseUrl: string;
  /** Known in Variant A (section 2.3 of the description), if the answer named a `userId`. */
  readonly operator?: Operator;
  readonly roles?: readonly { readonly name: string; readonly group?: string }[];
  /** The session's fixed end, in epoch milliseconds. */
  readonly expiresAt: number;
  /**
   * The key for state of this person: the same in every session of one operator of one tenant, and different for
   * everyone else. Where the operator is not known, it is the session's own.
   */
  readonly stateKey: string;
}

export interface Backend<T extends LookupTypes = OperationTypes> {
  /** Answers the routes under `path`, and everything else with a 404. Never rejects. */
  (request: Request): Promise<Response>;
  /**
   * Typed calls as the person whose session the request carries. All requests of one session share its tokens.
   *
   * @throws SessionError `session_missing`, `session_unknown`, `session_expired`; with cookies also `origin_refused`, `csrf_refused`
   * @throws RelaunchRequiredError, LoginRequiredError when the person's tokens are gone
   * @throws StoreError
   */
  connect(request: Request): Promise<Service<T>>;
  /**
   * The person whose session the request carries, without a call to the service.
   *
   * @throws as `connect` does
   */
  session(request: Request): Promise<SessionInfo>;
  /**
   * The answer for an error of `connect`, of `session` or of a call, and for the `error` of an outcome: JSON with a
   * stable code that the page understands.
   *
   * A 401 of the service becomes a 502 `api_unauthorized`, because a route that accepts no such token may answer 401 too.
   * If the token is older than 30 s and only the person can replace it, the answer is a 401 `relaunch_required` or
   * `login_required`: the page then asks the person, and this session is over.
   */
  answer(error: unknown): Response;
}

interface Route {
  readonly method: "GET" | "POST";
  /** Whether a browser navigates to the route, so that a person sees its errors. */
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
 * Makes the backend of a plugin (Variant A), of an app that people log in to (Variant B), or of both at once. The page
 * uses `startSession` of bivariant/page. The service's tokens stay in the store; the browser receives a session of the
 * backend's own.
 *
 * These are the routes under `path`. All other routes are yours: call `connect` in them.
 *
 * | route | request | answer |
 * |---|---|---|
 * | `POST launch` | `{ code, codeVerifier, tenantId, hostOrigin }` | the session of a launch |
 * | `GET login` | `?tenant=`, `?return_to=`, both optional | 302 to the authorization endpoint, with a cookie |
 * | `GET callback` | `?code=`, `?state=` or `?error=`, and that cookie | 303 to `return_to`, with `#login_error=` if it failed |
 * | `POST session` | `{ login?, tenant? }`, and the cookie of a login or of a session | that session; 401 without one |
 * | `GET me` | the session | `{ variant, tenantId, operator?, roles?, expiresAt }` |
 * | `POST logout` | `{}`, and the session | 204; the service's tokens are forgotten too |
 *
 * `login` is the mark `bivariant_login` in the address that the page's login came back to; `tenant` is the tenant that
 * the session must be for. Neither is needed where a browser has one login at a time.
 *
 * A session is `{ session, variant, tenantId, operator?, expiresAt }`; send `session` as a bearer token. With sessions in
 * cookies it is `{ csrf, ... }`; send `csrf` in the header `X-Bivariant-Csrf` with every method but GET. A POST needs the
 * content type `application/json` and the `Origin` of the backend or of one of `origins`. An error is
 * `{ error, message, reason? }`, where `error` is a stable code.
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
  const settings = parseOptions(requireObject("options", options));
  // Prepared once: a table of a thousand operations takes milliseconds to index.
  const makeService = serviceMaker(options, resolveAuthOptions(options));
  const people = new PersonAuths(settings);
  const sessions = new Sessions(settings, people);
  const context: Context = { settings, people, sessions, logins: new PendingLogins(settings) };

  const answer = (error: unknown, route: string, asPage = false): Response => {
    const shown = errorAnswer(error, settings.now());
    const { status, code, message, reason, headers = {} } = shown;
    if (isWorthReporting(error)) settings.report(error, { status, code, route });
    if (asPage) return errorPage(shown);
    return Response.json({ error: code, message, ...(reason && { reason }) }, { status, headers });
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
      return withHeaders(answer(error, "none"));
    }
  };

  return Object.assign(handle, {
    async connect(request: Request): Promise<Service<T>> {
      requireRequest(request);
      const { session } = await sessions.ofRequest(request);
      return makeService(await people.watched(session));
    },
    async session(request: Request): Promise<SessionInfo> {
      requireRequest(request);
      const { session } = await sessions.ofRequest(request);
      await people.of(session);
      const { variant, tenantId, baseUrl, operator, roles, expiresAt } = session;
      return {
        ...{ variant, tenantId, baseUrl, expiresAt, stateKey: stateKeyOf(session) },
        ...(operator !== undefined && { operator }),
        ...(roles !== undefined && { roles }),
      };
    },
    answer(error: unknown): Response {
      people.endRefused(error);
      return withHeaders(answer(error, "answer"));
    },
  });
}

/** A request of any realm. @throws ConfigurationError `option_invalid` */
function requireRequest(request: unknown): void {
  const { url, headers } = (request ?? {}) as Partial<Request>;
  if (typeof url === "string" && URL.canParse(url) && typeof headers?.get === "function") return;
  throw new ConfigurationError(
    "option_invalid",
    "The backend must be called with a web Request. With node:http or Express, use toNodeHandler(backend); elsewhere pass the framework's web request, such as context.req.raw.",
    { option: "request" },
  );
}

/** The name of a route. Below `callback` there may be more, so that each deployment can have its own redirect URI. */
function routeName(pathname: string, path: string): string {
  if (!pathname.startsWith(`${path}/`)) return "";
  const rest = pathname.slice(path.length + 1);
  return rest.startsWith("callback/") ? "callback" : rest;
}

function withHeaders(response: Response, headers: Readonly<Record<string, string>> = {}): Response {
  response.headers.set("cache-control", "no-store");
  response.headers.set("x-content-type-options", "nosniff");
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;
}

/** "Key per-operator state on it" (section 2.3 of the description): a userId is unique only within its tenant. */
function stateKeyOf({ operator, baseUrl, tenantId, person }: SessionSubject): string {
  const parts =
    operator === undefined ? ["session", person] : ["operator", baseUrl, tenantId, operator.userId];
  return JSON.stringify(parts);
}
