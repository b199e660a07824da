// The rules of a request to Variant B's token endpoint, in the order in which they are applied.
import type { RuleEntry } from "./rule.js";

export type ClientRequestRuleId =
  | "client-request.method"
  | "client-request.media-type"
  | "client-request.body-size"
  | "client-request.json"
  | "client-request.one-authentication"
  | "client-request.grant-type"
  | "client-request.fields"
  | "client.authentication";

/** Variant B's error codes are not shown; these are RFC 6749 section 5.2's. */
const invalidRequest = { status: 400, error: "invalid_request" } as const;

export const clientRequestRules: Readonly<Record<ClientRequestRuleId, RuleEntry>> = {
  "client-request.method": {
    section: "4.2",
    says: "A token is asked for by POST.",
    answer: { status: 405 },
    remedy: "Send POST; the fields belong in the body.",
    off: "Other methods are answered as a POST is; a GET's query counts as its JSON.",
  },
  "client-request.media-type": {
    section: "4.2 (RFC 9110 section 15.5.16)",
    says: "The body is application/json.",
    answer: { status: 415, error: "invalid_request" },
    remedy: "Send Content-Type: application/json and a JSON body.",
    off: "Content-Type is not looked at: whatever comes is read as JSON.",
  },
  "client-request.body-size": {
    section: "not shown (RFC 9110 section 15.5.14)",
    says: "The body has at most 65536 bytes.",
    answer: { status: 413, error: "invalid_request" },
    remedy: "Send the fields of section 4.2 and nothing else.",
    off: "Bodies of up to 16 MiB are read.",
  },
  "client-request.json": {
    section: "4.2",
    says: "The body is one JSON object; of a member that is repeated the last counts.",
    answer: invalidRequest,
    remedy: "Send a JSON object with the fields of section 4.2.",
    off: "A form in the body is read as well.",
  },
  "client-request.one-authentication": {
    section: "not shown (RFC 6749 section 2.3)",
    says: "The client authenticates by client_id and client_secret in the body: no Authorization header, no client_assertion.",
    answer: invalidRequest,
    remedy:
      "Send client_id and client_secret in the body, without an Authorization header; assertions are Variant A's.",
    off: "The Authorization header and the assertion are ignored.",
  },
  "client-request.grant-type": {
    section: "4.2",
    says: "grant_type is client_credentials or, where this path takes it, refresh_token; or the body is a code exchange.",
    answer: { status: 400, error: "unsupported_grant_type" },
    remedy:
      "Send grant_type client_credentials or refresh_token, or code, code_verifier, client_id and redirect_uri.",
    off: "An unknown grant_type, or one of another path, is read as the grant that the fields fit.",
  },
  "client-request.fields": {
    section: "4.2",
    says: "Every field of the grant is a string that is not empty.",
    answer: invalidRequest,
    remedy: "Send every field that section 4.2 shows for the grant, each as a string.",
    off: "Numbers and booleans are read as strings, what else is no string as an empty one.",
  },
  "client.authentication": {
    section: "4.2, 5.10",
    says: "client_id and client_secret are those of a registered service account.",
    answer: { status: 401, error: "invalid_client" },
    remedy: "Compare both with the admin area under Service accounts.",
    off: "Any client_secret of a registered service account is taken.",
  },
};
