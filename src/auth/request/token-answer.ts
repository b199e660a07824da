/** Reads the answer of a token endpoint: its tokens, or why it holds none. */
import { TokenRequestError, UnexpectedResponseError, type Variant, wireText } from "../../errors.js";
import { type Answer, parseJson, recordOf } from "../../http/exchange.js";
import { withoutUndefined } from "../../options.js";
import type { Target } from "../../variants/target.js";
import { type AccessToken, createAccessToken, type Operator } from "../auth.js";
import type { Emit } from "../events.js";

interface AnsweringEndpoint {
  readonly variant: Variant;
  readonly target: Target;
  readonly emit: Emit;
}

export const isRedirect = ({ status }: { status: number }): boolean => status >= 300 && status < 400;
export const isUnknownPath = ({ status }: { status: number }): boolean => [404, 405, 410].includes(status);

/** "3600 in the reference response" (section 2.3), "1 hour by default" (section 5.9). */
const defaultLifetimeSeconds = 3_600;
/** No service states more than a year. A larger number is a mistake, such as milliseconds, and would never be renewed. */
const longestLifetimeSeconds = 366 * 24 * 3_600;

export interface IssuedTokens {
  readonly token: AccessToken;
  /** `undefined` when it is absent, null or empty. */
  readonly refreshToken: string | undefined;
}

/**
 * Reads the answer of a token endpoint (sections 2.3, 4.2 and 7.1 of the description). A refusal is a
 * TokenRequestError (RFC 6749 section 5.2), and anything unknown is an UnexpectedResponseError.
 */
export function parseTokenAnswer(
  endpoint: AnsweringEndpoint,
  answer: Answer,
  secrets: readonly string[],
): IssuedTokens {
  const { variant } = endpoint;
  const { status } = answer;
  const address = isRedirect(answer) ? "the final address" : "right";
  const question = `Is baseUrl ${address}, and does this deployment serve Variant ${variant}?`;
  const next = status < 500 ? question : "Try again later, or ask the operator of the deployment.";
  const unexpected = (code: UnexpectedResponseError["code"], problem: string, issues: string[] = []) => {
    const message = `The token endpoint answered ${status}${problem}. ${next}`;
    return new UnexpectedResponseError(code, message, { status, variant, issues });
  };
  if (isRedirect(answer))
    throw unexpected("response_redirected", ", a redirect, which would carry the credential elsewhere");
  const json = parseJson(answer.text);
  const body = recordOf(json);
  // A router, a gateway or a failing server may answer with an `error` although it has refused nothing.
  const mayRefuse = !isUnknownPath(answer) && status !== 408 && status !== 421 && status < 500;
  // The description shows no error of Variant B (section 7.3), so these statuses refuse in any shape.
  const isRefusalOfB = variant === "B" && [400, 401, 403].includes(status);
  if (isRefusalOfB || (mayRefuse && body !== undefined && (status >= 400 || Boolean(body.error))))
    throw refusal(status, body, endpoint, secrets);
  if (json === undefined) throw unexpected("response_not_json", " without a JSON object");
  const whole = ["(whole body): an object is expected"];
  if (body === undefined) throw unexpected("response_shape", " with JSON that is not an object", whole);
  if (status >= 300) throw unexpected("response_shape", "");
  const read = tokensIn(body, answer.sentAt, endpoint);
  if (!Array.isArray(read)) return read;
  throw unexpected("response_shape", `, but not with a token: ${read.join("; ")}`, read);
}

function refusal(
  status: number,
  given: Record<string, unknown> | undefined,
  { variant, target: { tenantId } }: AnsweringEndpoint,
  secrets: readonly string[],
): TokenRequestError {
  const body = given ?? {};
  const received = [body.access_token, body.refresh_token].filter((one) => typeof one === "string");
  const all = [...secrets, ...received];
  const error = wireText(body.error, all);
  const errorDescription = wireText(body.error_description, all);
  const errorUri = wireText(body.error_uri, all);
  const reported = [error, errorDescription].filter((part) => part !== undefined).join(": ");
  // The description does not show Variant B's errors, so only the names of unknown fields are kept.
  const fields = Object.keys(body)
    .slice(0, 10)
    .map((key) => (/^[A-Za-z][A-Za-z_]{0,29}$/.test(key) ? (wireText(key, all) ?? "?") : "?"));
  const shape = given ? `with the fields ${fields.join(", ") || "(none)"}` : "that is not a JSON object";
  const content = reported === "" ? ` and a body ${shape}` : ` (${reported})`;
  const tenant = tenantId === "" ? "" : ` for the tenant "${tenantId}"`;
  const message = `The token endpoint refused the request with status ${status}${content}${tenant}.`;
  return new TokenRequestError(message, { variant, status, error, errorDescription, errorUri });
}

/** Returns the tokens in a body, or the reasons if it holds none. */
function tokensIn(
  body: Record<string, unknown>,
  sentAt: number,
  { variant, emit }: AnsweringEndpoint,
): IssuedTokens | string[] {
  const { access_token: value, token_type: type } = body;
  const issues: string[] = [];
  // RFC 6750 section 2.1 allows only these characters in a bearer token; others could break out of the header.
  const isToken = typeof value === "string" && /^[\x21-\x7e]+$/.test(value);
  if (!isToken) issues.push("access_token: a string without spaces is expected");
  if (type !== undefined && type !== null && !(typeof type === "string" && /^bearer$/i.test(type)))
    issues.push("token_type: Bearer is expected");
  const lifetimeSeconds = parseLifetimeSeconds(body.expires_in);
  if (lifetimeSeconds === undefined)
    issues.push("expires_in: whole seconds above 0 and up to a year are expected");
  // Of these fields Variant B shows only the access token (section 4.2), so no other costs a good one.
  if (!isToken || (variant === "A" && issues.length > 0)) return issues;
  for (const issue of issues) emit({ type: "token_field_ignored", issue });
  const operator = operatorIn(body);
  const ofUser = ["revo.user", "revo.user.userId", "revo.user.firstname"];
  if (operator === undefined && ofUser.some((path) => fieldAt(body, path) !== undefined))
    emit({ type: "operator_unreadable" });
  const token = createAccessToken({
    value,
    // The lifetime counts from the sending, since a slow answer must not lengthen it.
    expiresAt: sentAt + (lifetimeSeconds ?? defaultLifetimeSeconds) * 1000,
    issuedAt: sentAt,
    tenant: idOf(fieldAt(body, "revo.tenant")),
    operator,
    roles: rolesOf(fieldAt(body, "revo.roles")),
  });
  return { token, refreshToken: textOf(body.refresh_token) };
}

/**
 * Reads the field of a path whose parts may be nested, or be one flat key: "the object key the service is the
 * literal field name" (section 2.3). `null` counts as absent.
 */
function fieldAt(from: unknown, path: string): unknown {
  const record = recordOf(from);
  if (record === undefined) return undefined;
  let found: unknown = record[path] ?? undefined;
  for (let dot = path.indexOf("."); dot > 0 && found === undefined; dot = path.indexOf(".", dot + 1))
    found = fieldAt(record[path.slice(0, dot)], path.slice(dot + 1));
  return found;
}

/** An absent lifetime means the default of both variants, never an unlimited one. */
function parseLifetimeSeconds(value: unknown): number | undefined {
  if (value === undefined || value === null) return defaultLifetimeSeconds;
  const seconds = typeof value === "string" && /^\d{1,10}$/.test(value) ? Number(value) : value;
  const isInRange = typeof seconds === "number" && seconds >= 1 && seconds <= longestLifetimeSeconds;
  return isInRange ? seconds : undefined;
}

function operatorIn(body: Record<string, unknown>): Operator | undefined {
  const userId = idOf(fieldAt(body, "revo.user.userId"));
  if (userId === undefined) return undefined;
  const firstname = textOf(fieldAt(body, "revo.user.firstname"));
  const lastname = textOf(fieldAt(body, "revo.user.lastname"));
  return Object.freeze(withoutUndefined({ userId, firstname, lastname }) as Operator);
}

function rolesOf(roles: unknown): AccessToken["roles"] {
  if (!Array.isArray(roles)) return undefined;
  return Object.freeze(
    roles.flatMap((role: unknown) => {
      const { name, group } = recordOf(role) ?? { name: role };
      if (typeof name !== "string") return [];
      return [Object.freeze(typeof group === "string" ? { name, group } : { name })];
    }),
  );
}

/** The description shows no JSON type of ids. A number beyond the safe integers may stand for several ids. */
function idOf(value: unknown): string | undefined {
  return Number.isSafeInteger(value) ? String(value) : textOf(value);
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
