// Reads the JSON body of a token request and refuses what is no well-formed one.
import { z } from "zod";
import { isMediaType } from "../media-type.js";
import { MAXIMUM_BODY_BYTES, readBody } from "../read-body.js";
import type { Refusal } from "../refusal.js";
import { shown } from "../shown.js";

/** One of the two bodies that the description's section 4.2 shows. */
export type ClientRequest =
  | { readonly grant: "client_credentials"; readonly clientId: string; readonly clientSecret: string }
  | { readonly grant: "authorization_code"; readonly clientId: string };

const text = z.string().min(1);
const clientCredentials = z.object({ client_id: text, client_secret: text });
const codeExchange = z.object({ client_id: text, code: text, code_verifier: text, redirect_uri: text });

export async function readClientRequest(request: Request): Promise<ClientRequest | Refusal> {
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
  return readFields(fields);
}

function readFields(fields: Record<string, unknown>): ClientRequest | Refusal {
  const { grant_type: grantType } = fields;
  if (grantType === "client_credentials") {
    const read = clientCredentials.safeParse(fields);
    if (!read.success) return fieldsRefusal(read.error, "client_id and client_secret");
    return { grant: grantType, clientId: read.data.client_id, clientSecret: read.data.client_secret };
  }
  // The code exchange of section 4.2 shows no grant_type; one that names it is understood as well.
  if (grantType === "authorization_code" || (grantType === undefined && fields.code !== undefined)) {
    const read = codeExchange.safeParse(fields);
    if (!read.success) return fieldsRefusal(read.error, "code, code_verifier, client_id and redirect_uri");
    return { grant: "authorization_code", clientId: read.data.client_id };
  }
  if (typeof grantType !== "string") {
    return { rule: "client-request.fields", expected: "a grant_type", actual: shown(grantType) };
  }
  return { rule: "client-request.grant-type", expected: "client_credentials", actual: shown(grantType) };
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
