// Routes a request to its endpoint and records it in the journal.
import { answerApiCall } from "../api/calls.js";
import { variantOf } from "../api/route.js";
import { routeTable } from "../api/routes.js";
import { holdBack, sendAnswer, underFaults } from "../faults/apply.js";
import { GRANTS, type Grant } from "../oauth.js";
import type { Settings } from "../options.js";
import { shown } from "../rules/shown.js";
import type { Deployment } from "../state/deployment.js";
import { hostRoutes } from "../variant-a/host-application.js";
import { answerTokenRequest } from "../variant-a/token-endpoint.js";
import { loginRoutes } from "../variant-b/login-pages.js";
import { answerClientRequest } from "../variant-b/token-endpoint.js";
import type { Connection, Sending } from "./connection.js";
import type { Arrival, Exchange, Operation } from "./operation.js";
import { pathUnder, TOKEN_PATH_A, TOKEN_PATH_B } from "./paths.js";
import { Router } from "./router.js";

type App = (deployment: Deployment, request: Request, connection: Connection) => Promise<Response>;

/** The start of a path with a version. */
const VERSIONED = /^\/(api\/)?v1\//;

/**
 * The User-Agent of the client's questions about the variant, and the path of one that is never
 * served.
 */
const PROBE_AGENT = /\(variant detection;/;
const PROBE_PATH = "/v1/auth/bivariant-detect";

/** `prefix` is the path of the public URL. */
export function createApp(settings: Settings, prefix: string): App {
  const { variants } = settings;
  const under = pathUnder(prefix);
  const operations = operationsOf(settings).filter(({ variant }) => variants.includes(variant));
  const router = new Router(operations);
  // The paths of the same operations without their version (section 9).
  const versionless = new Router(
    operations.map(({ method, path }) => ({
      method,
      path: path.replace(VERSIONED, (version) => version.replace("v1/", "")),
    })),
  );
  const known = operations.flatMap((one) =>
    one.endpoint === "api" ? `${one.method} ${one.path}` : [],
  );
  const more = known.length > 5 ? ` and ${known.length - 5} more` : "";
  const expected = known.slice(0, 5).join(", ") + more;
  const answerAt = async (path: string, exchange: Exchange): Promise<Response> => {
    const { method: asked } = exchange.request;
    const here = router.at(path);
    const [first] = here;
    if (first?.operation.variant === "A") exchange.note.tenantId = first.parameters.tenantId;
    const of = (method: string) => here.find(({ operation }) => operation.method === method);
    // HEAD is answered like GET, without the content (RFC 9110 section 9.3.2).
    const found = of(asked) ?? (asked === "HEAD" ? of("GET") : undefined);
    if (found !== undefined) return answerOperation({ ...exchange, ...found });
    return first === undefined ? notFound(path, exchange) : refuseMethod(exchange, here);
  };
  const notFound = (path: string, { deployment, note }: Exchange): Response => {
    const [match] = versionless.at(path);
    if (VERSIONED.test(path)) {
      const refusal = { rule: "path.known", expected, actual: "another path" } as const;
      if (!note.detectionProbe) deployment.customerLog.record({}, refusal);
    } else if (match !== undefined) {
      const finding = { expected: "the segment v1", actual: "a path without a version" };
      const caller = { tenantId: match.parameters.tenantId };
      deployment.customerLog.record(caller, { rule: "path.version", ...finding });
    }
    return Response.json({ error: "not_found" }, { status: 404 });
  };
  return async (deployment, request, connection) => {
    const { clock, journal, customerLog } = deployment;
    const at = clock();
    const note = journal.arrived();
    const isProbe =
      PROBE_AGENT.test(request.headers.get("user-agent") ?? "") || under(request) === PROBE_PATH;
    if (isProbe) note.detectionProbe = true;
    const sending: Sending = {};
    const own = { ...deployment, customerLog: customerLog.of(note) };
    // No operation has the empty path, so a request outside of the prefix is not found.
    const exchange = { deployment: own, request, note, sending, connection };
    const whole = await answerAt(under(request) ?? "", exchange);
    const answer = request.method === "HEAD" ? new Response(null, whole) : whole;
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
    handler: (arrival) => answerClientRequest(arrival, grants),
  });
  return [
    {
      ...token,
      variant: "A",
      path: TOKEN_PATH_A,
      methodRule: "token-request.method",
      handler: answerTokenRequest,
    },
    tokenOfB(
      TOKEN_PATH_B,
      refreshesHere ? GRANTS : GRANTS.filter((grant) => grant !== "refresh_token"),
    ),
    ...(refreshesHere ? [] : [tokenOfB(refreshPath, ["refresh_token"])]),
    ...hostRoutes,
    ...loginRoutes,
    ...routeTable(settings).map(
      (route): Operation => ({
        endpoint: "api",
        variant: variantOf(route),
        operation: route.operationId,
        method: route.method,
        path: route.path,
        handler: (arrival) => answerApiCall(route, arrival),
      }),
    ),
  ];
}

function answerOperation({
  operation: operated,
  ...arrival
}: Arrival & { operation: Operation }): Promise<Response> {
  const { endpoint, variant, operation, handler } = operated;
  Object.assign(arrival.note, { variant, endpoint, operation });
  // A fault that is armed from here on applies to the next request.
  if (endpoint === "page" || !arrival.deployment.faults.isArmed) return handler(arrival);
  return underFaults(arrival, () => handler(arrival));
}

/** Refuses a method that none of the operations at a path has (RFC 9110 section 15.5.6). */
function refuseMethod(
  { deployment, request, note: { tenantId } }: Exchange,
  here: readonly { readonly operation: Operation }[],
): Response {
  const methods = new Set(here.map(({ operation }) => operation.method));
  const allow = [...methods, ...(methods.has("GET") ? ["HEAD"] : [])].join(", ");
  const rule = here[0]?.operation.methodRule;
  if (rule !== undefined) {
    const refusal = { rule, expected: "POST", actual: shown(request.method) };
    deployment.customerLog.record({ tenantId }, refusal);
  }
  return new Response(null, { status: 405, headers: { allow, "content-length": "0" } });
}
