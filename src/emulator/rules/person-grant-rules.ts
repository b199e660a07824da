// The rules of Variant B's grants that act for a person: the code exchange, then the refresh, each in order.
import type { RuleEntry } from "./rule.js";

export type PersonGrantRuleId =
  | "api-client.authentication"
  | "client-code.known"
  | "client-code.client"
  | "client-code.unspent"
  | "client-code.lifetime"
  | "client-code.redirect-uri"
  | "client-code.verifier"
  | "refresh.known"
  | "refresh.client"
  | "refresh.revoked"
  | "refresh.reuse"
  | "refresh.lifetime"
  | "refresh.idle"
  | "refresh.scope";

/** Variant B's error codes are not shown; these are RFC 6749 section 5.2's. */
const invalidGrant = { status: 400, error: "invalid_grant" } as const;
const AGAIN = "Send the user to the authorization endpoint again.";

export const personGrantRules: Readonly<Record<PersonGrantRuleId, RuleEntry>> = {
  "api-client.authentication": {
    section: "2.5, 4.2 (RFC 6749 section 3.2.1)",
    says: "client_id is that of a registered API client; a confidential one sends its client_secret, a public one none.",
    answer: { status: 401, error: "invalid_client" },
    remedy: "Compare client_id and client_secret with the admin area under API clients.",
    off: "Any client_secret of a registered API client is taken, or none.",
  },
  "client-code.known": {
    section: "4.2, 5.8",
    says: "The authorization code was handed out by the authorization endpoint.",
    answer: invalidGrant,
    remedy: AGAIN,
    off: "An unknown code gives tokens of the first registered operator who may log in to the client.",
  },
  "client-code.client": {
    section: "4.2 (RFC 6749 section 5.2)",
    says: "The authorization code was handed out to the client that exchanges it.",
    answer: invalidGrant,
    remedy: AGAIN,
    off: "A code of another client is exchanged.",
  },
  "client-code.unspent": {
    section: "not shown (RFC 6749 section 4.1.2)",
    says: "The authorization code is exchanged once; a second exchange revokes the tokens of the first.",
    answer: invalidGrant,
    remedy: AGAIN,
    off: "A code can be exchanged again and again, and nothing is revoked.",
  },
  "client-code.lifetime": {
    section: "not shown (RFC 6749 section 4.1.2)",
    says: "The authorization code is at most two minutes old.",
    answer: invalidGrant,
    remedy: AGAIN,
    off: "A code is exchanged at any age, as long as it is remembered.",
  },
  "client-code.redirect-uri": {
    section: "4.2 (RFC 6749 section 4.1.3)",
    says: "redirect_uri is the one of the authorization request, character by character.",
    answer: invalidGrant,
    remedy: "Send the redirect_uri that the authorization request carried, its port included.",
    off: "redirect_uri is not looked at.",
  },
  "client-code.verifier": {
    section: "4.2, 5.8 (RFC 7636 sections 4.1 and 4.6)",
    says: "code_verifier is 43 to 128 unreserved characters whose S256 challenge the authorization request carried.",
    answer: invalidGrant,
    remedy: "Keep the verifier of each login beside its state.",
    off: "code_verifier is not looked at.",
  },
  "refresh.known": {
    section: "5.9",
    says: "The refresh token was issued by this service.",
    answer: invalidGrant,
    remedy: "Send the newest refresh_token that was answered, unchanged.",
    off: "An unknown refresh token gives tokens of the first registered operator who may log in to the client.",
  },
  "refresh.client": {
    section: "not shown (RFC 6749 section 6)",
    says: "The refresh token is used by the client it was issued to.",
    answer: invalidGrant,
    remedy: "Keep one refresh token per client.",
    off: "A refresh token of another client is taken.",
  },
  "refresh.revoked": {
    section: "not shown (RFC 9700 section 4.14.2)",
    says: "What the person allowed was not revoked.",
    answer: invalidGrant,
    remedy: AGAIN,
    off: "A refresh token outlives the revocation of what the person allowed.",
  },
  "refresh.reuse": {
    section: "not shown (RFC 9700 section 4.14.2)",
    says: "A rotated refresh token is used once; its reuse revokes the newer ones and their access tokens.",
    answer: invalidGrant,
    remedy: "Store the new refresh_token before anything else, and refresh under one lock. Log in again.",
    off: "A rotated refresh token can be used again and again, and nothing is revoked.",
  },
  "refresh.lifetime": {
    section: "not shown (RFC 6749 section 10.4)",
    says: "A refresh token is used before the login's lifetime is over.",
    answer: invalidGrant,
    remedy: AGAIN,
    off: "A refresh token outlives its login, as long as it is remembered.",
  },
  "refresh.idle": {
    section: "not shown (RFC 9700 section 4.14.2)",
    says: "A refresh token is used before it has been idle for too long.",
    answer: invalidGrant,
    remedy: AGAIN,
    off: "A refresh token may be idle for as long as it likes.",
  },
  "refresh.scope": {
    section: "not shown (RFC 6749 section 6)",
    says: "The scope of a refresh has the form area:read, area:write or area:execute and includes none that was not granted.",
    answer: { status: 400, error: "invalid_scope" },
    remedy: "Leave scope out, or ask for less than was granted.",
    off: "Whatever scope asks for is granted.",
  },
};
