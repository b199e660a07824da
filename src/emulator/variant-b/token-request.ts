// Reads the JSON body of a token request (description, section 4.2) and refuses a request that is not well-formed.
import { z } from "zod";
import type { Refusal, RuleSwitches } from "../checks.js";
import { isMediaType, MAXIMUM_BODY_BYTES, parseObject, readBody } from "../http/messages.js";
import { asGrant, type Grant, shownGrantType } from "../oauth.js";
import { shown } from "../shown.js";

/** The code exchange. Whether it carries a secret is not shown; here a confidential client must send one. */
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

/** The grants of a path: "Exchange of a refresh_token ... (path and body): not shown". */
export type GrantPlace = "every grant" | "every grant but refresh" | "refresh";

const text = z.string().min(1);
const client = { client_id: text, client_secret: text.optional() };
const schemas = {
  client_credentials: z.object({ client_id: text, client_secret: text }),
  authorization_code: z.object({ ...client, code: text, code_verifier: text, redirect_uri: text }),
  refresh_token: z.object({ ...client, refresh_token: text, scope: text.optional() }),
};

type Fields = Readonly<Record<string, unknown>>;

export async function readClientRequest(
  switches: RuleSwitches,
  request: Request,
  place: GrantPlace,
): Promise<ClientRequest | Refusal> {
  const contentType = request.headers.get("content-type");
  if (!isMediaType(contentType, "application/json")) {
    const finding = { expected: "application/json", actual: shown(contentType ?? undefined) };
    const refusal = switches.refusal("client-request.media-type", finding);
    if (refusal !== undefined) return refusal;
  }
  const body = await readBody(request);
  if ("fault" in body && body.fault === "too large") {
    const expected = `at most ${MAXIMUM_BODY_BYTES} bytes`;
    return { rule: "client-request.body-size", expected, actual: "more" };
  }
  const fields = "text" in body ? parseObject(body.text) : undefined;
  if (fields === undefined) {
    return { rule: "client-request.json", expected: "a JSON object", actual: "something else" };
  }
  return checkAuthentication(switches, request, fields) ?? readFields(fields, place);
}

function checkAuthentication(switches: RuleSwitches, request: Request, fields: Fields): Refusal | undefined {
  const hasHeader = request.headers.has("authorization");
  if (!hasHeader && (fields.client_assertion === undefined || fields.client_assertion === "")) {
    return undefined;
  }
  const actual = hasHeader ? "an Authorization header" : "a client_assertion";
  const finding = { expected: "client_id and client_secret alone", actual };
  return switches.refusal("client-request.one-authentication", finding);
}

function readFields(fields: Fields, place: GrantPlace): ClientRequest | Refusal {
  const grant = grantOf(fields, place);
  switch (grant) {
    case "client_credentials": {
      const read = schemas[grant].safeParse(fields);
      if (!read.success) return fieldsRefusal(schemas[grant], read.error);
      return { grant, clientId: read.data.client_id, clientSecret: read.data.client_secret };
    }
    case "authorization_code": {
      const read = schemas[grant].safeParse(fields);
      if (!read.success) return fieldsRefusal(schemas[grant], read.error);
      const { code, code_verifier: codeVerifier, redirect_uri: redirectUri } = read.data;
      const { client_id: clientId, client_secret: clientSecret } = read.data;
      return { grant, clientId, clientSecret, code, codeVerifier, redirectUri };
    }
    case "refresh_token": {
      const read = schemas[grant].safeParse(fields);
      if (!read.success) return fieldsRefusal(schemas[grant], read.error);
      const { client_id: clientId, client_secret: clientSecret, scope } = read.data;
      return { grant, clientId, clientSecret, refreshToken: read.data.refresh_token, scope };
    }
    default:
      return grant;
  }
}

function grantOf(fields: Fields, place: GrantPlace): Grant | Refusal {
  // The code exchange of section 4.2 shows no grant_type; a request that names it is accepted as well.
  const implied = place === "refresh" ? "refresh_token" : fields.code !== undefined && "authorization_code";
  const named = fields.grant_type ?? (implied || undefined);
  const grant = asGrant(named);
  const isTaken = grant === "refresh_token" ? place !== "every grant but refresh" : place !== "refresh";
  if (grant !== undefined && isTaken) return grant;
  const actual = shownGrantType(named);
  if (typeof named !== "string") return { rule: "client-request.fields", expected: "a grant_type", actual };
  return { rule: "client-request.grant-type", expected: "a grant of this path", actual };
}

function fieldsRefusal(schema: z.ZodObject, { issues }: z.ZodError): Refusal {
  const faulty = [...new Set(issues.map(({ path }) => String(path[0])))].join(", ");
  return {
    rule: "client-request.fields",
    expected: Object.keys(schema.shape).join(", "),
    actual: `absent, empty or not a string: ${faulty}`,
  };
}
