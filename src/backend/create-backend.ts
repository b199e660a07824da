/**
 * The server half of an app for people: one handler for its routes, and typed calls as the person
 * behind a request.
 */
import type { OperationTypes } from "../../generated/operations.js";
import type { LookupTypes } from "../client/outcome.js";
import { resolveServiceOptions } from "../client-options.js";
import { ConfigurationError, wireText } from "../errors.js";
import { invalidOption } from "../options.js";
import { type Service, type ServiceOf, serviceMaker } from "../service.js";
import { type BackendOptions, parseOptions, type Settings } from "./backend-options.js";
import { errorPage, Refusal, reportedAnswer } from "./error-answer.js";
import { exchangeLimits } from "./exchange-limits.js";
import { PendingLogins } from "./pending-logins.js";
import { PersonAuths, type SessionSubject } from "./person-auths.js";
import { crossOriginHeaders, csrfHeader, isAllowedOrigin, ownOrigin } from "./request-checks.js";
import { answerLogout, answerMe, answerSession, type Context, Sessions } from "./sessions.js";
import { answerCallback, answerLaunch, answerLogin } from "./sign-in-routes.js";
import { type NodeRequest, toWebRequest } from "./to-node-handler.js";

/**
 * The person who has a session. `operator` is known in Variant A (section 2.3 of the description)
 * if the answer with the token named a `userId`, and in Variant B if the option `identify` named
 * one.
 */
export interface BackendSession
  extends Pick<SessionSubject, "variant" | "tenantId" | "baseUrl" | "operator" | "roles"> {
  /** When the session ends at the latest, in epoch milliseconds. */
  readonly expiresAt: number;
  /**
   * Store the state of this person under this key. It is the same in every session of one operator
   * of one tenant and variant, and no one else has it. If the operator is not known, each session
   * has its own key.
   */
  readonly stateKey: string;
}

/**
 * The server half of an app for people: a handler of its routes, and calls as the person of a
 * request.
 */
export interface Backend<T extends LookupTypes = OperationTypes> {
  /** Answers the routes under `path`, and everything else with a 404. Never rejects. */
  (request: Request): Promise<Response>;
  /**
   * Typed calls as the person whose session the request carries. All requests of one session share
   * its tokens. A request of node:http or Express is accepted too; nothing of its body is read.
   *
   * @throws SessionError `session_missing`, `session_unknown`, `session_expired`; with cookies also
   * `origin_refused`, `csrf_refused`
   * @throws RelaunchRequiredError, LoginRequiredError when the person's tokens are gone
   * @throws StoreError
   */
  connect(request: Request | NodeRequest): Promise<Service<T>>;
  /**
   * The person whose session the request carries, without a call to the service.
   * @throws as `connect` does
   */
  session(request: Request | NodeRequest): Promise<BackendSession>;
  /**
   * Makes the answer for an error from `connect`, from `session` or from a call, or for the `error`
   * of an outcome. It is JSON with a stable code that the page understands.
   *
   * A 401 from the service becomes a 502 `api_unauthorized`, because the route may only need
   * another token. If the token is older than 30 s and only the person can replace it, the answer
   * is a 401 `relaunch_required` or `login_required`. The session is then over, and the page asks
   * the person.
   */
  answer(error: unknown): Response;
}

interface Route {
  readonly method: "GET" | "POST";
  /** Whether a browser navigates to the route, so that a person sees its errors. */
  readonly isPage?: true;
  readonly answer: (request: Request, context: Context) => Promise<Response>;
}

const routes = new Map<string, Route>([
  ["launch", { method: "POST", answer: answerLaunch }],
  ["login", { method: "GET", isPage: true, answer: answerLogin }],
  ["callback", { method: "GET", isPage: true, answer: answerCallback }],
  ["session", { method: "POST", answer: answerSession }],
  ["me", { method: "GET", answer: answerMe }],
  ["logout", { method: "POST", answer: answerLogout }],
]);

/**
 * Makes the backend of a plugin (Variant A), of an app that people log in to (Variant B), or of
 * both at once. The page uses `startSession` of bivariant/page. The service's tokens stay in the
 * store; the browser receives a session of the backend's own.
 *
 * It answers the routes `launch`, `login`, `callback`, `session`, `me` and `logout` under `path`
 * (src/backend/routes.md). All other routes are yours: call `connect` in them.
 *
 * @throws ConfigurationError
 * @see the description, sections 4.1 and 5.3 to 5.9
 * @example
 * const launch = userInterfacePlugin({ clientId, privateKey });
 * const hostOrigin = "https://customer.example";
 * const backend = createBackend({
 *   deployments: [{ tenantId: "acme", baseUrl, hostOrigin, launch }],
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
  const settings = parseOptions(options);
  // This is made once, because indexing a table of a thousand operations takes milliseconds.
  const makeService = serviceMaker<T>(resolveServiceOptions(options));
  const { identify } = options;
  const people = new PersonAuths(
    settings,
    identify && ((auth) => identify(makeService(auth) as ServiceOf<"B", T>)),
  );
  const sessions = new Sessions(settings, people);
  const logins = new PendingLogins(settings);
  const context: Context = {
    settings,
    people,
    sessions,
    logins,
    limited: exchangeLimits(settings),
  };

  const answer = (error: unknown, route: string, asPage = false): Response => {
    const shown = reportedAnswer(error, route, settings);
    if (asPage) return errorPage(shown);
    const { status, code, message, reason, headers = {} } = shown;
    // A page asks before it has a session, and browsers log each 401 as an error.
    if (route === "session" && status === 401) return new Response(null, { status: 204 });
    return Response.json({ error: code, message, ...(reason && { reason }) }, { status, headers });
  };

  const dispatch = async (request: Request, route: Route | undefined): Promise<Response> => {
    if (route === undefined) throw new Refusal("route_unknown");
    const { method } = route;
    const origin = request.headers.get("origin");
    const isAllowed = origin !== null && isAllowedOrigin(origin, request, settings);
    if (request.method === "OPTIONS" && isAllowed) {
      const headers = {
        "access-control-allow-methods": method,
        "access-control-allow-headers": `authorization, content-type, ${csrfHeader}`,
        "access-control-max-age": "600",
      };
      return new Response(null, { status: 204, headers });
    }
    if (request.method !== method)
      throw new Refusal("method_not_allowed", { headers: { allow: method } });
    // Browsers send `Origin` with every POST (Fetch standard, section 3.2); a sandboxed page sends
    // "null".
    if (method === "POST" && !isAllowed) throw originRefused(origin, request, settings);
    return route.answer(request, context);
  };

  const handle = async (request: Request): Promise<Response> => {
    try {
      requireRequest(request);
      const name = routeName(new URL(request.url).pathname, settings.path);
      const route = routes.get(name);
      const response = await dispatch(request, route).catch((error: unknown) =>
        answer(
          error,
          route ? name : "none",
          route?.isPage && /text\/html/i.test(request.headers.get("accept") ?? ""),
        ),
      );
      return withHeaders(response, crossOriginHeaders(request, settings));
    } catch (error) {
      return withHeaders(answer(error, "none"));
    }
  };

  return Object.assign(handle, {
    async connect(request: Request | NodeRequest): Promise<Service<T>> {
      const { session } = await sessions.ofRequest(asWebRequest(request));
      return makeService(await people.of(session));
    },
    async session(request: Request | NodeRequest): Promise<BackendSession> {
      const { session } = await sessions.ofRequest(asWebRequest(request));
      await people.of(session);
      const { variant, tenantId, baseUrl, operator, roles, expiresAt } = session;
      return {
        variant,
        tenantId,
        baseUrl,
        operator,
        roles,
        expiresAt,
        stateKey: stateKeyOf(session),
      };
    },
    answer(error: unknown): Response {
      people.endRefused(error);
      return withHeaders(answer(error, "answer"));
    },
  });
}

function asWebRequest(request: Request | NodeRequest): Request {
  if (request !== null && typeof request === "object" && "rawHeaders" in request)
    return toWebRequest(request);
  requireRequest(request);
  return request;
}

function requireRequest(request: unknown): asserts request is Request {
  const { url, headers } = (request ?? {}) as Partial<Request>;
  if (typeof url === "string" && URL.canParse(url) && typeof headers?.get === "function") return;
  const remedy =
    "Pass context.req.raw of Hono, or request.raw of Fastify. " +
    "Wrap the handler for node:http or Express: toNodeHandler(backend). " +
    "backend.connect and backend.session take their request too.";
  throw invalidOption("request", "must be a web Request", remedy);
}

/** Browsers send an origin, so a request without one is not reported. */
function originRefused(origin: string | null, request: Request, settings: Settings): Refusal {
  if (origin === null) return new Refusal("origin_refused");
  const own = wireText(ownOrigin(request, settings));
  const message =
    `A page of ${wireText(origin)} was refused, because the origin of this backend ` +
    `is ${own}. If a proxy changes that, set publicUrl; ` +
    "if the page may use this backend, add its origin to origins.";
  return new Refusal("origin_refused", {
    cause: new ConfigurationError("option_invalid", message, { option: "publicUrl" }),
  });
}

/**
 * Paths below `callback` count as `callback`, so that each deployment can have its own redirect
 * URI.
 */
function routeName(pathname: string, path: string): string {
  const rest = pathname.startsWith(`${path}/`) ? pathname.slice(path.length + 1) : "";
  return rest.startsWith("callback/") ? "callback" : rest;
}

function withHeaders(response: Response, headers: Readonly<Record<string, string>> = {}): Response {
  response.headers.set("cache-control", "no-store");
  response.headers.set("x-content-type-options", "nosniff");
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;
}

/**
 * Contains the tenant too, because a userId is unique only within its tenant (section 2.3). One
 * that `identify` chose may be that of another operator of Variant A, so its key begins with
 * another word.
 */
function stateKeyOf({ variant, operator, baseUrl, tenantId, person }: SessionSubject): string {
  if (operator === undefined) return JSON.stringify(["session", person]);
  return JSON.stringify([
    variant === "A" ? "operator" : "person",
    baseUrl,
    tenantId,
    operator.userId,
  ]);
}
