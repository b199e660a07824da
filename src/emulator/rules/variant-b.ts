// The rules of Variant B: login, token request, code exchange and refresh, each in the order of its checks.

/**
 * The authorization endpoint is not shown. RFC 6749 section 4.1.2.1: with a wrong client or redirect URI "the
 * authorization server ... MUST NOT automatically redirect", every other error is reported to the client.
 */
export const loginRules = {
  "authorization.length": `not shown (RFC 9110 section 15.5.15) | 414 invalid_request
    The query of an authorization request has at most 4096 characters.
    Keep what state stands for in the app, and send a short random value.
    Off: A query of any length is read, and kept as long as the login.`,
  "authorization.duplicate-parameter": `not shown (RFC 6749 section 3.1)
    No parameter of the authorization request is included more than once.
    Send each parameter once.
    Off: The first value of a repeated parameter counts.`,
  "authorization.client": `2.5, 5.8 (RFC 6749 section 4.1.2.1)
    client_id is that of a registered API client.
    Compare client_id with the admin area under API clients.`,
  "authorization.redirect-uri": `5.8 (RFC 9700 section 2.1; RFC 8252 sections 7.3 and 8.3)
    redirect_uri is exactly a registered one; only the port of a loopback IP literal may differ.
    Register the redirect URI character by character; use 127.0.0.1 or [::1], not localhost.`,
  "authorization.response-type": `5.8 (RFC 6749 section 4.1.1) | 302 unsupported_response_type
    response_type is code.
    Send response_type=code.
    Off: response_type is not checked: the answer is a code.`,
  "authorization.challenge-method": `5.8 (RFC 7636 section 4.3) | 302 invalid_request
    code_challenge_method is S256; plain, which absence means, is refused.
    Send code_challenge_method=S256.
    Off: The method is not checked: the challenge counts as an S256 challenge.`,
  "authorization.challenge": `5.8 (RFC 7636 section 4.2) | 302 invalid_request
    code_challenge is an S256 challenge: 43 characters of base64url, without padding.
    Send base64url(SHA-256(verifier)).`,
  "authorization.scope": `not shown (RFC 6749 section 3.3) | 302 invalid_scope
    Every requested scope has the form area:read, area:write or area:execute and is the client's.
    Ask for scopes that the API client is registered with, or leave scope out.
    Off: Every requested scope is granted, whatever its form.`,
  "login.form": `not shown (RFC 9700 section 4.7) | 403 access_denied
    A form is sent by the page that this browser was shown.
    Allow cookies of this site, go back to the app and log in again.
    Off: The form's token is not checked: another site can post the form.`,
  "login.pending": `not shown
    A login is finished once, within ten minutes of its start.
    Go back to the app and log in again.
    Off: A login that was decided or is too old can be decided again.`,
  "login.credentials": `5.8 | 403 access_denied
    The person is an operator whom the client may ask, and the password is theirs.
    Compare user id, tenant and password with the registered operator.
    Off: Any password logs an operator in whom the client may ask.`,
  "login.consent": `5.8 (RFC 6749 section 4.1.2.1) | 302 access_denied
    The person allows the client.
    Tell the person what the access is for, and let them log in again.
    Off: A refusal counts as consent once the person is logged in.`,
} as const;

/** Variant B's error codes are not shown; these are RFC 6749 section 5.2's. */
export const clientRequestRules = {
  "client-request.method": `4.2 | 405
    A token is asked for by POST.
    Send POST; the fields belong in the body.`,
  "client-request.media-type": `4.2 (RFC 9110 section 15.5.16) | 415 invalid_request
    The body is application/json.
    Send Content-Type: application/json and a JSON body.
    Off: Content-Type is not checked: the body is read as JSON.`,
  "client-request.body-size": `not shown (RFC 9110 section 15.5.14) | 413 invalid_request
    The body has at most 65536 bytes.
    Send the fields of section 4.2 and nothing else.`,
  "client-request.json": `4.2
    The body is one JSON object; of a member that is repeated the last counts.
    Send a JSON object with the fields of section 4.2.`,
  "client-request.one-authentication": `not shown (RFC 6749 section 2.3)
    The client authenticates by client_id and client_secret in the body: no Authorization header, no client_assertion.
    Send client_id and client_secret in the body, without an Authorization header; assertions are Variant A's.
    Off: The Authorization header and the assertion are ignored.`,
  "client-request.grant-type": `4.2 | 400 unsupported_grant_type
    grant_type is client_credentials or, where this path accepts it, refresh_token; or the body is a code exchange.
    Send grant_type client_credentials or refresh_token, or code, code_verifier, client_id and redirect_uri.`,
  "client-request.fields": `4.2
    Every field of the grant is a string that is not empty.
    Send every field that section 4.2 shows for the grant, each as a string.`,
  "client.authentication": `4.2, 5.10 | 401 invalid_client
    client_id and client_secret are those of a registered service account.
    Compare both with the admin area under Service accounts.
    Off: The client_secret of a registered service account is not checked.`,
} as const;

/** Variant B's error codes are not shown; these are RFC 6749 section 5.2's. */
export const personGrantRules = {
  "api-client.authentication": `2.5, 4.2 (RFC 6749 section 3.2.1) | 401 invalid_client
    client_id is that of a registered API client; a confidential one sends its client_secret, a public one none.
    Compare client_id and client_secret with the admin area under API clients.
    Off: The client_secret of a registered API client is not checked.`,
  "client-code.known": `4.2, 5.8
    The authorization code was handed out by the authorization endpoint.`,
  "client-code.client": `4.2 (RFC 6749 section 5.2)
    The authorization code was handed out to the client that exchanges it.
    Off: A code of another client is exchanged.`,
  "client-code.unspent": `not shown (RFC 6749 section 4.1.2)
    The authorization code is exchanged once; a second exchange revokes the tokens of the first.
    Off: A code can be exchanged again and again, and nothing is revoked.`,
  "client-code.lifetime": `not shown (RFC 6749 section 4.1.2)
    The authorization code is at most two minutes old.
    Off: A code is exchanged at any age, as long as the emulator remembers it.`,
  "client-code.redirect-uri": `4.2 (RFC 6749 section 4.1.3)
    redirect_uri is the one of the authorization request, character by character.
    Send the redirect_uri that the authorization request carried, its port included.
    Off: redirect_uri is not checked.`,
  "client-code.verifier": `4.2, 5.8 (RFC 7636 sections 4.1 and 4.6)
    code_verifier is 43 to 128 unreserved characters whose S256 challenge the authorization request carried.
    Keep the verifier of each login beside its state.
    Off: code_verifier is not checked.`,
  "refresh.known": `5.9
    The refresh token was issued by this service.
    Send the newest refresh_token that was answered, unchanged.`,
  "refresh.client": `not shown (RFC 6749 section 6)
    The refresh token is used by the client it was issued to.
    Keep one refresh token per client.
    Off: A refresh token of another client is accepted.`,
  "refresh.revoked": `not shown (RFC 9700 section 4.14.2)
    What the person allowed was not revoked.
    Off: A refresh token outlives the revocation of its login.`,
  "refresh.reuse": `not shown (RFC 9700 section 4.14.2)
    A rotated refresh token is used once; its reuse revokes the newer ones and their access tokens.
    Store the new refresh_token before anything else, and refresh under one lock. Log in again.
    Off: A rotated refresh token can be used again and again, and nothing is revoked.`,
  "refresh.lifetime": `not shown (RFC 6749 section 10.4)
    A refresh token is used before the login's lifetime is over.
    Off: A refresh token outlives its login, as long as the emulator remembers it.`,
  "refresh.idle": `not shown (RFC 9700 section 4.14.2)
    A refresh token is used before it has been idle for too long.
    Off: A refresh token may be idle for any time.`,
  "refresh.scope": `not shown (RFC 6749 section 6) | 400 invalid_scope
    The scope of a refresh has the form area:read, area:write or area:execute and includes none that was not granted.
    Leave scope out, or ask for less than was granted.
    Off: Every requested scope is granted.`,
} as const;
