// The rules of Variant A: launch, token request, client assertion and code, each in the order of
// its checks.

/**
 * It is not shown how the host refuses a request of its own page. The page forwards no refusal to
 * the plugin.
 */
export const launchRules = {
  "launch.form": {
    section: "not shown",
    says: "The host application's page sends its server well-formed requests with its session's own token.",
    answer: { status: 403, error: "access_denied" },
    remedy: "Reload the host application's page; other sites cannot use its session.",
    off: "The page's own token is not checked: another site can use the session.",
  },
  "launch.signed-in": {
    section: "1, 2.3, 5.3",
    says: "The person who launches is an operator of the tenant, signed in at the host application with their own password.",
    answer: { status: 403, error: "access_denied" },
    remedy:
      "Sign in at the host application as an operator of the tenant, with the registered password.",
    off: "Any password signs an operator in.",
  },
  "launch.plugin": {
    section: "1, 2.1, 5.3",
    says: "The plugin that is launched is registered in the tenant, enabled, and a user-interface plugin.",
    answer: { status: 403, error: "access_denied" },
    remedy:
      "The customer confirms the registration under Settings, Tenant Settings, External Plugins.",
    off: "Any plugin can be launched, even a disabled one, a service plugin or one that is not registered.",
  },
  "launch.known": {
    section: "2.4, 5.3",
    says: "opaque_code identifies a launch of this plugin in this tenant by this operator.",
    remedy: "Send the opaque_code of the page's own URL, unchanged.",
  },
  "launch.unused": {
    section: "not shown (2.4: opaque_code identifies this launch)",
    says: "A launch is authorised once.",
    remedy: "Relaunch the plugin from the sidebar; each launch has an opaque_code of its own.",
    off: "A launch can be authorised again and again.",
  },
  "launch.lifetime": {
    section: "not shown",
    says: "A launch is authorised within ten minutes of its start.",
    remedy: "Post plugin:pkce-init when the page loads; relaunch the plugin.",
    off: "A launch can be authorised at any age, as long as the emulator remembers it.",
  },
  "launch.challenge": {
    section: "5.3 (RFC 7636 section 4.2)",
    says: "The challenge is an S256 code challenge: 43 characters of base64url, without padding.",
    remedy: "Send base64url(SHA-256(verifier)); the method plain is not accepted.",
  },
} as const;

/**
 * Refused with invalid_grant ("Anything else refused") unless the table of section 7.1 names
 * another error. The option malformedError chooses RFC 6749's invalid_request for requests that
 * lack a field or cannot be read.
 */
export const tokenRequestRules = {
  "token-request.method": {
    section: "4.1",
    says: "A token is asked for by POST.",
    answer: { status: 405 },
    remedy: "Send POST; the fields belong in the body.",
  },
  "token-request.rate-limit": {
    section: "8",
    says: "Token requests are limited per tenant in a sliding window.",
    answer: { status: 429 },
    remedy:
      "Keep tokens until shortly before they expire; honour Retry-After, or double the wait, with jitter.",
    off: "The limit is not applied, and requests made meanwhile are not counted later.",
  },
  "rate-limit.tenant": {
    section: "8",
    says: "Each tenant has a limit of its own.",
    answer: { status: 429 },
    remedy: "Wait per tenant: another tenant's requests take no slot.",
  },
  "rate-limit.sliding": {
    section: "8",
    says: "The window slides: a slot frees once the window's length has passed since the request that took it.",
    answer: { status: 429 },
    remedy: "Honour Retry-After; spread requests instead of sending them at the turn of a minute.",
  },
  "token-request.media-type": {
    section: "4.1",
    says: "The body is application/x-www-form-urlencoded, in UTF-8.",
    remedy: "Send Content-Type: application/x-www-form-urlencoded and a form body.",
    off: "Content-Type is not checked: the body is read as a form. It must still be UTF-8.",
  },
  "token-request.body-size": {
    section: "not shown",
    says: "The body has at most 65536 bytes.",
    remedy: "Send the fields of section 4.1 and nothing else.",
  },
  "token-request.duplicate-parameter": {
    section: "not shown (RFC 6749 section 3.2)",
    says: "No parameter is included more than once.",
    remedy: "Send each form field once.",
    off: "The first value of a repeated parameter counts.",
  },
  "token-request.one-authentication": {
    section: "5.2 (RFC 6749 section 2.3)",
    says: "The assertion is the only client authentication: no Authorization header and no client_secret besides it.",
    remedy:
      "Drop the Authorization header and client_secret; there are no client secrets in Variant A.",
    off: "The Authorization header and client_secret are ignored.",
  },
  "token-request.grant-type": {
    section: "4.1, 7.1",
    says: "grant_type is client_credentials or authorization_code.",
    answer: { status: 400, error: "unsupported_grant_type" },
    remedy:
      "To renew, acquire a token again with a fresh assertion; Variant A has no refresh_token.",
  },
  "token-request.assertion-type": {
    section: "4.1, 7.1",
    says: "client_assertion_type is urn:ietf:params:oauth:client-assertion-type:jwt-bearer.",
    answer: { status: 400, error: "invalid_request" },
    remedy: "Send client_assertion_type with exactly that value.",
    off: "client_assertion_type is not checked.",
  },
  "token-request.client-id": {
    section: "4.1",
    says: "client_id is required.",
    remedy: "Send the plugin's client_id as a form field.",
  },
  "plugin.registered": {
    section: "3, 7.1",
    says: "The plugin is registered in the tenant of the path.",
    remedy:
      "The customer confirms the client id under Settings, Tenant Settings, External Plugins.",
  },
  "plugin.enabled": {
    section: "3, 7.1",
    says: "The plugin is enabled.",
    remedy: "The customer enables the plugin under Settings, Tenant Settings, External Plugins.",
    off: "A disabled plugin gets a token.",
  },
  "plugin.grant": {
    section: "1, 7.1",
    says: "A service plugin uses client_credentials, a user-interface plugin authorization_code.",
    remedy: "Use the grant of the plugin's type, or have it registered as the other type.",
    off: "A plugin gets a token by the grant that it asks for; a token by client_credentials acts for no operator.",
  },
  "token-request.opacity": {
    section: "7.1",
    says: "error_description is always the same fixed text, so that an anonymous caller cannot learn whether the plugin is missing or disabled or the key is wrong. The error code for a wrong key differs nevertheless, as the table of section 7.1 demands.",
    answer: { status: 400 },
    remedy:
      "See the customer's log for the reason; the option refusedPluginError settles the contradiction.",
  },
  "token-request.failure-status": {
    section: "7.1",
    says: "Every failure but the rate limit is answered 400.",
    answer: { status: 400 },
    remedy: "Read error, not the status.",
  },
} as const;

/**
 * An assertion that is there is refused with invalid_client: "The assertion was refused" (section
 * 7.1).
 */
export const assertionRules = {
  "assertion.present": {
    section: "4.1",
    says: "client_assertion is required.",
    answer: { status: 400, error: "invalid_grant" },
    remedy: "Send the signed JWT in the form field client_assertion.",
    off: "A request without an assertion is accepted: client_id alone names the plugin.",
  },
  "assertion.form": {
    section: "2.2 (RFC 7515 section 7.1)",
    says: "The assertion is a JWT in compact serialization: three base64url parts, header and claims JSON objects.",
    remedy: "Send the compact form, signed and not encrypted.",
    off: "A value that is not a JWT is accepted without any other check of the assertion.",
  },
  "assertion.algorithm": {
    section: "2.2",
    says: "RS256 is the only accepted algorithm; none and symmetric algorithms are refused.",
    remedy: "Sign with RS256 and the private key whose public half is registered.",
  },
  "assertion.critical-header": {
    section: "2.2 (RFC 7515 section 4.1.11, RFC 7797 section 7)",
    says: "The header holds no crit and no unencoded payload (b64 false): the service understands no extension.",
    remedy: "Leave crit and b64 out of the header.",
    off: "crit and b64 are ignored.",
  },
  "assertion.key-header": {
    section: "2.2 (RFC 8725 section 3.10)",
    says: "The key comes from the registered JWKS, never from the header: jwk, jku, x5u and x5c are refused.",
    remedy: "Leave the key out of the header; name it by kid.",
    off: "Keys in the header are ignored; a registered key must still verify the signature.",
  },
  "assertion.key-id": {
    section: "2.2",
    says: "kid is required, and once the JWKS holds more than one key it names the key that signed.",
    remedy: "Set kid to the id that the signing key has in the registered JWKS.",
    off: "kid is ignored, however many keys the JWKS holds.",
  },
  "assertion.signature": {
    section: "2.2, 7.1",
    says: "A key of the registered JWKS verifies the signature.",
    remedy: "Regenerate the JWKS from the actual signing key.",
    off: "The signature is not verified: header and claims are trusted.",
  },
  "assertion.issuer": {
    section: "2.2",
    says: "iss is the client_id.",
    remedy: "Set iss to the plugin's client_id, the same as the form field.",
    off: "iss is not checked.",
  },
  "assertion.subject": {
    section: "2.2",
    says: "sub is the client_id.",
    remedy: "Set sub to the plugin's client_id, the same as the form field.",
    off: "sub is not checked.",
  },
  "assertion.audience": {
    section: "2.2, 7.1",
    says: "aud is one string: the exact token URL being posted to, tenant substituted.",
    remedy: "Substitute the tenant in the exact URL, as one string and not as an array.",
    off: "aud is not checked: an assertion for another tenant or another server is accepted.",
  },
  "assertion.issued-at": {
    section: "2.2, 8",
    says: "iat is at most 5 minutes old, with 30 seconds of clock tolerance either way.",
    remedy:
      "Correct the clock of the signing machine; sign just before sending; iat is in seconds.",
    off: "iat is not checked. Without iat the lifetime is unknown, so any lifetime is accepted.",
  },
  "assertion.expiry": {
    section: "2.2, 8",
    says: "exp is after iat and at most 30 seconds past.",
    remedy:
      "Correct the clock of the signing machine; sign just before sending; exp is in seconds.",
    off: "exp is not checked. Without exp the lifetime is unknown, so any lifetime is accepted.",
  },
  "assertion.lifetime": {
    section: "2.2, 8",
    says: "exp is at most 5 minutes after iat, without tolerance.",
    remedy: "Set exp to 60 seconds after iat.",
    off: "exp may be any time after iat.",
  },
  "assertion.not-before": {
    section: "not shown (RFC 7523 section 3)",
    says: "nbf, where present, is at most 30 seconds ahead.",
    remedy: "Leave nbf out, or correct the clock of the signing machine.",
    off: "nbf is not checked.",
  },
  "assertion.id": {
    section: "2.2",
    says: "jti is a string that is not empty.",
    remedy: "Set jti to a fresh random value, a UUID for instance.",
    off: "jti may be absent or not a string; such an assertion can be replayed.",
  },
  "assertion.replay": {
    section: "2.2, 7.1",
    says: "jti is unique per assertion of a plugin; a repeat is refused.",
    remedy: "Use a fresh jti for every assertion, also when a request is retried.",
    off: "A jti may be used again, and its uses are not remembered.",
  },
} as const;

/**
 * All refused with invalid_grant: "auth code spent or expired", "anything else" (description,
 * section 7.1).
 */
export const codeRules = {
  "code.known": { section: "4.1, 7.1", says: "The authorization code was handed out by the host." },
  "code.tenant": {
    section: "4.1, 7.1",
    says: "The authorization code is exchanged at the token endpoint of the tenant it was handed out in.",
    remedy:
      "Use the tenantId of host:auth-code, and relaunch the plugin, because the code is spent.",
    off: "A code of another tenant is exchanged.",
  },
  "code.plugin": {
    section: "4.1, 7.1 (RFC 6749 section 5.2)",
    says: "The authorization code was handed out to the plugin that exchanges it.",
    off: "A code of another plugin is exchanged.",
  },
  "code.unspent": {
    section: "3, 7.1",
    says: "The code is spent on the first exchange attempt, whether that attempt succeeds or fails.",
    off: "A code can be exchanged again and again.",
  },
  "code.lifetime": {
    section: "3, 7.1, 8",
    says: "The code is at most two minutes old.",
    off: "A code is exchanged at any age, as long as the emulator remembers it.",
  },
  "code.verifier": {
    section: "4.1 (RFC 7636 sections 4.1 and 4.6)",
    says: "code_verifier is 43 to 128 unreserved characters whose S256 challenge was sent at launch.",
    remedy: "Keep the verifier of each launch beside its challenge; then relaunch the plugin.",
    off: "code_verifier is not checked.",
  },
} as const;
