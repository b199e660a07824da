// The rules of Variant A: launch, token request, client assertion and code, each in the order of its checks.

/** How the host refuses a request of its own page is not shown; the page forwards nothing of it to the plugin. */
export const launchRules = {
  "launch.form": `not shown | 403 access_denied
    The host application's page sends its server well-formed requests with its session's own token.
    Reload the host application's page; other sites cannot use its session.
    Off: The page's own token is not checked: another site can use the session.`,
  "launch.signed-in": `1, 2.3, 5.3 | 403 access_denied
    The person who launches is an operator of the tenant, signed in at the host application with their own password.
    Sign in at the host application as a registered operator of the tenant, with the registered password.
    Off: Any password signs an operator in.`,
  "launch.plugin": `1, 2.1, 5.3 | 403 access_denied
    The plugin that is launched is registered in the tenant, enabled, and a user-interface plugin.
    The customer confirms the registration under Settings, Tenant Settings, External Plugins.
    Off: Any plugin can be launched, also a disabled one, a service plugin and one that is not registered.`,
  "launch.known": `2.4, 5.3
    opaque_code identifies a launch of this plugin in this tenant by this operator.
    Send the opaque_code of the page's own URL, unchanged.`,
  "launch.unused": `not shown (2.4: opaque_code identifies this launch)
    A launch is authorised once.
    Relaunch the plugin from the sidebar; each launch has an opaque_code of its own.
    Off: A launch can be authorised again and again.`,
  "launch.lifetime": `not shown
    A launch is authorised within ten minutes of its start.
    Post plugin:pkce-init when the page loads; relaunch the plugin.
    Off: A launch can be authorised at any age, as long as the emulator remembers it.`,
  "launch.challenge": `5.3 (RFC 7636 section 4.2)
    The challenge is an S256 code challenge: 43 characters of base64url, without padding.
    Send base64url(SHA-256(verifier)); the method plain is not accepted.`,
} as const;

/** RFC 6749 section 5.2 supplies the error code where table 7.1 of the description has no condition. */
export const tokenRequestRules = {
  "token-request.method": `4.1 | 405
    A token is asked for by POST.
    Send POST; the fields belong in the body.`,
  "token-request.rate-limit": `8 | 429
    Token requests are limited per tenant in a sliding window.
    Keep tokens until shortly before they expire; honour Retry-After, or back off doubling with jitter.
    Off: The configured limit is not applied, and requests take no slot of it.`,
  "rate-limit.tenant": `8 | 429
    Each tenant has a limit of its own.
    Wait per tenant: another tenant's requests take no slot.`,
  "rate-limit.sliding": `8 | 429
    The window slides: a slot frees once the window's length has passed since the request that took it.
    Honour Retry-After; spread requests instead of sending them at the turn of a minute.`,
  "token-request.media-type": `4.1
    The body is application/x-www-form-urlencoded, in UTF-8.
    Send Content-Type: application/x-www-form-urlencoded and a form body.
    Off: Content-Type is not checked: the body is read as a form. It must still be UTF-8.`,
  "token-request.body-size": `not shown
    The body has at most 65536 bytes.
    Send the fields of section 4.1 and nothing else.`,
  "token-request.duplicate-parameter": `not shown (RFC 6749 section 3.2)
    No parameter is included more than once.
    Send each form field once.
    Off: The first value of a repeated parameter counts.`,
  "token-request.one-authentication": `5.2 (RFC 6749 section 2.3)
    The assertion is the only client authentication: no Authorization header and no client_secret beside it.
    Drop the Authorization header and client_secret; there are no client secrets in Variant A.
    Off: The Authorization header and client_secret are ignored.`,
  "token-request.grant-type": `4.1, 7.1 | 400 unsupported_grant_type
    grant_type is client_credentials or authorization_code.
    To renew, acquire a token again with a fresh assertion; Variant A has no refresh_token.`,
  "token-request.assertion-type": `4.1, 7.1
    client_assertion_type is urn:ietf:params:oauth:client-assertion-type:jwt-bearer.
    Send client_assertion_type with exactly that value.
    Off: client_assertion_type is not checked.`,
  "token-request.client-id": `4.1
    client_id is required.
    Send the plugin's client_id as a form field.`,
  "plugin.registered": `3, 7.1 | 400 invalid_grant
    The plugin is registered in the tenant of the path.
    The customer confirms the client id under Settings, Tenant Settings, External Plugins.`,
  "plugin.enabled": `3, 7.1 | 400 invalid_grant
    The plugin is enabled.
    The customer enables the plugin under Settings, Tenant Settings, External Plugins.
    Off: A disabled plugin gets a token.`,
  "plugin.grant": `1, 7.1 | 400 invalid_grant
    A service plugin uses client_credentials, a user-interface plugin authorization_code.
    Use the grant of the plugin's type, or have it registered as the other type.
    Off: A plugin gets a token by the grant that it asks for; a token by client_credentials acts for no operator.`,
  "token-request.opacity": `7.1 | 400
    error_description is always the same fixed text, so that an anonymous caller cannot tell a missing plugin from a wrong key from a disabled plugin; error differs all the same, because the table of section 7.1 gives the wrong key another code.
    Look for the reason in the customer's log. The option refusedPluginError settles the contradiction.`,
  "token-request.failure-status": `7.1 | 400
    Every failure but the rate limit is answered 400.
    Read error, not the status.`,
} as const;

/** All refused with invalid_client: "The assertion was refused" (description, section 7.1). */
export const assertionRules = {
  "assertion.present": `4.1
    client_assertion is required.
    Send the signed JWT in the form field client_assertion.
    Off: A request without an assertion is accepted: client_id alone names the plugin.`,
  "assertion.form": `2.2 (RFC 7515 section 7.1)
    The assertion is a JWT in compact serialization: three base64url parts, header and claims JSON objects.
    Send the compact form, signed and not encrypted.
    Off: A value that is not a JWT is accepted without any other check of the assertion.`,
  "assertion.algorithm": `2.2
    RS256 is the only accepted algorithm; none and symmetric algorithms are refused.
    Sign with RS256 and the private key whose public half is registered.`,
  "assertion.critical-header": `2.2 (RFC 7515 section 4.1.11, RFC 7797 section 7)
    The header holds no crit and no unencoded payload (b64 false): the service understands no extension.
    Leave crit and b64 out of the header.
    Off: crit and b64 are ignored.`,
  "assertion.key-header": `2.2 (RFC 8725 section 3.10)
    The key comes from the registered JWKS, never from the header: jwk, jku, x5u and x5c are refused.
    Leave the key out of the header; name it by kid.
    Off: Keys in the header are ignored; a registered key must still verify the signature.`,
  "assertion.key-id": `2.2
    kid is required, and once the JWKS holds more than one key it names the key that signed.
    Set kid to the id that the signing key has in the registered JWKS.
    Off: kid is ignored, however many keys the JWKS holds.`,
  "assertion.signature": `2.2, 7.1
    A key of the registered JWKS verifies the signature.
    Regenerate the JWKS from the actual signing key.
    Off: The signature is not verified: header and claims are believed.`,
  "assertion.issuer": `2.2
    iss is the client_id.
    Set iss to the plugin's client_id, the same as the form field.
    Off: iss is not checked.`,
  "assertion.subject": `2.2
    sub is the client_id.
    Set sub to the plugin's client_id, the same as the form field.
    Off: sub is not checked.`,
  "assertion.audience": `2.2, 7.1
    aud is one string: the exact token URL being posted to, tenant substituted.
    Substitute the tenant in the exact URL, as one string and not as an array.
    Off: aud is not checked: an assertion for another tenant or another server is accepted.`,
  "assertion.issued-at": `2.2, 8
    iat is at most 5 minutes old, with 30 seconds of clock tolerance either way.
    Correct the clock of the signing machine; sign just before sending; iat is in seconds.
    Off: iat is not checked. Without iat the lifetime is unknown, so any lifetime is accepted.`,
  "assertion.expiry": `2.2, 8
    exp is after iat and at most 30 seconds past.
    Correct the clock of the signing machine; sign just before sending; exp is in seconds.
    Off: exp is not checked. Without exp the lifetime is unknown, so any lifetime is accepted.`,
  "assertion.lifetime": `2.2, 8
    exp is at most 5 minutes after iat, without tolerance.
    Set exp to 60 seconds after iat.
    Off: exp may be any time after iat.`,
  "assertion.not-before": `not shown (RFC 7523 section 3)
    nbf, where present, is at most 30 seconds ahead.
    Leave nbf out, or correct the clock of the signing machine.
    Off: nbf is not checked.`,
  "assertion.id": `2.2
    jti is a string that is not empty.
    Set jti to a fresh random value, a UUID for instance.
    Off: jti may be absent or not a string; such an assertion can be replayed.`,
  "assertion.replay": `2.2, 7.1
    jti is unique per assertion of a plugin; a repeat is refused.
    Fresh jti for every assertion; also when a request is retried.
    Off: A jti may be used again, and its uses are not remembered.`,
} as const;

/** All refused with invalid_grant: "auth code spent or expired", "anything else" (section 7.1). */
export const codeRules = {
  "code.known": `4.1, 7.1
    The authorization code was handed out by the host.`,
  "code.tenant": `4.1, 7.1
    The authorization code is exchanged at the token endpoint of the tenant it was handed out in.
    Use the tenantId that host:auth-code carried; then relaunch the plugin, for the code is spent.
    Off: A code of another tenant is exchanged.`,
  "code.plugin": `4.1, 7.1 (RFC 6749 section 5.2)
    The authorization code was handed out to the plugin that exchanges it.
    Off: A code of another plugin is exchanged.`,
  "code.unspent": `3, 7.1
    The code is spent on the first exchange attempt, whether that attempt succeeds or fails.
    Off: A code can be exchanged again and again.`,
  "code.lifetime": `3, 7.1, 8
    The code is at most two minutes old.
    Off: A code is exchanged at any age, as long as the emulator remembers it.`,
  "code.verifier": `4.1 (RFC 7636 sections 4.1 and 4.6)
    code_verifier is 43 to 128 unreserved characters whose S256 challenge was sent at launch.
    Keep the verifier of each launch beside its challenge; then relaunch the plugin.
    Off: code_verifier is not checked.`,
} as const;
