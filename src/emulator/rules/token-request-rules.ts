// The rules of a request to Variant A's token endpoint, assertion and code aside, in the order in which they are applied.
import type { Rule } from "./rule.js";

export type TokenRequestRuleId =
  | "token-request.rate-limit"
  | "token-request.media-type"
  | "token-request.body-size"
  | "token-request.duplicate-parameter"
  | "token-request.one-authentication"
  | "token-request.grant-type"
  | "token-request.assertion-type"
  | "token-request.client-id"
  | "plugin.registered"
  | "plugin.enabled"
  | "plugin.grant";

/** RFC 6749 section 5.2 gives the code where the description's table 7.1 names no condition. */
const invalidRequest = { status: 400, error: "invalid_request" } as const;
const invalidGrant = { status: 400, error: "invalid_grant" } as const;

export const tokenRequestRules: Readonly<Record<TokenRequestRuleId, Rule>> = {
  "token-request.rate-limit": {
    section: "8",
    says: "Token requests are limited per tenant in a sliding window.",
    answer: { status: 429 },
    remedy:
      "Keep tokens until shortly before they expire; honour Retry-After, or back off doubling with jitter.",
  },
  "token-request.media-type": {
    section: "4.1",
    says: "The body is application/x-www-form-urlencoded, in UTF-8.",
    answer: invalidRequest,
    remedy: "Send Content-Type: application/x-www-form-urlencoded and a form body.",
  },
  "token-request.body-size": {
    section: "not shown",
    says: "The body has at most 65536 bytes.",
    answer: invalidRequest,
    remedy: "Send the fields of section 4.1 and nothing else.",
  },
  "token-request.duplicate-parameter": {
    section: "not shown (RFC 6749 section 3.2)",
    says: "No parameter is included more than once.",
    answer: invalidRequest,
    remedy: "Send each form field once.",
  },
  "token-request.one-authentication": {
    section: "5.2 (RFC 6749 section 2.3)",
    says: "The assertion is the only client authentication: no Authorization header and no client_secret beside it.",
    answer: invalidRequest,
    remedy: "Drop the Authorization header and client_secret; there are no client secrets in Variant A.",
  },
  "token-request.grant-type": {
    section: "4.1, 7.1",
    says: "grant_type is client_credentials or authorization_code.",
    answer: { status: 400, error: "unsupported_grant_type" },
    remedy: "To renew, acquire a token again with a fresh assertion; there is no refresh_token.",
  },
  "token-request.assertion-type": {
    section: "4.1, 7.1",
    says: "client_assertion_type is urn:ietf:params:oauth:client-assertion-type:jwt-bearer.",
    answer: invalidRequest,
    remedy: "Send client_assertion_type with exactly that value.",
  },
  "token-request.client-id": {
    section: "4.1",
    says: "client_id is required.",
    answer: invalidRequest,
    remedy: "Send the plugin's client_id as a form field.",
  },
  "plugin.registered": {
    section: "3, 7.1",
    says: "The plugin is registered in the tenant of the path.",
    answer: invalidGrant,
    remedy: "The customer confirms the client id under Settings, Tenant Settings, External Plugins.",
  },
  "plugin.enabled": {
    section: "3, 7.1",
    says: "The plugin is enabled.",
    answer: invalidGrant,
    remedy: "The customer enables the plugin under Settings, Tenant Settings, External Plugins.",
  },
  "plugin.grant": {
    section: "1, 7.1",
    says: "A service plugin uses client_credentials, a user-interface plugin authorization_code.",
    answer: invalidGrant,
    remedy: "Use the grant of the plugin's type, or have it registered as the other type.",
  },
};
