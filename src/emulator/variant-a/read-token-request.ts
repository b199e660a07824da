// Reads the form of a token request and refuses what is no well-formed one.
import { isMediaType } from "../media-type.js";
import { MAXIMUM_BODY_BYTES, readBody } from "../read-body.js";
import type { Refusal } from "../refusal.js";
import { shown } from "../shown.js";

/** The form fields of section 4.1, absent ones undefined. */
export interface TokenRequest {
  readonly grantType: string | undefined;
  readonly clientId: string | undefined;
  readonly code: string | undefined;
  readonly codeVerifier: string | undefined;
  readonly clientAssertionType: string | undefined;
  readonly clientAssertion: string | undefined;
}

export async function readTokenRequest(request: Request): Promise<TokenRequest | Refusal> {
  const contentType = request.headers.get("content-type");
  if (!isMediaType(contentType, "application/x-www-form-urlencoded"))
    return mediaTypeRefusal(shown(contentType ?? undefined));
  const body = await readBody(request);
  if ("fault" in body) {
    if (body.fault === "unreadable") return mediaTypeRefusal("a body that broke off or is not UTF-8");
    return {
      rule: "token-request.body-size",
      expected: `at most ${MAXIMUM_BODY_BYTES} bytes`,
      actual: "more",
    };
  }
  const form = new URLSearchParams(body.text);
  const seen = new Set<string>();
  const repeated = [...form.keys()].find((name) => seen.size === seen.add(name).size);
  if (repeated !== undefined) {
    return {
      rule: "token-request.duplicate-parameter",
      expected: "each parameter once",
      actual: shown(repeated),
    };
  }
  // RFC 6749 section 3.2: "Parameters sent without a value MUST be treated as if they were omitted".
  const field = (name: string) => form.get(name) || undefined;
  const second = request.headers.has("authorization")
    ? "an Authorization header"
    : field("client_secret") && "a client_secret";
  if (second !== undefined) {
    return { rule: "token-request.one-authentication", expected: "the assertion alone", actual: second };
  }
  return {
    grantType: field("grant_type"),
    clientId: field("client_id"),
    code: field("code"),
    codeVerifier: field("code_verifier"),
    clientAssertionType: field("client_assertion_type"),
    clientAssertion: field("client_assertion"),
  };
}

function mediaTypeRefusal(actual: string): Refusal {
  return { rule: "token-request.media-type", expected: "application/x-www-form-urlencoded in UTF-8", actual };
}
