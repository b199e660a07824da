// Reads the JSON body of a token request and refuses what is no well-formed one.
import { z } from "zod";
import type { Refusal, RuleSwitches } from "../checks.js";
import { asGrant, type Grant, shownGrantType } from "../grant.js";
import { isMediaType } from "../http/media-type.js";
import { MAXIMUM_BODY_BYTES } from "../http/read-body.js";
import type { ReceivedRequest } from "../http/received-request.js";
import { shown } from "../shown.js";

/** The code exchange of section 4.2; whether it takes a secret is not shown, so a confidential client sends one. */
export interface CodeExchange {
  readonly grant: "authorization_code";
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  readonly code: string;
  readonly codeVerifier: string;
  readonly redirectUri: string;
}

/** Not shown; the fields of RFC 6749 section 6, as JSON. */
export interface RefreshRequest {
  readonly grant: "refresh_token";
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  readonly refreshToken: string;
  readonly scope?: string | undefined;
}

export type ClientRequest =
  | { readonly grant: "client_credentials"; readonly clientId: string; readonly clientSecret: string }
  | CodeExchange
  | RefreshRequest;

/** Which grants a path takes: "Exchange of a refresh_token ... (path and body): not shown" (section 4.2). */
export type GrantPlace = "every grant" | "every grant but refresh" | "refresh";

const text = z.string().min(1);
const schemas = {
  client_credentials: z.object({ client_id: text, client_secret: text }),
  authorization_code: z.object({
    client_id: text,
    client_secret: text.optional(),
    code: text,
    code_verifier: text,
    redirect_uri: text,
  }),
  refresh_token: z.object({
    client_id: text,
    client_secret: text.optional(),
    refresh_token: text,
    scope: text.optional(),
  }),
};

type Fields = Readonly<Record<string, unknown>>;
type Texts = Readonly<Record<string, string | undefined>>;

export async function readClientRequest(
  switches: RuleSwitches,
  request: ReceivedRequest,
  place: GrantPlace,
): Promise<ClientRequest | Refusal> {
  const contentType = request.header("content-type") ?? undefined;
  if (!isMediaType(contentType ?? null, "application/json")) {
    const finding = { expected: "application/json", actual: shown(contentType) };
    const refusal = switches.refusal("client-request.media-type", finding);
    if (refusal !== undefined) return refusal;
  }
  const isJsonRuled = switches.isEnforced("client-request.json");
  const isAnySizeRead = !switches.isEnforced("client-request.body-size");
  const body = await request.readBody({ isAnySizeRead, isAnyTextRead: !isJsonRuled });
  if ("fault" in body && body.fault === "too large") {
    const expected = `at most ${MAXIMUM_BODY_BYTES} bytes`;
    return { rule: "client-request.body-size", expected, actual: "more" };
  }
  const json = "text" in body ? parseObject(body.text) : undefined;
  if (json === undefined && isJsonRuled) {
    return { rule: "client-request.json", expected: "a JSON object", actual: "something else" };
  }
  const form = "text" in body ? Object.fromEntries(new URLSearchParams(body.text)) : {};
  const fields = json ?? form;
  return checkAuthentication(switches, request, fields) ?? readFields(switches, fields, place);
}

function checkAuthentication(
  switches: RuleSwitches,
  request: ReceivedRequest,
  fields: Fields,
): Refusal | undefined {
  const isAsserted = fields.client_assertion !== undefined && fields.client_assertion !== "";
  const second =
    request.header("authorization") !== null ? "an Authorization header" : isAsserted && "a client_assertion";
  if (second === false) return undefined;
  const finding = { expected: "client_id and client_secret alone", actual: second };
  return switches.refusal("client-request.one-authentication", finding);
}

function readFields(switches: RuleSwitches, fields: Fields, place: GrantPlace): ClientRequest | Refusal {
  const grant = grantOf(switches, fields, place);
  if (typeof grant !== "string") return grant;
  const read = readTexts(switches, grant, fields);
  if ("rule" in read) return read;
  const { texts } = read;
  const { client_id: clientId = "", client_secret: clientSecret } = texts;
  if (grant === "client_credentials") return { grant, clientId, clientSecret: clientSecret ?? "" };
  if (grant === "refresh_token") {
    return { grant, clientId, clientSecret, refreshToken: texts.refresh_token ?? "", scope: texts.scope };
  }
  const { code = "", code_verifier: codeVerifier = "", redirect_uri: redirectUri = "" } = texts;
  return { grant, clientId, clientSecret, code, codeVerifier, redirectUri };
}

function grantOf(switches: RuleSwitches, fields: Fields, place: GrantPlace): Grant | Refusal {
  // The code exchange of section 4.2 shows no grant_type; one that names it is understood as well.
  const implied = place === "refresh" ? "refresh_token" : fields.code !== undefined && "authorization_code";
  const named = fields.grant_type ?? (implied || undefined);
  const grant = asGrant(named);
  if (grant !== undefined && isTakenAt(place, grant)) return grant;
  const actual = shownGrantType(named);
  const untyped =
    typeof named === "string"
      ? undefined
      : switches.refusal("client-request.fields", { expected: "a grant_type", actual });
  const finding = { expected: "a grant of this path", actual };
  return untyped ?? switches.refusal("client-request.grant-type", finding) ?? fittingGrant(fields);
}

function isTakenAt(place: GrantPlace, grant: Grant): boolean {
  return grant === "refresh_token" ? place !== "every grant but refresh" : place !== "refresh";
}

function fittingGrant({ code, refresh_token: refreshToken }: Fields): Grant {
  if (code !== undefined) return "authorization_code";
  return refreshToken === undefined ? "client_credentials" : "refresh_token";
}

function readTexts(switches: RuleSwitches, grant: Grant, fields: Fields): { texts: Texts } | Refusal {
  const schema = schemas[grant];
  const read = schema.safeParse(fields);
  if (read.success) return { texts: read.data };
  const names = Object.keys(schema.shape);
  const faulty = [...new Set(read.error.issues.map(({ path }) => String(path[0])))];
  const expected = names.join(", ");
  const refusal = switches.refusal("client-request.fields", {
    expected,
    actual: `absent, empty or no string: ${faulty.join(", ")}`,
  });
  return refusal ?? { texts: Object.fromEntries(names.map((name) => [name, asText(fields[name])])) };
}

/** What is neither a string nor can be written as one counts as absent. */
function asText(value: unknown): string | undefined {
  return typeof value === "number" || typeof value === "boolean" || typeof value === "string"
    ? String(value) || undefined
    : undefined;
}

function parseObject(json: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(json);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}
