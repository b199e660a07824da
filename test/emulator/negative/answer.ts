// The parts of an answer that a row compares: status, the headers that matter and the body, with
// secrets masked and page texts left out.
import { emulatorRules, type RuleId } from "../../../src/emulator/index.js";
import { CALLBACK, REJECTED } from "../deployment.js";

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Unchanged JSON, the path that a page's first form posts to, or else the text. */
  readonly body: unknown;
  /** The rule that the answer quotes. */
  readonly says?: RuleId | undefined;
}

const HEADERS = [
  "allow",
  "cache-control",
  "content-type",
  "location",
  "retry-after",
  "www-authenticate",
];
const SECRETS = ["access_token", "refresh_token", "code", "state", "url"];
/** Stands where a secret was handed out. */
const SECRET = "…";

export async function readAnswer(response: Response): Promise<Answer> {
  const headers: Record<string, string> = {};
  for (const name of HEADERS) {
    const value = response.headers.get(name);
    if (value !== null) headers[name] = value;
  }
  const text = await response.text();
  const says = quoted(text + decodeURIComponent((headers.location ?? "").replaceAll("+", " ")));
  if (headers.location !== undefined)
    headers.location = headers.location
      .replace(/&?error_description=[^&]*/, "")
      .replace(/\b(code|request|state)=[\w-]+/g, `$1=${SECRET}`);
  // The name of a cookie may end with the port.
  const cookies = response.headers
    .getSetCookie()
    .map((line) => /^[a-z-]+?(?=-\d+=|=)/.exec(line)?.[0]);
  if (cookies.length > 0) headers["set-cookie"] = cookies.join(", ");
  const body = readBody(text, headers["content-type"], says !== undefined);
  return { status: response.status, headers, body, ...(says && { says }) };
}

/** If several rules have the same sentence, the first one counts. */
function quoted(text: string): RuleId | undefined {
  return (Object.keys(emulatorRules) as RuleId[]).find((rule) =>
    text.includes(emulatorRules[rule].says),
  );
}

function readBody(text: string, type = "", isQuoting: boolean): unknown {
  if (type.startsWith("text/html")) return { form: /<form[^>]* action="([^"]*)"/.exec(text)?.[1] };
  if (!type.startsWith("application/json")) return text;
  return JSON.parse(text, (name, value) => {
    if (name === "error_description" && isQuoting) return undefined;
    return SECRETS.includes(name) && typeof value === "string" ? SECRET : value;
  });
}

const JSON_TYPE = { "content-type": "application/json" };
const NOT_STORED = { "cache-control": "no-store" };
const UNSTORED_JSON = { ...JSON_TYPE, ...NOT_STORED };

export function ok(body: unknown): Answer {
  return { status: 200, headers: JSON_TYPE, body };
}

/** Variant A's token endpoint. */
function refusedA(error: string): Answer {
  return { status: 400, headers: UNSTORED_JSON, body: { error, error_description: REJECTED } };
}
export const invalidClient: Answer = refusedA("invalid_client");
export const invalidGrant: Answer = refusedA("invalid_grant");
export const invalidRequest: Answer = refusedA("invalid_request");
export const unsupportedGrantType: Answer = refusedA("unsupported_grant_type");

export function tokenA(revo: object): Answer {
  const body = { access_token: SECRET, token_type: "Bearer", expires_in: 3600, revo };
  return { status: 200, headers: UNSTORED_JSON, body };
}
const roles = [{ name: "service-plugin", group: "external-plugins" }];
export const serviceToken: Answer = tokenA({ tenant: "acme", roles });
export const globexToken: Answer = tokenA({ tenant: "globex", roles });
export const adasToken: Answer = tokenA({
  tenant: "acme",
  user: { userId: "ada", firstname: "Ada", lastname: "Lovelace" },
  roles: [{ name: "planner", group: "people" }],
});

/**
 * Variant B's token endpoint and the host application answer with the rule's error and sentence.
 */
export function refused(rule: RuleId): Answer {
  const { status, error } = emulatorRules[rule].answer;
  return {
    status,
    headers: UNSTORED_JSON,
    body: { error },
    says: quoted(emulatorRules[rule].says),
  };
}
export function unstored(body: unknown, status = 200): Answer {
  return { status, headers: UNSTORED_JSON, body };
}
export const accountToken: Answer = unstored({ access_token: SECRET });
export const personTokens: Answer = unstored({ access_token: SECRET, refresh_token: SECRET });

/** The API. */
export const devices: Answer = ok([
  { id: "device-1", name: "North gate" },
  { id: "device-2", name: "South gate" },
  { id: "device-3", name: "Loading bay" },
]);
export const forbidden: Answer = { status: 403, headers: {}, body: "" };
export const noToken: Answer = { status: 401, headers: { "www-authenticate": "Bearer" }, body: "" };
export const invalidToken: Answer = {
  ...noToken,
  headers: { "www-authenticate": 'Bearer error="invalid_token"' },
};
export const notFound: Answer = { status: 404, headers: JSON_TYPE, body: { error: "not_found" } };
export function wrongMethod(allow: string): Answer {
  return { status: 405, headers: { allow }, body: "" };
}

/** A page. */
export function page(form: string | undefined, status = 200, cookie?: string): Answer {
  const type = { "content-type": "text/html; charset=utf-8" };
  const headers = { ...NOT_STORED, ...type, ...(cookie && { "set-cookie": cookie }) };
  return { status, headers, body: { form } };
}
/** The page that ends a login. The client is not informed. */
export function loginError(rule: RuleId): Answer {
  return {
    ...page(undefined, emulatorRules[rule].answer.status),
    says: quoted(emulatorRules[rule].says),
  };
}
export function redirect(status: 302 | 303, location: string, cookie?: string): Answer {
  return {
    status,
    headers: { ...NOT_STORED, location, ...(cookie && { "set-cookie": cookie }) },
    body: "",
  };
}
/**
 * The redirect that informs the client at its callback which rule its authorization request broke.
 */
export function callbackError(rule: RuleId, status: 302 | 303 = 302): Answer {
  const location = `${CALLBACK}?error=${emulatorRules[rule].answer.error}&state=${SECRET}`;
  return { ...redirect(status, location), says: quoted(emulatorRules[rule].says) };
}
