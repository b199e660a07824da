// Reads the form of a token request (description, section 4.1) and refuses a request that is not well-formed.
import type { Refusal, RuleSwitches } from "../checks.js";
import { isMediaType, MAXIMUM_BODY_BYTES, readBody } from "../http/messages.js";
import { shown } from "../shown.js";

/** The form fields of section 4.1; absent and empty ones are undefined. */
export interface TokenRequest {
  readonly grantType: string | undefined;
  readonly clientId: string | undefined;
  readonly code: string | undefined;
  readonly codeVerifier: string | undefined;
  readonly clientAssertionType: string | undefined;
  readonly clientAssertion: string | undefined;
}

/** A request that is not well-formed, with the codes that it presents nevertheless. */
export interface MalformedRequest {
  readonly refusal: Refusal;
  readonly codes: readonly string[];
}

export async function readTokenRequest(
  switches: RuleSwitches,
  request: Request,
): Promise<TokenRequest | MalformedRequest> {
  const contentType = request.headers.get("content-type");
  const wrongType = isMediaType(contentType, "application/x-www-form-urlencoded")
    ? undefined
    : switches.refusal("token-request.media-type", mediaTypeFinding(shown(contentType ?? undefined)));
  if (wrongType !== undefined) return { refusal: wrongType, codes: [] };
  const body = await readBody(request);
  if ("fault" in body) {
    const refusal: Refusal =
      body.fault === "unreadable"
        ? { rule: "token-request.media-type", ...mediaTypeFinding("a body that broke off or is not UTF-8") }
        : {
            rule: "token-request.body-size",
            expected: `at most ${MAXIMUM_BODY_BYTES} bytes`,
            actual: "more",
          };
    return { refusal, codes: [] };
  }
  const form = new URLSearchParams(body.text);
  const refusal = checkForm(switches, form, request);
  return refusal === undefined ? fieldsOf(form) : { refusal, codes: codesIn(form) };
}

/** All values of a repeated parameter: a server with other rules could exchange any of them. */
function codesIn(form: URLSearchParams): readonly string[] {
  return form.getAll("grant_type").includes("authorization_code") ? form.getAll("code") : [];
}

function checkForm(switches: RuleSwitches, form: URLSearchParams, request: Request): Refusal | undefined {
  const names = [...form.keys()];
  const repeated = names.find((name, index) => names.indexOf(name) < index);
  if (repeated !== undefined) {
    const finding = { expected: "each parameter once", actual: shown(repeated) };
    const refusal = switches.refusal("token-request.duplicate-parameter", finding);
    if (refusal !== undefined) return refusal;
  }
  const hasHeader = request.headers.has("authorization");
  if (!hasHeader && !form.get("client_secret")) return undefined;
  const actual = hasHeader ? "an Authorization header" : "a client_secret";
  return switches.refusal("token-request.one-authentication", { expected: "the assertion alone", actual });
}

function fieldsOf(form: URLSearchParams): TokenRequest {
  // RFC 6749 section 3.2: "Parameters sent without a value MUST be treated as if they were omitted".
  const field = (name: string) => form.get(name) || undefined;
  return {
    grantType: field("grant_type"),
    clientId: field("client_id"),
    code: field("code"),
    codeVerifier: field("code_verifier"),
    clientAssertionType: field("client_assertion_type"),
    clientAssertion: field("client_assertion"),
  };
}

function mediaTypeFinding(actual: string): { expected: string; actual: string } {
  return { expected: "application/x-www-form-urlencoded in UTF-8", actual };
}
