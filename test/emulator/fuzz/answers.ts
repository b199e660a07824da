// Checks that an answer has a documented status, with its headers and content, whatever was sent.
import type { JournalEntry } from "../../../src/emulator/index.js";
import { REJECTED } from "../deployment.js";

export interface SeenAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/**
 * Statuses by the operation that the journal names. Operations that are not listed are calls of the
 * API.
 */
const STATUSES: Readonly<Record<string, readonly number[]>> = {
  requestToken: [200, 400, 401, 413, 415, 429],
  authorize: [200, 302, 400, 414],
  showLogin: [200, 400],
  logIn: [303, 400, 403],
  showConsent: [200, 400],
  decideConsent: [200, 303, 400, 403],
  showHost: [200, 404],
  signInAtHost: [303, 403, 404],
  signOutOfHost: [303, 404],
  launchPlugin: [201, 400, 403, 404],
  authorizeLaunch: [200, 400, 403, 404],
};
const CALL = [200, 401, 403, 404];
/**
 * Paths of the emulator, and the registered callbacks. The callback on loopback may have any port
 * and no path.
 */
const TARGETS =
  /^(\/_emulator|\/host\/|\/v1\/auth\/consent\?request=|https:\/\/portal\.example\/callback\?|http:\/\/127\.0\.0\.1(:\d+)?(\/callback)?\?)/;
const ERROR = /^(invalid_(client|grant|request|scope)|unsupported_grant_type)$/;
const TOKEN = /^[\w-]{43}$/;

/**
 * @param entry the journal's entry for the request; undefined for the pages at /_emulator, which
 * have none
 */
export function flawIn(
  answer: SeenAnswer,
  method: string,
  entry: JournalEntry | undefined,
): string | undefined {
  const { status, headers, text } = answer;
  if (status >= 500) return "a status of 500 or more";
  // RFC 9110 section 9.3.2: HEAD is answered like GET, but without content.
  if (method === "HEAD") return text === "" ? undefined : "content in the answer to HEAD";
  const type = headers.get("content-type") ?? "";
  const { operation } = entry ?? {};
  if (entry !== undefined) {
    const documented = operation === undefined ? [404, 405] : (STATUSES[operation] ?? CALL);
    if (!documented.includes(status)) return `a status that is not documented for ${operation}`;
  }
  if (status === 401 && operation !== "requestToken" && !headers.has("www-authenticate"))
    return "no WWW-Authenticate";
  if (status === 405 && entry !== undefined && !headers.has("allow")) return "no Allow";
  if (status === 302 || status === 303) {
    const location = headers.get("location") ?? "";
    return TARGETS.test(location) ? undefined : `a redirect to ${location}`;
  }
  if (type.startsWith("text/html")) {
    if (!headers.get("content-security-policy")?.startsWith("default-src 'none'"))
      return "a page without a policy";
    return text.includes("<script>alert") ? "a page with a script that was sent" : undefined;
  }
  if (type === "application/json") {
    const body: unknown = JSON.parse(text);
    return operation === "requestToken"
      ? flawInTokenAnswer(answer, body as Record<string, unknown>, entry?.variant)
      : undefined;
  }
  const isCall = operation !== undefined && !(operation in STATUSES);
  return isCall && text !== "" ? "content without a type" : undefined;
}

function flawInTokenAnswer(
  { status, headers }: SeenAnswer,
  body: Record<string, unknown>,
  variant: "A" | "B" | undefined,
): string | undefined {
  if (headers.get("cache-control") !== "no-store") return "a token answer that may be stored";
  const {
    access_token: token,
    refresh_token: refreshToken = token,
    error,
    error_description: text,
  } = body;
  if (status === 200)
    return [token, refreshToken].every((one) => TOKEN.test(String(one))) ? undefined : "no token";
  if (!ERROR.test(String(error))) return `the error ${error}`;
  // Variant A does not disclose the real reason (section 7.1).
  return variant === "B" || text === REJECTED ? undefined : `the description ${text}`;
}
