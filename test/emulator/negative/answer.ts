// What of an answer is compared: its status, the headers that matter, and its body; secrets by their place only.
import { type RuleId, rules } from "../../../src/emulator/index.js";

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON as it is; of a page its heading and what it complains of; else the text. */
  readonly body: unknown;
}

const HEADERS = ["allow", "cache-control", "content-type", "location", "retry-after", "www-authenticate"];
const SECRETS = ["access_token", "refresh_token", "code", "state", "url"];
/** Stands where a secret was handed out. */
export const SECRET = "…";

export async function readAnswer(response: Response): Promise<Answer> {
  const headers: Record<string, string> = {};
  for (const name of HEADERS) {
    const value = response.headers.get(name);
    if (value !== null) headers[name] = value.replace(/\b(code|request|state)=[\w-]+/g, `$1=${SECRET}`);
  }
  // A cookie's name carries the port.
  const cookies = response.headers.getSetCookie().map((line) => /^[a-z-]+?(?=-\d+=|=)/.exec(line)?.[0]);
  if (cookies.length > 0) headers["set-cookie"] = cookies.join(", ");
  return { status: response.status, headers, body: readBody(await response.text(), headers["content-type"]) };
}

function readBody(text: string, type = ""): unknown {
  if (type.startsWith("text/html")) {
    const plain = (pattern: RegExp) => pattern.exec(text)?.[1]?.replace(/<[^>]*>/g, "");
    const complaint = plain(/<p class="alarm"[^>]*>(.*?)<\/p>/s);
    return { page: plain(/<h1>(.*?)<\/h1>/s), ...(complaint !== undefined && { complaint }) };
  }
  if (!type.startsWith("application/json")) return text;
  return JSON.parse(text, (name, value) =>
    SECRETS.includes(name) && typeof value === "string" ? SECRET : value,
  );
}

const JSON_TYPE = { "content-type": "application/json" };
const HTML_TYPE = { "cache-control": "no-store", "content-type": "text/html; charset=utf-8" };
const NOT_STORED = { "cache-control": "no-store" };

/** Variant A's token endpoint: the opaque answer. */
export function refusedA(error: string): Answer {
  const body = { error, error_description: "The token request was rejected." };
  return { status: 400, headers: { ...JSON_TYPE, ...NOT_STORED }, body };
}
export const invalidClient: Answer = refusedA("invalid_client");
export const invalidGrant: Answer = refusedA("invalid_grant");
export const invalidRequest: Answer = refusedA("invalid_request");
export const unsupportedGrantType: Answer = refusedA("unsupported_grant_type");

function tokenOfA(revo: object): Answer {
  const body = { access_token: SECRET, token_type: "Bearer", expires_in: 3600, revo };
  return { status: 200, headers: { ...JSON_TYPE, ...NOT_STORED }, body };
}
const roles = [{ name: "service-plugin", group: "external-plugins" }];
export const serviceToken: Answer = tokenOfA({ tenant: "acme", roles });
export const globexToken: Answer = tokenOfA({ tenant: "globex", roles });
export const adasToken: Answer = tokenOfA({
  tenant: "acme",
  user: { userId: "ada", firstname: "Ada", lastname: "Lovelace" },
  roles: [{ name: "planner", group: "people" }],
});

/** Variant B's token endpoint. */
export function refusedB(rule: RuleId): Answer {
  const { answer, says } = rules[rule];
  const body = { error: answer.error, error_description: `Refused by the rule: ${says}` };
  return { status: answer.status, headers: { ...JSON_TYPE, ...NOT_STORED }, body };
}
export const accountToken: Answer = {
  status: 200,
  headers: { ...JSON_TYPE, ...NOT_STORED },
  body: { access_token: SECRET },
};
export const personTokens: Answer = {
  ...accountToken,
  body: { access_token: SECRET, refresh_token: SECRET },
};

/** The API. */
export const devices: Answer = {
  status: 200,
  headers: JSON_TYPE,
  body: [
    { id: "device-1", name: "North gate" },
    { id: "device-2", name: "South gate" },
    { id: "device-3", name: "Loading bay" },
  ],
};
export function ok(body: unknown): Answer {
  return { status: 200, headers: JSON_TYPE, body };
}
export const forbidden: Answer = { status: 403, headers: {}, body: "" };
export const noToken: Answer = { status: 401, headers: { "www-authenticate": "Bearer" }, body: "" };
export const invalidToken: Answer = {
  status: 401,
  headers: { "www-authenticate": 'Bearer error="invalid_token"' },
  body: "",
};
export const notFound: Answer = { status: 404, headers: JSON_TYPE, body: { error: "not_found" } };
export function wrongMethod(allow: string): Answer {
  return { status: 405, headers: { allow }, body: "" };
}

/** The pages. */
export function page(
  heading: string,
  more: { status?: number; complaint?: string; cookie?: string } = {},
): Answer {
  const { status = 200, complaint, cookie } = more;
  return {
    status,
    headers: { ...HTML_TYPE, ...(cookie && { "set-cookie": cookie }) },
    body: { page: heading, ...(complaint && { complaint }) },
  };
}
export function loginError(rule: RuleId): Answer {
  const { answer, says } = rules[rule];
  return page("This login cannot go on", { status: answer.status, complaint: `It breaks the rule: ${says}` });
}
export function redirect(status: 302 | 303, location: string, cookie?: string): Answer {
  return { status, headers: { ...NOT_STORED, location, ...(cookie && { "set-cookie": cookie }) }, body: "" };
}
export function toldCallback(
  rule: RuleId,
  status: 302 | 303 = 302,
  callback: string = "https://portal.example/callback",
): Answer {
  const { answer, says } = rules[rule];
  const query = new URLSearchParams({ error: answer.error ?? "", error_description: says });
  return redirect(status, `${callback}?${query}&state=${SECRET}`);
}
/** What the host's page is told by its server. */
export function refusedByHost(rule: RuleId): Answer {
  const { answer, says } = rules[rule];
  const body = { error: answer.error, error_description: says };
  return { status: answer.status, headers: { ...JSON_TYPE, ...NOT_STORED }, body };
}
