// Puts the endpoints of the served variants on their paths; every request gets exactly one answer.
import { type Context, Hono } from "hono";
import { answerApiCall } from "./api/api-endpoint.js";
import { type ApiRoute, variantOf } from "./api/routes.js";
import type { Sending } from "./faults/sending.js";
import { underFaults } from "./faults/under-faults.js";
import { hostRoutes } from "./host/host-application.js";
import { asPost } from "./http/as-post.js";
import type { Connection } from "./http/connection.js";
import { asResponse } from "./http/json-answer.js";
import { pathUnder } from "./http/path-under.js";
import { FetchedRequest } from "./http/received-request.js";
import { VersionedPaths } from "./http/versioned-path.js";
import type { Endpoint, RequestNote } from "./journal.js";
import { assetRoutes } from "./pages/page.js";
import { shown } from "./shown.js";
import type { Deployment } from "./state.js";
import { type TokenEndpoint, tokenEndpoints } from "./token-endpoints.js";
import { loginRoutes } from "./variant-b/login-routes.js";

/** One request's own: what it was taken for, and how its answer goes back. Both are written to. */
export interface Way {
  readonly note: RequestNote;
  readonly sending: Sending;
  readonly connection: Connection;
}

export interface App {
  answer(deployment: Deployment, request: Request, way: Way): Promise<Response>;
}

const pageRoutes = [...hostRoutes, ...loginRoutes, ...assetRoutes];

interface Environment {
  /** `isUnversioned`: the path left the version out, and the rule that says it must not is off. */
  Bindings: { deployment: Deployment; isUnversioned: boolean } & Way;
}
type Handler = (context: Context<Environment>) => Promise<Response>;

/** `prefix` is the path of the public URL; `routes` are in matching order. */
export function createApp(served: {
  variants: readonly ("A" | "B")[];
  prefix: string;
  routes: readonly ApiRoute[];
  refreshPath: string;
}): App {
  const versionedPaths = new VersionedPaths();
  const under = pathUnder(served.prefix);
  const hono = new Hono<Environment>({
    getPath(request, { env } = {}) {
      // No route is the empty path.
      const path = under(request) ?? "";
      if (env === undefined || env.deployment.switches.isEnforced("path.version")) return path;
      const versioned = versionedPaths.find(path);
      env.isUnversioned = versioned !== undefined;
      return versioned?.path ?? path;
    },
  });
  const methodsByPath = new Map<string, Set<string>>();
  const endpoints = tokenEndpoints(served);
  const postHandlers = new Map<string, { endpoint: TokenEndpoint; handler: Handler }>();

  const serve = (
    endpoint: Endpoint,
    variant: "A" | "B" | undefined,
    operation: string,
    method: string,
    path: string,
    handler: Handler,
  ) => {
    if (variant === undefined ? served.variants.length === 0 : !served.variants.includes(variant))
      return undefined;
    const pattern = path.replace(/\{([^}]+)\}/g, ":$1");
    versionedPaths.add(path);
    methodsByPath.set(pattern, (methodsByPath.get(pattern) ?? new Set()).add(method));
    const noted: Handler = (context) => {
      Object.assign(context.env.note, { variant, endpoint, operation });
      if (endpoint === "page") return handler(context);
      const tenantId = variant === "A" ? context.req.param("tenantId") : undefined;
      const asked = { ...context.env, request: context.req.raw, endpoint, tenantId };
      return underFaults(asked, () => handler(context));
    };
    hono.on(method, pattern, noted);
    return { pattern, handler: noted };
  };

  for (const endpoint of endpoints) {
    const { variant, path } = endpoint;
    const token = serve("token", variant, "requestToken", "POST", path, async ({ req, env }) => {
      const postedTo = { tenantId: req.param("tenantId"), isUnversioned: env.isUnversioned };
      const answer = await endpoint.answer(env.deployment, new FetchedRequest(req.raw), env.note, postedTo);
      return asResponse(answer);
    });
    if (token !== undefined) postHandlers.set(token.pattern, { endpoint, handler: token.handler });
  }
  for (const route of pageRoutes) {
    serve("page", route.variant, route.operation, route.method, route.path, async (context) => {
      const parameters = context.req.param();
      return route.answer({ ...context.env, request: context.req.raw, parameters });
    });
  }
  for (const route of served.routes) {
    serve("api", variantOf(route), route.operationId, route.method, route.path, (context) =>
      answerApiCall(context.env.deployment, route, context.req.param(), context.req.raw, context.env.note),
    );
  }
  // After all routes: a path that is served under another method (RFC 9110 section 15.5.6).
  for (const [pattern, methods] of methodsByPath) {
    const allow = [...methods, ...(methods.has("GET") ? ["HEAD"] : [])].join(", ");
    const refused = () => new Response(null, { status: 405, headers: { allow, "content-length": "0" } });
    const token = postHandlers.get(pattern);
    hono.all(pattern, (context) =>
      token === undefined ? refused() : answerOtherMethod(context, token.endpoint, token.handler, refused),
    );
  }
  hono.notFound(({ req, env }) => {
    const versioned = versionedPaths.find(req.path);
    if (versioned !== undefined) {
      const finding = { expected: "the segment v1", actual: "a path without a version" };
      const { tenantId } = versioned;
      env.deployment.customerLog.record(
        env.deployment.clock(),
        { tenantId },
        { rule: "path.version", ...finding },
      );
    }
    return Response.json({ error: "not_found" }, { status: 404 });
  });
  return {
    answer: async (deployment, request, way) =>
      hono.fetch(request, { deployment, isUnversioned: false, ...way }),
  };
}

/** A method of a token endpoint that is no POST. */
function answerOtherMethod(
  context: Context<Environment>,
  { methodRule, encoding }: TokenEndpoint,
  post: Handler,
  refused: () => Response,
): Response | Promise<Response> {
  const { deployment } = context.env;
  const finding = { expected: "POST", actual: shown(context.req.raw.method) };
  const refusal = deployment.switches.refusal(methodRule, finding);
  if (refusal === undefined) {
    context.req.raw = asPost(context.req.raw, encoding);
    return post(context);
  }
  const tenantId = context.req.param("tenantId");
  deployment.customerLog.record(deployment.clock(), { tenantId }, refusal);
  return refused();
}
