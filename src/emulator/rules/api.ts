// The rules of API calls, in the order of their checks, and of the service's own answers.

/**
 * The status for a refused bearer is not shown; RFC 6750 section 3.1 suggests 401. "HTTP 403 with an empty body has
 * exactly three causes" (description, section 7.2).
 */
export const apiRules = {
  "bearer.present": `5.1
    Every call needs a bearer token in the header Authorization: Bearer <ACCESS_TOKEN>.
    Send Authorization: Bearer followed by the access token.`,
  "bearer.known": `5.1
    The bearer token was issued by this service, by the variant that serves the route.
    Send the access_token of this deployment's token endpoint, unchanged.`,
  "bearer.lifetime": `5.7, 8
    A token is valid only for its lifetime.
    Acquire a new token shortly before expires_in has passed.
    Off: A token never expires.`,
  "bearer.revoked": `not shown (RFC 6749 section 4.1.2, RFC 9700 section 4.14.2)
    The token was not revoked: by the reuse of a code or of a rotated refresh token, or because its person, service account or API client was unregistered.
    Send the user to the authorization endpoint again; a refresh does not help. What was unregistered has to be registered first.
    Off: A token outlives the revocation of its login, and the registration of its client or person.`,
  "bearer.tenant": `1, 4.1, 5.7
    A token is valid only on routes of its tenant.
    Keep one token per tenant and send the one that belongs to the tenant of the path.
    Off: A token reaches the routes of every tenant.`,
  "bearer.plugin-enabled": `2.1, 3
    The registration is re-checked live on each call: the plugin is registered and enabled, and was not registered anew meanwhile.
    The customer enables the plugin under Settings, Tenant Settings, External Plugins.
    Off: The token of a disabled plugin, or of one that is not registered, is accepted.`,
  "route.opt-in": `5.5, 7.2
    Only routes that opt in accept a plugin token.
    Use a plugin-enabled route; a new token does not help.
    Off: Every route accepts plugin tokens.`,
  "route.scope": `5.6, 7.2 | 403
    The token carries the scope of the route.
    The customer grants the scope; then acquire a new token, for the old one never gains it.
    Off: The scopes of the token are not checked.`,
  "route.operator": `1, 7.2 | 403
    The scope of the route is among the capabilities of the person for whom the token acts.
    Have a person with the capability launch the plugin or log in.
    Off: The capabilities of the person are not checked.`,
  "route.narrowed": `2.1, 7.2 | 403
    The registration still grants the scope of the route.
    The customer narrowed the grant after the token was minted and would have to widen it again.
    Off: The scopes that were granted when the token was minted stay granted.`,
  "route.device": `2.1, 7.2 | 403
    Every device that the request names is in the plugin's device restriction.
    Ask for a device inside the restriction, or have the customer extend it.
    Off: The device restriction is not checked.`,
  // Of the service's own answers.
  "path.version": `9 | 404 not_found
    Variant A's paths carry the segment api/v1 before the tenant segment, Variant B's the segment v1.
    Put v1 into the path: /api/v1/{tenantId}/… or /v1/….`,
  "response.raw": `4.3, 9 | 200
    API responses are raw JSON unless the header X-Envelope selects a wrapped shape.
    Read the body as it is; name its wrapped shapes by the option envelope.`,
  "response.forbidden-empty": `7.2 | 403
    The body of a 403 of the API is empty.
    Check the three causes of the description; the answer does not name one.`,
} as const;
