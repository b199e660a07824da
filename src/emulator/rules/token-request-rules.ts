// The rules of a request to Variant A's token endpoint, assertion and code aside, in the order in which they are applied.
import type { RuleEntry } from "./rule.js";

export type TokenRequestRuleId =
  | "token-request.method"
  | "token-request.rate-limit"
  | "rate-limit.tenant"
  | "rate-limit.sliding"
  | "token-request.media-type"
  | "token-request.body-size"
  | "token-request.duplicate-parameter"
  | "token-request.one-authentication"
  | "token-request.grant-type"
  | "token-request.assertion-type"
  | "token-request.client-id"
  | "plugin.registered"
  | "plugin.enabled"
  | "plugin.grant"
  | "token-request.opacity"
  | "token-request.failure-status";

/** RFC 6749 section 5.2 gives the code where the description's table 7.1 names no condition. */
const invalidRequest = { status: 400, error: "invalid_request" } as const;
const invalidGrant = { status: 400, error: "invalid_grant" } as const;

export const tokenRequestRules: Readonly<Record<TokenRequestRuleId, RuleEntry>> = {
  "token-request.method": {
    section: "4.1",
    says: "A token is asked for by POST.",
    answer: { status: 405 },
    remedy: "Send POST; the fields belong in the body.",
    off: "Other methods are answered as a POST is; a GET's query counts as its form.",
  },
  "token-request.rate-limit": {
    section: "8",
    says: "Token requests are limited per tenant in a sliding window.",
    answer: { status: 429 },
    remedy:
      "Keep tokens until shortly before they expire; honour Retry-After, or back off doubling with jitter.",
    off: "The configured limit is not applied, and requests take no slot of it.",
  },
  "rate-limit.tenant": {
    section: "8",
    says: "Each tenant has a limit of its own.",
    answer: { status: 429 },
    remedy: "Wait per tenant: another tenant's requests take no slot.",
    off: "All tenants share one limit.",
  },
  "rate-limit.sliding": {
    section: "8",
    says: "The window slides: a slot frees once the window's length has passed since the request that took it.",
    answer: { status: 429 },
    remedy: "Honour Retry-After; spread requests instead of sending them at the turn of a minute.",
    off: "Windows are fixed and begin anew each time their length has passed: twice the limit passes at the turn of two.",
  },
  "token-request.media-type": {
    section: "4.1",
    says: "The body is application/x-www-form-urlencoded, in UTF-8.",
    answer: invalidRequest,
    remedy: "Send Content-Type: application/x-www-form-urlencoded and a form body.",
    off: "Content-Type is not looked at: whatever comes is read as a form.",
  },
  "token-request.body-size": {
    section: "not shown",
    says: "The body has at most 65536 bytes.",
    answer: invalidRequest,
    remedy: "Send the fields of section 4.1 and nothing else.",
    off: "Bodies of up to 16 MiB are read.",
  },
  "token-request.duplicate-parameter": {
    section: "not shown (RFC 6749 section 3.2)",
    says: "No parameter is included more than once.",
    answer: invalidRequest,
    remedy: "Send each form field once.",
    off: "Of a repeated parameter the first counts.",
  },
  "token-request.one-authentication": {
    section: "5.2 (RFC 6749 section 2.3)",
    says: "The assertion is the only client authentication: no Authorization header and no client_secret beside it.",
    answer: invalidRequest,
    remedy: "Drop the Authorization header and client_secret; there are no client secrets in Variant A.",
    off: "The Authorization header and client_secret are ignored.",
  },
  "token-request.grant-type": {
    section: "4.1, 7.1",
    says: "grant_type is client_credentials or authorization_code.",
    answer: { status: 400, error: "unsupported_grant_type" },
    remedy: "To renew, acquire a token again with a fresh assertion; there is no refresh_token.",
    off: "Any other grant_type, or none, is taken for the grant of the plugin's type.",
  },
  "token-request.assertion-type": {
    section: "4.1, 7.1",
    says: "client_assertion_type is urn:ietf:params:oauth:client-assertion-type:jwt-bearer.",
    answer: invalidRequest,
    remedy: "Send client_assertion_type with exactly that value.",
    off: "client_assertion_type is not looked at.",
  },
  "token-request.client-id": {
    section: "4.1",
    says: "client_id is required.",
    answer: invalidRequest,
    remedy: "Send the plugin's client_id as a form field.",
    off: "Without client_id, the assertion's iss names the plugin.",
  },
  "plugin.registered": {
    section: "3, 7.1",
    says: "The plugin is registered in the tenant of the path.",
    answer: invalidGrant,
    remedy: "The customer confirms the client id under Settings, Tenant Settings, External Plugins.",
    off: "A plugin that is not registered counts as one without keys: it is refused like a wrong key, with invalid_client, which is what the opacity sentence of section 7.1 wants.",
  },
  "plugin.enabled": {
    section: "3, 7.1",
    says: "The plugin is enabled.",
    answer: invalidGrant,
    remedy: "The customer enables the plugin under Settings, Tenant Settings, External Plugins.",
    off: "A disabled plugin gets a token.",
  },
  "plugin.grant": {
    section: "1, 7.1",
    says: "A service plugin uses client_credentials, a user-interface plugin authorization_code.",
    answer: invalidGrant,
    remedy: "Use the grant of the plugin's type, or have it registered as the other type.",
    off: "A plugin gets a token by the grant it asks for; one by client_credentials acts for no operator.",
  },
  "token-request.opacity": {
    section: "7.1",
    says: "error_description is always the same fixed text, so that an anonymous caller cannot tell a missing plugin from a wrong key from a disabled plugin; error tells it all the same, for the table of section 7.1 gives the wrong key another one.",
    answer: { status: 400 },
    remedy:
      "Look for the reason in the customer's log. The option refusedPluginError settles the contradiction.",
    off: "error_description tells the rule that was broken, what it expects and what came instead.",
  },
  "token-request.failure-status": {
    section: "7.1",
    says: "Every failure but the rate limit is answered 400.",
    answer: { status: 400 },
    remedy: "Read error, not the status.",
    off: "invalid_client is answered 401, as RFC 6749 section 5.2 allows.",
  },
};
