// Routes a request to its endpoint and records it in the journal.
import { type Context, Hono } from "hono";
import { answerApiCall } from "./api/calls.js";
import { routeTable, variantOf } from "./api/routes.js";
import { type Exchange, holdBack, type Sending, sendAnswer, underFaults } from "./faults/apply.js";
import { hostRoutes } from "./host/host-application.js";
import type { Connection } from "./http/connection.js";
import type { Endpoint } from "./journal.js";
import { GRANTS, type Grant } from "./oauth.js";
import type { Settings } from "./options.js";
import { pathUnder, TOKEN_PATH_A, TOKEN_PATH_B } from "./paths.js";
import type { RuleId } from "./rules.js";
import { shown } from "./shown.js";
import type { Deployment } from "./state.js";
import { answerTokenRequest } from "./variant-a/token-endpoint.js";
import { loginRoutes } from "./variant-b/login-pages.js";
import { answerClientRequest } from "./variant-b/token-endpoint.js";

type App = (deployment: Deployment, request: Request, connection: Connection) => Promise<Response>;

type RoutedContext = Context<{ Bindings: Exchange }>;
type Handler = (context: RoutedContext) => Promise<Response>;

interface Operation {
  readonly endpoint: Endpoint;
  readonly variant: "A" | "B";
  readonly operation: string;
  readonly method: string;
  /** The path may have `{parameters}`. */
  readonly path: string;
  readonly handler: Handler;
  /** The rule that is broken by any other method on this path. */
  readonly methodRule?: RuleId;
}

/** The start of a path with a version. */
const VERSIONED = /^\/(api\/)?v1\//;

/** The User-Agent of the client's questions about the variant, and the path of one that is never served. */
const PROBE_AGENT = /\(variant detection;/;
const PROBE_PATH = "/v1/auth/bivariant-detect";

/** `prefix` is the path of the public URL. */
export function createApp(settings: Settings, prefix: string): App {
  const { variants } = settings;
  const under = pathUnder(prefix);
  // No route has the empty path, so a request outside of the prefix is not found.
  const hono = new Hono<{ Bindings: Exchange }>({ getPath: (request) => under(request) ?? "" });
  const operations = operationsOf(settings).filter(({ variant }) => variants.includes(variant));
  for (const served of operations) hono.on(served.method, patternOf(served.path), withFaults(served));
  // If no route matched, the path may be served under another method (RFC 9110 section 15.5.6).
  for (const served of operations)
    hono.all(patternOf(served.path), (context) => refuseMethod(context, served, operations));
  const known = operations.flatMap((one) => (one.endpoint === "api" ? `${one.method} ${one.path}` : []));
  const expected = `${known.slice(0, 5).join(", ")}${known.length > 5 ? ` and ${known.length - 5} more` : ""}`;
  hono.notFound(({ req, env: { deployment, note } }) => {
    const match = operations
      .map(({ path }) => versionless(path).exec(req.path))
      .find((found) => found !== null);
    if (VERSIONED.test(req.path)) {
      const refusal = { rule: "path.known", expected, actual: "another path" } as const;
      if (!note.detectionProbe) deployment.customerLog.record(deployment.clock(), {}, refusal);
    } else if (match !== undefined) {
      const finding = { expected: "the segment v1", actual: "a path without a version" };
      const caller = { tenantId: match.groups?.tenantId };
      deployment.customerLog.record(deployment.clock(), caller, { rule: "path.version", ...finding });
    }
    return Response.json({ error: "not_found" }, { status: 404 });
  });
  return async (deployment, request, connection) => {
    const { clock, journal, customerLog } = deployment;
    const at = clock();
    const note = journal.arrived();
    const isProbe =
      PROBE_AGENT.test(request.headers.get("user-agent") ?? "") || under(request) === PROBE_PATH;
    if (isProbe) note.detectionProbe = true;
    const sending: Sending = {};
    const own = { ...deployment, customerLog: customerLog.of(note) };
    // The router looks methods up in an object, and must not find a member that every object has.
    const isOdd = request.method in Object.prototype;
    const routed = isOdd ? new Request(request.url, { method: "OPTIONS" }) : request;
    const answer = await hono.fetch(routed, { deployment: own, note, sending, connection });
    // Clients that take the server's time from the Date header must get the time of this clock.
    answer.headers.set("date", new Date(clock() + (sending.skewMs ?? 0)).toUTCString());
    const isSent = await holdBack(sending, connection);
    journal.record(at, request, isSent ? answer.status : 0, note);
    return isSent ? sendAnswer(answer, sending, connection) : connection.reset();
  };
}

/** The operations in the order in which they are matched. */
function operationsOf(settings: Settings): Operation[] {
  const { refreshPath } = settings;
  const refreshesHere = refreshPath === TOKEN_PATH_B;
  const token = { endpoint: "token", operation: "requestToken", method: "POST" } as const;
  const tokenOfB = (path: string, grants: readonly Grant[]): Operation => ({
    ...token,
    variant: "B",
    path,
    methodRule: "client-request.method",
    handler: ({ req, env: { deployment, note } }) => answerClientRequest(deployment, req.raw, note, grants),
  });
  return [
    {
      ...token,
      variant: "A",
      path: TOKEN_PATH_A,
      methodRule: "token-request.method",
      handler({ req, env: { deployment, note } }) {
        const tenantId = req.param("tenantId") ?? "";
        note.tenantId = tenantId;
        return answerTokenRequest(deployment, tenantId, req.raw, note);
      },
    },
    tokenOfB(TOKEN_PATH_B, refreshesHere ? GRANTS : GRANTS.filter((grant) => grant !== "refresh_token")),
    ...(refreshesHere ? [] : [tokenOfB(refreshPath, ["refresh_token"])]),
    ...[...hostRoutes, ...loginRoutes].map(
      (route): Operation => ({
        ...route,
        endpoint: "page",
        handler: async ({ req, env: { deployment, note } }) =>
          route.answer({ deployment, note, request: req.raw, parameters: req.param() }),
      }),
    ),
    ...routeTable(settings).map(
      (route): Operation => ({
        endpoint: "api",
        variant: variantOf(route),
        operation: route.operationId,
        method: route.method,
        path: route.path,
        handler: ({ req, env }) => answerApiCall(env.deployment, route, req.param(), req.raw, env.note),
      }),
    ),
  ];
}

function patternOf(path: string): string {
  return path.replace(/\{([^}]+)\}/g, ":$1");
}

function withFaults({ endpoint, variant, operation, handler }: Operation): Handler {
  return (context) => {
    Object.assign(context.env.note, { variant, endpoint, operation });
    // A fault that is armed from here on applies to the next request.
    if (endpoint === "page" || !context.env.deployment.faults.isArmed) return handler(context);
    const tenantId = variant === "A" ? context.req.param("tenantId") : undefined;
    return underFaults({ ...context.env, request: context.req.raw, endpoint, tenantId }, () =>
      handler(context),
    );
  };
}

function refuseMethod(
  context: RoutedContext,
  { path, methodRule }: Operation,
  all: readonly Operation[],
): Response {
  const { req, env } = context;
  const methods = new Set(all.filter((other) => other.path === path).map(({ method }) => method));
  const allow = [...methods, ...(methods.has("GET") ? ["HEAD"] : [])].join(", ");
  if (methodRule !== undefined) {
    const { clock, customerLog } = env.deployment;
    const refusal = { rule: methodRule, expected: "POST", actual: shown(req.raw.method) };
    customerLog.record(clock(), { tenantId: req.param("tenantId") }, refusal);
  }
  return new Response(null, { status: 405, headers: { allow, "content-length": "0" } });
}

/** Matches a path that lacks only the version (section 9). */
function versionless(path: string): RegExp {
  const literal = path.replace(VERSIONED, (version) => version.replace("v1/", "")).replaceAll(".", "\\.");
  const pattern = literal.replace("{tenantId}", "(?<tenantId>[^/]+)").replace(/\{[^}]+\}/g, "[^/]+");
  return new RegExp(`^${pattern}$`);
}
