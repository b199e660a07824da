// The OAuth that both variants share: grant types, PKCE, and the reading of a token request.
import { isMediaType, MAXIMUM_BODY_BYTES, readBody } from "./http/messages.js";
import { scopeSchema } from "./registrations/fields.js";
import { type EmulatorRules, type Finding, type Refusal, unless } from "./rules/checks.js";
import { shown } from "./rules/shown.js";
import { sha256 } from "./state/expiring-map.js";

export type Grant = "client_credentials" | "authorization_code" | "refresh_token";

/** A name, or the URN of an extension (RFC 6749 section 4.5). */
const GRANT_TYPE = /^([a-z_]+|urn:[\w:.-]+)$/;

export const GRANTS: readonly Grant[] = [
  "client_credentials",
  "authorization_code",
  "refresh_token",
];

export function asGrant(value: unknown): Grant | undefined {
  return GRANTS.find((grant) => grant === value);
}

/** Renders a grant type for the log. Any other value may be a client secret in the wrong field. */
export function shownGrantType(value: unknown): string {
  if (typeof value !== "string" || GRANT_TYPE.test(value)) return shown(value);
  return `a string of length ${value.length}`;
}

/** A SHA-256 in base64url without padding (RFC 7636 section 4.2). */
const S256_CHALLENGE = /^[A-Za-z0-9_-]{43}$/;
/** RFC 7636 section 4.1: 43 to 128 unreserved characters. */
const CODE_VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

export function isCodeChallenge(value: unknown): value is string {
  return typeof value === "string" && S256_CHALLENGE.test(value);
}

/**
 * Returns how the verifier fails the challenge, in words that are safe to log, or undefined if it
 * is right.
 */
export function wrongVerifier(
  codeVerifier: string | undefined,
  codeChallenge: string,
): Finding | undefined {
  const expected = "the verifier of the challenge";
  if (codeVerifier === undefined) return { expected, actual: "absent" };
  if (!CODE_VERIFIER.test(codeVerifier)) {
    return { expected, actual: "not 43 to 128 unreserved characters" };
  }
  const isRight = sha256(codeVerifier) === codeChallenge;
  return unless(isRight, expected, "a verifier of another challenge");
}

/** How requested scopes are malformed or not among the permitted ones. Undefined permits all. */
export function wrongScope(
  requested: string | undefined,
  permitted: ReadonlySet<string> | undefined,
): Finding | undefined {
  const isFine = (scope: string) => permitted?.has(scope) ?? scopeSchema.safeParse(scope).success;
  return unless(
    requested?.split(" ").every(isFine) !== false,
    permitted === undefined ? "scopes" : `some of ${[...permitted].join(" ")}`,
    shown(requested),
  );
}

const bodies = {
  "token-request": {
    type: "application/x-www-form-urlencoded",
    unreadable: "token-request.media-type",
  },
  "client-request": { type: "application/json", unreadable: "client-request.json" },
} as const;

/** Reads the body of a token request, under the rules that begin with the given name. */
export async function readTokenRequest(
  switches: EmulatorRules,
  request: Request,
  rules: keyof typeof bodies,
): Promise<{ readonly text: string } | Refusal> {
  const { type, unreadable } = bodies[rules];
  const expected = `${type} in UTF-8`;
  const contentType = request.headers.get("content-type");
  if (!isMediaType(contentType, type)) {
    const finding = { expected, actual: shown(contentType ?? undefined) };
    const refusal = switches.refusal(`${rules}.media-type`, finding);
    if (refusal !== undefined) return refusal;
  }
  const body = await readBody(request);
  if ("text" in body) return body;
  return body.fault === "too large"
    ? {
        rule: `${rules}.body-size`,
        expected: `at most ${MAXIMUM_BODY_BYTES} bytes`,
        actual: "more",
      }
    : { rule: unreadable, expected, actual: "a body that broke off or is not UTF-8" };
}

/** RFC 6749 sections 3.1 and 3.2: "parameters MUST NOT be included more than once". */
export function repeatedParameter(parameters: URLSearchParams): Finding | undefined {
  const known = new Set<string>();
  const repeated = [...parameters.keys()].find((name) => known.size === known.add(name).size);
  return unless(repeated === undefined, "each parameter once", shown(repeated));
}

/**
 * Finds a second authentication (RFC 6749 section 2.3) in the Authorization header or the other
 * variant's field.
 */
export function secondAuthentication(
  request: Request,
  expected: string,
  field: string,
  value: unknown,
): Finding | undefined {
  if (request.headers.has("authorization")) return { expected, actual: "an Authorization header" };
  return value === undefined || value === "" ? undefined : { expected, actual: `a ${field}` };
}
