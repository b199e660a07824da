// Reads the JSON body of a token request and refuses what is no well-formed one.
import { z } from "zod";
import { isMediaType } from "../media-type.js";
import { MAXIMUM_BODY_BYTES, readBody } from "../read-body.js";
import type { Refusal } from "../refusal.js";
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
const clientCredentials = z.object({ client_id: text, client_secret: text });
const codeExchange = z.object({
  client_id: text,
  client_secret: text.optional(),
  code: text,
  code_verifier: text,
  redirect_uri: text,
});
const refresh = z.object({
  client_id: text,
  client_secret: text.optional(),
  refresh_token: text,
  scope: text.optional(),
});

export async function readClientRequest(
  request: Request,
  place: GrantPlace,
): Promise<ClientRequest | Refusal> {
  const contentType = request.headers.get("content-type") ?? undefined;
  if (!isMediaType(contentType ?? null, "application/json")) {
    return { rule: "client-request.media-type", expected: "application/json", actual: shown(contentType) };
  }
  const body = await readBody(request);
  if ("fault" in body && body.fault === "too large") {
    return {
      rule: "client-request.body-size",
      expected: `at most ${MAXIMUM_BODY_BYTES} bytes`,
      actual: "more",
    };
  }
  const fields = "text" in body ? parseObject(body.text) : undefined;
  if (fields === undefined) {
    return { rule: "client-request.json", expected: "a JSON object", actual: "something else" };
  }
  if (request.headers.has("authorization")) {
    const actual = "an Authorization header";
    return { rule: "client-request.one-authentication", expected: "the body alone", actual };
  }
  return readFields(fields, place);
}

function readFields(fields: Record<string, unknown>, place: GrantPlace): ClientRequest | Refusal {
  const { grant_type: named } = fields;
  // The code exchange of section 4.2 shows no grant_type; one that names it is understood as well.
  const implied = place === "refresh" ? "refresh_token" : fields.code !== undefined && "authorization_code";
  const grantType = named ?? (implied || undefined);
  if (grantType === "refresh_token" && place !== "every grant but refresh") return readRefresh(fields);
  if (grantType === "client_credentials" && place !== "refresh") {
    const read = clientCredentials.safeParse(fields);
    if (!read.success) return fieldsRefusal(read.error, "client_id and client_secret");
    return { grant: grantType, clientId: read.data.client_id, clientSecret: read.data.client_secret };
  }
  if (grantType === "authorization_code" && place !== "refresh") return readCodeExchange(fields);
  if (typeof grantType !== "string") {
    return { rule: "client-request.fields", expected: "a grant_type", actual: shown(grantType) };
  }
  return { rule: "client-request.grant-type", expected: "a grant of this path", actual: shown(grantType) };
}

function readCodeExchange(fields: Record<string, unknown>): CodeExchange | Refusal {
  const read = codeExchange.safeParse(fields);
  if (!read.success) return fieldsRefusal(read.error, "code, code_verifier, client_id and redirect_uri");
  return {
    grant: "authorization_code",
    clientId: read.data.client_id,
    clientSecret: read.data.client_secret,
    code: read.data.code,
    codeVerifier: read.data.code_verifier,
    redirectUri: read.data.redirect_uri,
  };
}

function readRefresh(fields: Record<string, unknown>): RefreshRequest | Refusal {
  const read = refresh.safeParse(fields);
  if (!read.success) return fieldsRefusal(read.error, "refresh_token and client_id");
  return {
    grant: "refresh_token",
    clientId: read.data.client_id,
    clientSecret: read.data.client_secret,
    refreshToken: read.data.refresh_token,
    scope: read.data.scope,
  };
}

function fieldsRefusal(error: z.ZodError, expected: string): Refusal {
  const names = [...new Set(error.issues.map(({ path }) => String(path[0])))];
  return {
    rule: "client-request.fields",
    expected,
    actual: `absent, empty or no string: ${names.join(", ")}`,
  };
}

function parseObject(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
