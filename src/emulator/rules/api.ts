// The rules of API calls, in the order of their checks, and of the service's own answers.

/**
 * The status for a refused bearer is not shown; RFC 6750 section 3.1 suggests 401. "HTTP 403 with
 * an empty body has exactly three causes" (description, section 7.2).
 */
export const apiRules = {
  "bearer.present": {
    section: "5.1",
    says: "Every call needs a bearer token in the header Authorization: Bearer <ACCESS_TOKEN>.",
    remedy: "Send Authorization: Bearer followed by the access token.",
  },
  "bearer.known": {
    section: "5.1",
    says: "The bearer token was issued by this service, by the variant that serves the route.",
    remedy: "Send the access_token of this deployment's token endpoint, unchanged.",
  },
  "bearer.lifetime": {
    section: "5.7, 8",
    says: "A token is valid only for its lifetime.",
    remedy: "Acquire a new token shortly before expires_in has passed.",
    off: "A token never expires.",
  },
  "bearer.revoked": {
    section: "not shown (RFC 6749 section 4.1.2, RFC 9700 section 4.14.2)",
    says: "The token was not revoked. A reused code or rotated refresh token revokes it, and so does unregistering its person, service account or API client.",
    remedy:
      "Register the person, account or client if it was unregistered. Then log in again; do not refresh.",
    off: "A token stays valid after its login was revoked or its client or person was unregistered.",
  },
  "bearer.tenant": {
    section: "1, 4.1, 5.7",
    says: "A token is valid only on routes of its tenant.",
    remedy: "Keep one token per tenant and send the one that belongs to the tenant of the path.",
    off: "A token is accepted on the routes of every tenant.",
  },
  "bearer.plugin-enabled": {
    section: "2.1, 3",
    says: "The registration is re-checked live on each call: the plugin is registered and enabled, and was not registered anew since the token was issued.",
    remedy: "The customer enables the plugin under Settings, Tenant Settings, External Plugins.",
    off: "The token of a disabled plugin, or of one that is not registered, is accepted.",
  },
  "route.opt-in": {
    section: "5.5, 7.2",
    says: "Only routes that opt in accept a plugin token.",
    remedy: "Use a plugin-enabled route; a new token does not help.",
    off: "Every route accepts plugin tokens.",
  },
  "route.scope": {
    section: "5.6, 7.2",
    says: "The token carries the scope of the route.",
    answer: { status: 403 },
    remedy:
      "The customer grants the scope; then acquire a new token, because the old one never gains it.",
    off: "The scopes of the token are not checked.",
  },
  "route.operator": {
    section: "1, 7.2",
    says: "The scope of the route is among the capabilities of the person for whom the token acts.",
    answer: { status: 403 },
    remedy: "Have a person with the capability launch the plugin or log in.",
    off: "The capabilities of the person are not checked.",
  },
  "route.narrowed": {
    section: "2.1, 7.2",
    says: "The registration still grants the scope of the route.",
    answer: { status: 403 },
    remedy:
      "The customer narrowed the grant after the token was minted and would have to widen it again.",
    off: "The scopes that were granted when the token was minted stay granted.",
  },
  "route.device": {
    section: "2.1, 7.2",
    says: "Every device that the request names is in the plugin's device restriction.",
    answer: { status: 403 },
    remedy: "Ask for a device inside the restriction, or have the customer extend it.",
    off: "The device restriction is not checked.",
  },
  "request.parameters": {
    section: "not shown (OpenAPI 3.1.1, Parameter Object)",
    says: "The parameters are those of the document: each required one is there, written in its style, with a value that its schema allows. Others are ignored.",
    answer: { status: 400, error: "invalid_request" },
    remedy: "Send the parameter as the document of the option api says.",
    off: "Parameters that are missing or malformed are left out, and those that their schema refuses too.",
  },
  "request.body": {
    section: "not shown (OpenAPI 3.1.1, Request Body Object)",
    says: "The body is of a documented media type (415), not too large (413), there if it is required, and written as its media type and its schema say.",
    answer: { status: 400, error: "invalid_request" },
    remedy: "Send the body as the document of the option api says.",
    off: "Any body is accepted. One that the document does not allow is not read.",
  },
  // These rules are about the service's own answers.
  "path.version": {
    section: "9",
    says: "Variant A's paths carry the segment api/v1 before the tenant segment, Variant B's the segment v1.",
    answer: { status: 404, error: "not_found" },
    remedy: "Put v1 into the path: /api/v1/{tenantId}/… or /v1/….",
  },
  "path.known": {
    section: "4.3",
    says: "Routes that the description does not show are answered only if the option api or routes declares them.",
    answer: { status: 404, error: "not_found" },
    remedy: "Correct the path, or pass `api` or `routes` to createEmulator.",
  },
  "response.raw": {
    section: "4.3, 9",
    says: "API responses are raw JSON unless the header X-Envelope selects a wrapped shape.",
    answer: { status: 200 },
    remedy: "Read the body as it is, or set the option envelope to the wrapped shapes.",
  },
  "response.forbidden-empty": {
    section: "7.2",
    says: "The body of a 403 of the API is empty, unless an option chose another answer to a refused bearer or a missing capability.",
    answer: { status: 403 },
    remedy: "Check the three causes of the description; the answer does not name one.",
  },
} as const;
