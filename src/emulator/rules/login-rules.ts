// The rules of Variant B's authorization endpoint and its pages, in the order in which they are applied.
import type { RuleEntry } from "./rule.js";

export type LoginRuleId =
  | "authorization.length"
  | "authorization.duplicate-parameter"
  | "authorization.client"
  | "authorization.redirect-uri"
  | "authorization.response-type"
  | "authorization.challenge-method"
  | "authorization.challenge"
  | "authorization.scope"
  | "login.form"
  | "login.pending"
  | "login.credentials"
  | "login.consent";

/**
 * The authorization endpoint is not shown. RFC 6749 section 4.1.2.1: with a wrong client or redirect URI "the
 * authorization server ... MUST NOT automatically redirect", all else is told to the client.
 */
const page = { status: 400, error: "invalid_request" } as const;
const told = (error: string) => ({ status: 302, error });

export const loginRules: Readonly<Record<LoginRuleId, RuleEntry>> = {
  "authorization.length": {
    section: "not shown (RFC 9110 section 15.5.15)",
    says: "The query of an authorization request has at most 4096 characters.",
    answer: { status: 414, error: "invalid_request" },
    remedy: "Keep what state stands for in the app, and send a short random value.",
    off: "A query of any length that arrives is read, and kept for as long as the login.",
  },
  "authorization.duplicate-parameter": {
    section: "not shown (RFC 6749 section 3.1)",
    says: "No parameter of the authorization request is included more than once.",
    answer: page,
    remedy: "Send each parameter once.",
    off: "Of a repeated parameter the first counts.",
  },
  "authorization.client": {
    section: "2.5, 5.8 (RFC 6749 section 4.1.2.1)",
    says: "client_id is that of a registered API client.",
    answer: page,
    remedy: "Compare client_id with the admin area under API clients.",
    off: "An unknown client is a public one whose redirect URI is the one that was sent.",
  },
  "authorization.redirect-uri": {
    section: "5.8 (RFC 9700 section 2.1; RFC 8252 sections 7.3 and 8.3)",
    says: "redirect_uri is exactly a registered one; only the port of a loopback IP literal may differ.",
    answer: page,
    remedy: "Register the redirect URI character by character; use 127.0.0.1 or [::1], not localhost.",
    off: "Any absolute URI is redirected to; without one, the client's first.",
  },
  "authorization.response-type": {
    section: "5.8 (RFC 6749 section 4.1.1)",
    says: "response_type is code.",
    answer: told("unsupported_response_type"),
    remedy: "Send response_type=code.",
    off: "Whatever response_type asks for, a code is given.",
  },
  "authorization.challenge-method": {
    section: "5.8 (RFC 7636 section 4.3)",
    says: "code_challenge_method is S256; plain, which absence means, is refused.",
    answer: told("invalid_request"),
    remedy: "Send code_challenge_method=S256.",
    off: "Whatever the method, the challenge counts as an S256 one.",
  },
  "authorization.challenge": {
    section: "5.8 (RFC 7636 section 4.2)",
    says: "code_challenge is an S256 challenge: 43 characters of base64url, without padding.",
    answer: told("invalid_request"),
    remedy: "Send base64url(SHA-256(verifier)).",
    off: "Any challenge is taken, or none; a code without one is exchanged without a verifier.",
  },
  "authorization.scope": {
    section: "not shown (RFC 6749 section 3.3)",
    says: "Every requested scope has the form area:read, area:write or area:execute and is the client's.",
    answer: told("invalid_scope"),
    remedy: "Ask for scopes that the API client is registered with, or leave scope out.",
    off: "Whatever scope asks for is granted, in whatever form.",
  },
  "login.form": {
    section: "not shown (RFC 9700 section 4.7)",
    says: "A form is sent by the page that this browser was shown.",
    answer: { status: 403, error: "access_denied" },
    remedy: "Allow cookies of this site, go back to the app and log in again.",
    off: "A form of any page counts, also of another site and of any type.",
  },
  "login.pending": {
    section: "not shown",
    says: "A login is finished once, within ten minutes of its start.",
    answer: page,
    remedy: "Go back to the app and log in again.",
    off: "A login that was decided or is too old can be decided again.",
  },
  "login.credentials": {
    section: "5.8",
    says: "The person is an operator whom the client may ask, and the password is theirs.",
    answer: { status: 403, error: "access_denied" },
    remedy: "Compare user id, tenant and password with the registered operator.",
    off: "Any password logs a registered operator in, also one of another tenant than the client's; of several the first.",
  },
  "login.consent": {
    section: "5.8 (RFC 6749 section 4.1.2.1)",
    says: "The person allows the client.",
    answer: told("access_denied"),
    remedy: "Tell the person what the access is for, and let them log in again.",
    off: "A refusal counts as consent once the person is logged in.",
  },
};
