// Answers a call to an API route, once its bearer token was found to allow it.
import type { Deployment } from "../deployment.js";
import type { RequestNote } from "../journal.js";
import { type RuleId, rules } from "../rules.js";
import { type ApiRoute, variantOf } from "./api-route.js";
import { checkCall } from "./check-call.js";
import { findToken } from "./find-token.js";

/** `X-Envelope` is accepted and changes nothing: its values and the wrapped shape are not shown. */
export async function answerApiCall(
  deployment: Deployment,
  route: ApiRoute,
  parameters: Readonly<Record<string, string>>,
  request: Request,
  note: RequestNote,
): Promise<Response> {
  const { customerLog, clock } = deployment;
  const variant = variantOf(route);
  const pathTenantId = variant === "A" ? parameters.tenantId : undefined;
  const authorization = request.headers.get("authorization");
  const token = findToken(deployment, { variant, tenantId: pathTenantId, authorization });
  if ("rule" in token) {
    customerLog.record(clock(), { tenantId: pathTenantId }, token);
    return refusalAnswer(token.rule);
  }
  const { tenantId, clientId, userId } = token;
  Object.assign(note, { tenantId, clientId });
  const refusal = checkCall(deployment, token, route, devicesNamed(route, parameters, request));
  if (refusal !== undefined) {
    customerLog.record(clock(), { tenantId, clientId }, refusal);
    return refusalAnswer(refusal.rule);
  }
  const respond = route.respond ?? (() => ({ operationId: route.operationId, parameters }));
  return asResponse(await respond({ variant, tenantId, clientId, userId, parameters, request }));
}

/** Named in the path or, for a parameter that the path does not have, any number of times in the query. */
function devicesNamed(
  { deviceParameter }: ApiRoute,
  parameters: Readonly<Record<string, string>>,
  request: Request,
): string[] {
  if (deviceParameter === undefined) return [];
  const inPath = parameters[deviceParameter];
  return inPath === undefined ? new URL(request.url).searchParams.getAll(deviceParameter) : [inPath];
}

/** The 403 has an empty body (description, section 7.2); so has the 401, whose body is not shown. */
function refusalAnswer(rule: RuleId): Response {
  const { status } = rules[rule].answer;
  const headers = new Headers({ "content-length": "0" });
  if (status === 401) {
    // RFC 6750 section 3.1: a request without authentication information is told no error code.
    headers.set("www-authenticate", rule === "bearer.present" ? "Bearer" : 'Bearer error="invalid_token"');
  }
  return new Response(null, { status, headers });
}

function asResponse(value: unknown): Response {
  // Copied: the headers of a Response that was fetched cannot be changed.
  if (value instanceof Response) return new Response(value.body, value);
  return value === undefined ? new Response(null, { status: 204 }) : Response.json(value);
}
