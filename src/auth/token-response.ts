/** Reads the answers of token endpoints, for machines and persons: each odd value has one defined meaning. */
import { TokenRequestError, UnexpectedResponseError, type Variant, wireText } from "../errors.js";
import { type Answer, jsonObject } from "../http/exchange.js";
import { type AccessToken, createAccessToken, type Operator } from "./auth.js";

/** "3600 in the reference response" (section 2.3), "1 hour by default" (section 5.9). */
const defaultLifetimeSeconds = 3_600;
const longestLifetimeSeconds = 366 * 24 * 3_600;

/** The tokens of a successful answer. */
export interface IssuedTokens {
  readonly token: AccessToken;
  /** `undefined` when it is absent, null or empty. */
  readonly refreshToken: string | undefined;
}

/**
 * Reads the answer of a token endpoint.
 *
 * @throws TokenRequestError when it refuses the request (RFC 6749 section 5.2)
 * @throws UnexpectedResponseError when it is not an answer that the description shows
 * @see the description, sections 2.3, 4.2 and 7.1
 */
export function parseTokenAnswer(answer: Answer, variant: Variant, secrets: readonly string[]): IssuedTokens {
  const { status } = answer;
  const unexpected = (code: UnexpectedResponseError["code"], problem: string, issues: string[] = []) =>
    new UnexpectedResponseError(code, `The token endpoint answered ${problem}`, { status, variant, issues });
  if (status >= 300 && status < 400)
    throw unexpected(
      "response_redirected",
      "with a redirect, which is not followed: it would carry the credential elsewhere. Is baseUrl the final address?",
    );
  const body = jsonObject(answer.text);
  if (body === undefined && isJson(answer.text))
    throw unexpected("response_shape", `${status} with JSON that is not an object.`, [
      "(whole body): an object is expected",
    ]);
  if (body === undefined)
    throw unexpected(
      "response_not_json",
      `${status} without a JSON object. Is baseUrl right, and does this deployment serve Variant ${variant}?`,
    );
  // A router may answer {"error":"not_found"}, and a failing server too: neither has refused the request.
  const isMissing = status === 404 || status === 405 || status === 410;
  if (!isMissing && status < 500 && ("error" in body || status >= 400))
    throw refusal(status, body, variant, secrets);
  if (status !== 200) throw unexpected("response_shape", `${status}.`);
  const issues: string[] = [];
  const tokens = tokensIn(body, answer.sentAt, issues);
  if (tokens === undefined)
    throw unexpected("response_shape", `200, but not with a token: ${issues.join("; ")}.`, issues);
  return tokens;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function refusal(
  status: number,
  body: Record<string, unknown>,
  variant: Variant,
  secrets: readonly string[],
): TokenRequestError {
  const received = [body.access_token, body.refresh_token].filter((one) => typeof one === "string");
  const all = [...secrets, ...received];
  const error = wireText(body.error, all);
  const errorDescription = wireText(body.error_description, all);
  const errorUri = wireText(body.error_uri, all);
  const reported = [error, errorDescription].filter((part) => part !== undefined).join(": ");
  // The description does not show Variant B's errors: of an unknown shape only the names of the fields are kept.
  const fields = Object.keys(body)
    .slice(0, 10)
    .map((key) => (/^[A-Za-z][A-Za-z_]{0,29}$/.test(key) ? (wireText(key, all) ?? "?") : "?"));
  const content =
    reported === "" ? ` and a body with the fields ${fields.join(", ") || "(none)"}` : ` (${reported})`;
  return new TokenRequestError(`The token endpoint refused the request with status ${status}${content}.`, {
    variant,
    status,
    error,
    errorDescription,
    errorUri,
  });
}

/** The tokens in a body; `undefined` when it holds none, with the reasons in `issues`. */
function tokensIn(body: Record<string, unknown>, sentAt: number, issues: string[]): IssuedTokens | undefined {
  const { access_token: value, token_type: type } = body;
  // RFC 6750 section 2.1: what a bearer token may contain; other characters could break out of the header.
  const isToken = typeof value === "string" && /^[\x21-\x7e]+$/.test(value);
  if (!isToken) issues.push("access_token: a text without spaces is expected");
  if (type !== undefined && type !== null && !(typeof type === "string" && /^bearer$/i.test(type)))
    issues.push("token_type: Bearer is expected");
  const lifetimeSeconds = parseLifetimeSeconds(body.expires_in);
  if (lifetimeSeconds === undefined)
    issues.push("expires_in: whole seconds above 0 and up to a year are expected");
  if (issues.length > 0 || !isToken || lifetimeSeconds === undefined) return undefined;
  // "The object key the service is the literal field name": both `revo: { tenant }` and `"revo.tenant"` are read.
  const revo = (name: string) => recordOf(body.revo)?.[name] ?? body[`revo.${name}`];
  const token = createAccessToken({
    value,
    // From the moment of sending: a slow answer must not lengthen a token's life.
    expiresAt: sentAt + lifetimeSeconds * 1000,
    issuedAt: sentAt,
    tenant: textOf(revo("tenant")),
    operator: operatorOf(revo("user")),
    roles: rolesOf(revo("roles")),
  });
  return { token, refreshToken: textOf(body.refresh_token) };
}

/** Absent means the default of both variants, never an unlimited lifetime. */
function parseLifetimeSeconds(value: unknown): number | undefined {
  if (value === undefined) return defaultLifetimeSeconds;
  const seconds = typeof value === "string" && /^\d{1,10}$/.test(value) ? Number(value) : value;
  const isInRange = typeof seconds === "number" && seconds >= 1 && seconds <= longestLifetimeSeconds;
  return isInRange ? seconds : undefined;
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

function rolesOf(roles: unknown): AccessToken["roles"] {
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
  const isRecord = typeof value === "object" && value !== null && !Array.isArray(value);
  return isRecord ? (value as Record<string, unknown>) : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
