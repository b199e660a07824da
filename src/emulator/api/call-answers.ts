// What a call to an API route is answered: the route's own value, raw or wrapped, or a refusal that tells nothing.

import { answerTo, type Refusal } from "../checks.js";
import type { RuleId } from "../rules.js";
import type { Deployment } from "../state.js";

/** Under which every answer is wrapped while the rule of raw answers is off and no envelope has a name. */
const DEFAULT_MEMBER = "data";
const BEARER_RULES: readonly RuleId[] = [
  "bearer.present",
  "bearer.known",
  "bearer.lifetime",
  "bearer.revoked",
  "bearer.tenant",
  "bearer.plugin-enabled",
];

/** The refusal with the status that the options choose: "the status code: not shown" (description, section 7.2). */
export function asTold({ settings }: Deployment, refusal: Refusal): Refusal {
  if (BEARER_RULES.includes(refusal.rule)) return { ...refusal, answer: { status: settings.bearerStatus } };
  if (refusal.rule !== "route.opt-in") return refusal;
  return { ...refusal, answer: { status: settings.pluginTokenRefusedStatus } };
}

/** The 403 has an empty body (section 7.2); so has the 401, whose body is not shown. */
export function refusalAnswer({ switches }: Deployment, refusal: Refusal): Response {
  const { status } = answerTo(refusal);
  if (status === 403 && !switches.isEnforced("response.forbidden-empty")) {
    const error_description = `${refusal.rule}: expected ${refusal.expected}, got ${refusal.actual}`;
    return Response.json({ error: "insufficient_scope", error_description }, { status });
  }
  const headers = new Headers({ "content-length": "0" });
  if (status === 401) {
    // RFC 6750 section 3.1: a request without authentication information is told no error code.
    const isAbsent = refusal.rule === "bearer.present";
    headers.set("www-authenticate", isAbsent ? "Bearer" : 'Bearer error="invalid_token"');
  }
  return new Response(null, { status, headers });
}

/** "Responses are raw JSON by default. The optional request header X-Envelope selects a wrapped shape" (section 4.3). */
export async function callAnswer(
  deployment: Deployment,
  value: unknown,
  request: Request,
): Promise<Response> {
  const member = memberFor(deployment, request.headers.get("x-envelope"));
  // Copied: the headers of a Response that was fetched cannot be changed.
  const response = value instanceof Response ? new Response(value.body, value) : undefined;
  if (member === undefined) return response ?? jsonAnswer(value);
  return response === undefined ? jsonAnswer(value, member) : wrapped(response, member);
}

function memberFor({ settings, switches }: Deployment, selected: string | null): string | undefined {
  const { envelope } = settings;
  if (selected !== null && Object.hasOwn(envelope, selected)) return envelope[selected];
  if (switches.isEnforced("response.raw")) return undefined;
  return Object.values(envelope)[0] ?? DEFAULT_MEMBER;
}

function jsonAnswer(value: unknown, member?: string): Response {
  if (value === undefined) return new Response(null, { status: 204 });
  return Response.json(member === undefined ? value : { [member]: value });
}

async function wrapped(response: Response, member: string): Promise<Response> {
  if (response.body === null) return response;
  if (!/^application\/(.+\+)?json\b/i.test(response.headers.get("content-type") ?? "")) return response;
  const text = await response.text();
  const { status, headers } = response;
  headers.delete("content-length");
  try {
    return new Response(JSON.stringify({ [member]: JSON.parse(text) }), { status, headers });
  } catch {
    return new Response(text, { status, headers });
  }
}
