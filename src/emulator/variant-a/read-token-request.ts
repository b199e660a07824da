// Reads the form of a token request and refuses what is no well-formed one.

import type { Refusal, RuleSwitches } from "../checks.js";
import { isMediaType } from "../http/media-type.js";
import { MAXIMUM_BODY_BYTES } from "../http/read-body.js";
import type { ReceivedRequest } from "../http/received-request.js";
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

/** A request that is not well-formed, and the codes that it presents nevertheless. */
export interface MalformedRequest {
  readonly refusal: Refusal;
  readonly codes: readonly string[];
}

export async function readTokenRequest(
  switches: RuleSwitches,
  request: ReceivedRequest,
): Promise<TokenRequest | MalformedRequest> {
  const isTypeRuled = switches.isEnforced("token-request.media-type");
  const contentType = request.header("content-type");
  if (isTypeRuled && !isMediaType(contentType, "application/x-www-form-urlencoded"))
    return unread(mediaTypeRefusal(shown(contentType ?? undefined)));
  const isAnySizeRead = !switches.isEnforced("token-request.body-size");
  const body = await request.readBody({ isAnySizeRead, isAnyTextRead: !isTypeRuled });
  if ("fault" in body) {
    if (body.fault === "unreadable") return unread(mediaTypeRefusal("a body that broke off or is not UTF-8"));
    const expected = `at most ${MAXIMUM_BODY_BYTES} bytes`;
    return unread({ rule: "token-request.body-size", expected, actual: "more" });
  }
  const form = new URLSearchParams(body.text);
  const refusal = checkForm(switches, form, request);
  return refusal === undefined ? fieldsOf(form) : { refusal, codes: codesIn(form) };
}

/** What is no form, or too long for one, presents no code. */
function unread(refusal: Refusal): MalformedRequest {
  return { refusal, codes: [] };
}

/** All of a repeated parameter: any of them may be the one that a server with other rules would take. */
function codesIn(form: URLSearchParams): readonly string[] {
  return form.getAll("grant_type").includes("authorization_code") ? form.getAll("code") : [];
}

function checkForm(
  switches: RuleSwitches,
  form: URLSearchParams,
  request: ReceivedRequest,
): Refusal | undefined {
  const seen = new Set<string>();
  const repeated = [...form.keys()].find((name) => seen.size === seen.add(name).size);
  const repetition =
    repeated === undefined
      ? undefined
      : switches.refusal("token-request.duplicate-parameter", {
          expected: "each parameter once",
          actual: shown(repeated),
        });
  if (repetition !== undefined) return repetition;
  const second =
    request.header("authorization") !== null
      ? "an Authorization header"
      : form.get("client_secret") && "a client_secret";
  if (!second) return undefined;
  return switches.refusal("token-request.one-authentication", {
    expected: "the assertion alone",
    actual: second,
  });
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

function mediaTypeRefusal(actual: string): Refusal {
  return { rule: "token-request.media-type", expected: "application/x-www-form-urlencoded in UTF-8", actual };
}
