// Routes a request to its endpoint and records it in the journal.
import { answerApiCall } from "../api/calls.js";
import { variantOf } from "../api/route.js";
import { routeTable } from "../api/routes.js";
import { type Exchange, holdBack, type Sending, sendAnswer, underFaults } from "../faults/apply.js";
import { GRANTS, type Grant } from "../oauth.js";
import type { Settings } from "../options.js";
import type { Endpoint } from "../records/journal.js";
import { shown } from "../rules/shown.js";
import type { RuleId } from "../rules.js";
import type { Deployment } from "../state/deployment.js";
import { hostRoutes } from "../variant-a/host-application.js";
import { answerTokenRequest } from "../variant-a/token-endpoint.js";
import { loginRoutes } from "../variant-b/login-pages.js";
import { answerClientRequest } from "../variant-b/token-endpoint.js";
import type { Connection } from "./connection.js";
import { pathUnder, TOKEN_PATH_A, TOKEN_PATH_B } from "./paths.js";
import { type Routed, Router } from "./router.js";

type App = (deployment: Deployment, request: Request, connection: Connection) => Promise<Response>;

/** A request at an operation. */
interface Arrival extends Exchange {
  readonly request: Request;
  /** The decoded parameters of the path. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The parameters of the path as they were sent. */
  readonly encoded: Readonly<Record<string, string>>;
}

interface Operation extends Routed {
  readonly endpoint: Endpoint;
  readonly variant: "A" | "B";
  readonly operation: string;
  readonly handler: (arrival: Arrival) => Promise<Response>;
  /** The rule that is broken by any other method on this path. */
  readonly methodRule?: RuleId;
}

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
  const expected =
    `${known.slice(0, 5).join(", ")}` +
    `${known.length > 5 ? ` and ${known.length - 5} more` : ""}`;
  const answerAt = async (
    path: string,
    exchange: Exchange,
    request: Request,
  ): Promise<Response> => {
    const here = router.at(path);
    const [first] = here;
    if (first?.operation.variant === "A") exchange.note.tenantId = first.parameters.tenantId;
    const of = (method: string) => here.find(({ operation }) => operation.method === method);
    // HEAD is answered like GET, without the content (RFC 9110 section 9.3.2).
    const found = of(request.method) ?? (request.method === "HEAD" ? of("GET") : undefined);
    if (found !== undefined) return answerOperation({ ...exchange, request, ...found });
    if (first !== undefined) return refuseMethod({ ...exchange, request, ...first }, here);
    return notFound(path, exchange);
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
    const exchange = { deployment: own, note, sending, connection };
    const whole = await answerAt(under(request) ?? "", exchange, request);
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
    handler: ({ deployment, request, note }) =>
      answerClientRequest(deployment, request, note, grants),
  });
  return [
    {
      ...token,
      variant: "A",
      path: TOKEN_PATH_A,
      methodRule: "token-request.method",
      handler: ({ deployment, request, note, parameters: { tenantId = "" } }) =>
        answerTokenRequest(deployment, tenantId, request, note),
    },
    tokenOfB(
      TOKEN_PATH_B,
      refreshesHere ? GRANTS : GRANTS.filter((grant) => grant !== "refresh_token"),
    ),
    ...(refreshesHere ? [] : [tokenOfB(refreshPath, ["refresh_token"])]),
    ...[...hostRoutes, ...loginRoutes].map(
      (route): Operation => ({
        ...route,
        endpoint: "page",
        handler: async (arrival) => route.answer(arrival),
      }),
    ),
    ...routeTable(settings).map(
      (route): Operation => ({
        endpoint: "api",
        variant: variantOf(route),
        operation: route.operationId,
        method: route.method,
        path: route.path,
        handler: ({ deployment, request, note, ...path }) =>
          answerApiCall(deployment, route, path, request, note),
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
  const { tenantId } = arrival.note;
  return underFaults({ ...arrival, endpoint, tenantId }, () => handler(arrival));
}

/** Refuses a method that none of the operations at a path has (RFC 9110 section 15.5.6). */
function refuseMethod(
  { deployment, request, parameters: { tenantId } }: Arrival,
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
