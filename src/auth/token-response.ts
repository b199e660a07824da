/** The answer of a token endpoint, read with care: its odd values each have one meaning. */
import { TokenRequestError, UnexpectedResponseError, type Variant, wireText } from "../errors.js";
import { type Answer, jsonObject } from "../http/exchange.js";
import type { AccessTokenFields, Operator } from "./auth.js";

/** "3600 in the reference response" (section 2.3), "1 hour by default" (section 5.9). */
const defaultLifetimeSeconds = 3_600;
const longestLifetimeSeconds = 366 * 24 * 3_600;

/**
 * Reads the answer of a token endpoint.
 *
 * @throws TokenRequestError for an answer that refuses (RFC 6749 section 5.2)
 * @throws UnexpectedResponseError for anything the description does not know
 * @see the description, sections 2.3, 4.2 and 7.1
 */
export function parseTokenAnswer(
  answer: Answer,
  variant: Variant,
  secrets: readonly string[],
): AccessTokenFields {
  const { status } = answer;
  if (status >= 300 && status < 400)
    throw unexpected(
      answer,
      variant,
      "response_redirected",
      "The token endpoint answered with a redirect, which is not followed: it would carry the credential elsewhere. Is baseUrl the final address?",
    );
  const body = jsonObject(answer.text);
  if (body === undefined && isJson(answer.text))
    throw new UnexpectedResponseError(
      "response_shape",
      `The token endpoint answered ${status} with JSON that is no object.`,
      { status, issues: ["(whole body): an object is expected"], variant },
    );
  if (body === undefined)
    throw unexpected(
      answer,
      variant,
      "response_not_json",
      `The token endpoint answered ${status} without a JSON object. Is baseUrl right, and does this deployment serve Variant ${variant}?`,
    );
  // A router says `{"error":"not_found"}` too: what is not there has refused nothing, nor has a server that failed.
  if (!isMissing(status) && status < 500 && ("error" in body || status >= 400))
    throw refused(answer, body, variant, secrets);
  if (status !== 200)
    throw unexpected(answer, variant, "response_shape", `The token endpoint answered ${status}.`);
  return tokenFields(answer, body, variant);
}

/** The `refresh_token` of an answer that `parseTokenAnswer` took; absent, null and empty all mean that there is none. */
export function parseRefreshToken({ text }: Answer): string | undefined {
  return textOf(jsonObject(text)?.refresh_token);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isMissing(status: number): boolean {
  return status === 404 || status === 405 || status === 410;
}

function refused(
  { status }: Answer,
  body: Record<string, unknown>,
  variant: Variant,
  secrets: readonly string[],
): TokenRequestError {
  const ownSecrets = [body.access_token, body.refresh_token].filter((one) => typeof one === "string");
  const all = [...secrets, ...ownSecrets];
  const error = wireText(body.error, all);
  const errorDescription = wireText(body.error_description, all);
  const told = [error, errorDescription].filter((part) => part !== undefined).join(": ");
  // Variant B's errors are not shown in the description: of an unknown shape only the field names are kept.
  const fields = Object.keys(body)
    .slice(0, 10)
    .map((key) => (/^[A-Za-z][A-Za-z_]{0,29}$/.test(key) ? (wireText(key, all) ?? "?") : "?"));
  return new TokenRequestError(
    `The token endpoint refused the request with status ${status}${told === "" ? ` and a body with the fields ${fields.join(", ") || "(none)"}` : ` (${told})`}.`,
    { variant, status, error, errorDescription, errorUri: wireText(body.error_uri, all) },
  );
}

function tokenFields(answer: Answer, body: Record<string, unknown>, variant: Variant): AccessTokenFields {
  const issues: string[] = [];
  const { access_token: value, token_type: type } = body;
  // RFC 6750 section 2.1: what a bearer token may hold; anything else could break out of the header.
  if (typeof value !== "string" || !/^[\x21-\x7e]+$/.test(value))
    issues.push("access_token: a text without spaces is expected");
  if (type !== undefined && type !== null && !(typeof type === "string" && /^bearer$/i.test(type)))
    issues.push("token_type: Bearer is expected");
  const lifetimeSeconds = parseLifetimeSeconds(body.expires_in);
  if (lifetimeSeconds === undefined)
    issues.push("expires_in: whole seconds above 0 and up to a year are expected");
  if (issues.length > 0 || typeof value !== "string" || lifetimeSeconds === undefined)
    throw new UnexpectedResponseError(
      "response_shape",
      `The token endpoint answered 200, but not with a token: ${issues.join("; ")}.`,
      { status: answer.status, issues, variant },
    );
  const member = revoOf(body);
  return {
    value,
    // From the moment of sending: a slow answer must not lengthen a token's life.
    expiresAt: answer.sentAt + lifetimeSeconds * 1000,
    issuedAt: answer.sentAt,
    tenant: textOf(member("tenant")),
    operator: operatorOf(member("user")),
    roles: rolesOf(member("roles")),
  };
}

/** Absent means the description's figure for both variants; it never means "for ever". */
function parseLifetimeSeconds(value: unknown): number | undefined {
  if (value === undefined) return defaultLifetimeSeconds;
  const seconds = typeof value === "string" && /^\d{1,10}$/.test(value) ? Number(value) : value;
  return typeof seconds === "number" &&
    Number.isFinite(seconds) &&
    seconds >= 1 &&
    seconds <= longestLifetimeSeconds
    ? seconds
    : undefined;
}

/** "The object key the service is the literal field name": both `revo: { tenant }` and `"revo.tenant"` are read. */
function revoOf(body: Record<string, unknown>): (name: string) => unknown {
  const nested = recordOf(body.revo);
  return (name) => nested?.[name] ?? body[`revo.${name}`];
}

function operatorOf(user: unknown): Operator | undefined {
  const { userId, firstname, lastname } = recordOf(user) ?? {};
  const id = textOf(userId);
  if (id === undefined) return undefined;
  return Object.freeze({
    userId: id,
    ...(typeof firstname === "string" ? { firstname } : {}),
    ...(typeof lastname === "string" ? { lastname } : {}),
  });
}

function rolesOf(roles: unknown): AccessTokenFields["roles"] {
  if (!Array.isArray(roles)) return undefined;
  return Object.freeze(
    roles.flatMap((role: unknown) => {
      const { name, group } = recordOf(role) ?? {};
      if (typeof name !== "string") return [];
      return [Object.freeze(typeof group === "string" ? { name, group } : { name })];
    }),
  );
}

function recordOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function unexpected(
  { status }: Answer,
  variant: Variant,
  code: "response_redirected" | "response_not_json" | "response_shape",
  message: string,
): UnexpectedResponseError {
  return new UnexpectedResponseError(code, message, { status, variant });
}
