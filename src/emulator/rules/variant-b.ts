// The rules of Variant B: login, token request, code exchange and refresh, each in the order of its
// checks.

/**
 * The authorization endpoint is not shown. RFC 6749 section 4.1.2.1: with a wrong client or
 * redirect URI "the authorization server ... MUST NOT automatically redirect", every other error is
 * reported to the client.
 */
export const loginRules = {
  "authorization.length": {
    section: "not shown (RFC 9110 section 15.5.15)",
    says: "The query of an authorization request has at most 4096 characters.",
    answer: { status: 414, error: "invalid_request" },
    remedy: "Store the data behind state in the app, and send a short random value.",
    off: "A query of any length is read, and kept as long as the login.",
  },
  "authorization.duplicate-parameter": {
    section: "not shown (RFC 6749 section 3.1)",
    says: "No parameter of the authorization request is included more than once.",
    remedy: "Send each parameter once.",
    off: "The first value of a repeated parameter counts.",
  },
  "authorization.client": {
    section: "2.5, 5.8 (RFC 6749 section 4.1.2.1)",
    says: "client_id names a registered API client.",
    remedy: "Compare client_id with the entry under API clients in the admin area.",
  },
  "authorization.redirect-uri": {
    section: "5.8 (RFC 9700 section 2.1; RFC 8252 sections 7.3 and 8.3)",
    says: "redirect_uri is exactly a registered one; only the port of a loopback IP literal may differ.",
    remedy:
      "Register the redirect URI character by character; use 127.0.0.1 or [::1], not localhost.",
  },
  "authorization.response-type": {
    section: "5.8 (RFC 6749 section 4.1.1)",
    says: "response_type is code.",
    answer: { status: 302, error: "unsupported_response_type" },
    remedy: "Send response_type=code.",
    off: "response_type is not checked: the answer is a code.",
  },
  "authorization.challenge-method": {
    section: "5.8 (RFC 7636 section 4.3)",
    says: "code_challenge_method is S256. If it is absent, it means plain, which is refused.",
    answer: { status: 302, error: "invalid_request" },
    remedy: "Send code_challenge_method=S256.",
    off: "The method is not checked: the challenge counts as an S256 challenge.",
  },
  "authorization.challenge": {
    section: "5.8 (RFC 7636 section 4.2)",
    says: "code_challenge is an S256 challenge: 43 characters of base64url, without padding.",
    answer: { status: 302, error: "invalid_request" },
    remedy: "Send base64url(SHA-256(verifier)).",
  },
  "authorization.scope": {
    section: "not shown (RFC 6749 section 3.3)",
    says: "Every requested scope has the form area:read, area:write or area:execute and is permitted to the client.",
    answer: { status: 302, error: "invalid_scope" },
    remedy: "Ask for scopes that the API client is registered with, or leave scope out.",
    off: "Every requested scope is granted, whatever its form.",
  },
  "login.form": {
    section: "not shown (RFC 9700 section 4.7)",
    says: "A login form is accepted only from the browser that received the page with the form.",
    answer: { status: 403, error: "access_denied" },
    remedy: "Allow cookies of this site, go back to the app and log in again.",
    off: "The form's token is not checked: another site can post the form.",
  },
  "login.pending": {
    section: "not shown",
    says: "A login is finished once, within ten minutes of its start.",
    remedy: "Go back to the app and log in again.",
    off: "A login that was decided or is too old can be decided again.",
  },
  "login.credentials": {
    section: "5.8",
    says: "The person is an operator of a tenant that the client serves, and the password is theirs.",
    answer: { status: 403, error: "access_denied" },
    remedy: "Compare user id, tenant and password with the registered operator.",
    off: "The password is not checked: any password is accepted.",
  },
  "login.consent": {
    section: "5.8 (RFC 6749 section 4.1.2.1)",
    says: "The person allows the client.",
    answer: { status: 302, error: "access_denied" },
    remedy: "Tell the person what the access is for, and let them log in again.",
    off: "A refusal counts as consent once the person is logged in.",
  },
} as const;

/** Variant B's error codes are not shown; these are from RFC 6749 section 5.2. */
export const clientRequestRules = {
  "client-request.method": {
    section: "4.2",
    says: "A token is asked for by POST.",
    answer: { status: 405 },
    remedy: "Send POST; the fields belong in the body.",
  },
  "client-request.media-type": {
    section: "4.2 (RFC 9110 section 15.5.16)",
    says: "The body is application/json.",
    answer: { status: 415, error: "invalid_request" },
    remedy: "Send Content-Type: application/json and a JSON body.",
    off: "Content-Type is not checked: the body is read as JSON.",
  },
  "client-request.body-size": {
    section: "not shown (RFC 9110 section 15.5.14)",
    says: "The body has at most 65536 bytes.",
    answer: { status: 413, error: "invalid_request" },
    remedy: "Send the fields of section 4.2 and nothing else.",
  },
  "client-request.json": {
    section: "4.2",
    says: "The body is one JSON object; if a member is repeated, the last one counts.",
    remedy: "Send a JSON object with the fields of section 4.2.",
  },
  "client-request.one-authentication": {
    section: "not shown (RFC 6749 section 2.3)",
    says: "The client authenticates by client_id and client_secret in the body: no Authorization header, no client_assertion.",
    remedy:
      "Send client_id and client_secret in the body alone; client assertions belong to Variant A.",
    off: "The Authorization header and the assertion are ignored.",
  },
  "client-request.grant-type": {
    section: "4.2",
    says: "grant_type is client_credentials or, where this path accepts it, refresh_token; or the body is a code exchange.",
    answer: { status: 400, error: "unsupported_grant_type" },
    remedy:
      "Send grant_type client_credentials or refresh_token, or the fields of a code exchange.",
  },
  "client-request.fields": {
    section: "4.2",
    says: "Every field of the grant is a string that is not empty.",
    remedy: "Send every field that section 4.2 shows for the grant, each as a string.",
  },
  "client.authentication": {
    section: "4.2, 5.10",
    says: "client_id and client_secret are those of a registered service account.",
    answer: { status: 401, error: "invalid_client" },
    remedy: "Compare both with the entry under Service accounts in the admin area.",
    off: "The client_secret of a registered service account is not checked.",
  },
} as const;

/** Variant B's error codes are not shown; these are from RFC 6749 section 5.2. */
export const personGrantRules = {
  "api-client.authentication": {
    section: "2.5, 4.2 (RFC 6749 section 3.2.1)",
    says: "client_id names a registered API client; a confidential one sends its client_secret, a public one none.",
    answer: { status: 401, error: "invalid_client" },
    remedy:
      "Compare client_id and client_secret with the entry under API clients in the admin area.",
    off: "The client_secret of a registered API client is not checked.",
  },
  "client-code.known": {
    section: "4.2, 5.8",
    says: "The authorization code was handed out by the authorization endpoint.",
  },
  "client-code.client": {
    section: "4.2 (RFC 6749 section 5.2)",
    says: "The authorization code was handed out to the client that exchanges it.",
    off: "A code of another client is exchanged.",
  },
  "client-code.unspent": {
    section: "not shown (RFC 6749 section 4.1.2)",
    says: "The authorization code is exchanged once; a second exchange revokes the tokens of the first.",
    off: "A code can be exchanged again and again, and nothing is revoked.",
  },
  "client-code.lifetime": {
    section: "not shown (RFC 6749 section 4.1.2)",
    says: "The authorization code is at most two minutes old.",
    off: "A code is exchanged at any age, as long as the emulator remembers it.",
  },
  "client-code.redirect-uri": {
    section: "4.2 (RFC 6749 section 4.1.3)",
    says: "redirect_uri is the one of the authorization request, character by character.",
    remedy: "Send the redirect_uri that the authorization request carried, its port included.",
    off: "redirect_uri is not checked.",
  },
  "client-code.verifier": {
    section: "4.2, 5.8 (RFC 7636 sections 4.1 and 4.6)",
    says: "code_verifier is 43 to 128 unreserved characters whose S256 challenge the authorization request carried.",
    remedy: "Keep the verifier of each login beside its state.",
    off: "code_verifier is not checked.",
  },
  "refresh.known": {
    section: "5.9",
    says: "The refresh token was issued by this service.",
    remedy: "Send the newest refresh_token that was answered, unchanged.",
  },
  "refresh.client": {
    section: "not shown (RFC 6749 section 6)",
    says: "The refresh token is used by the client it was issued to.",
    remedy: "Keep one refresh token per client.",
    off: "A refresh token of another client is accepted.",
  },
  "refresh.revoked": {
    section: "not shown (RFC 9700 section 4.14.2)",
    says: "The login of the refresh token was not revoked.",
    off: "A refresh token outlives the revocation of its login.",
  },
  "refresh.reuse": {
    section: "not shown (RFC 9700 section 4.14.2)",
    says: "A rotated refresh token is used once; its reuse revokes the newer ones and their access tokens.",
    remedy:
      "Store the new refresh_token before anything else, and refresh under one lock. Log in again.",
    off: "A rotated refresh token can be used again and again, and nothing is revoked.",
  },
  "refresh.lifetime": {
    section: "not shown (RFC 6749 section 10.4)",
    says: "A refresh token is used before the login's lifetime is over.",
    off: "A refresh token outlives its login, as long as the emulator remembers it.",
  },
  "refresh.idle": {
    section: "not shown (RFC 9700 section 4.14.2)",
    says: "A refresh token expires if it is not used within refreshTokens.idleSeconds.",
    off: "A refresh token stays valid however long it is not used.",
  },
  "refresh.scope": {
    section: "not shown (RFC 6749 section 6)",
    says: "The scope of a refresh has the form area:read, area:write or area:execute and includes none that was not granted.",
    answer: { status: 400, error: "invalid_scope" },
    remedy: "Leave scope out, or ask for less than was granted.",
    off: "Every requested scope is granted.",
  },
} as const;
