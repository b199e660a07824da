// The rules of an API call, in the order in which they are applied.
import type { RuleEntry } from "./rule.js";

export type ApiRuleId =
  | "bearer.present"
  | "bearer.known"
  | "bearer.lifetime"
  | "bearer.revoked"
  | "bearer.tenant"
  | "bearer.plugin-enabled"
  | "route.opt-in"
  | "route.scope"
  | "route.operator"
  | "route.narrowed"
  | "route.device";

/** The status for a refused bearer is not shown; RFC 6750 section 3.1 suggests 401. */
const unauthorized = { status: 401 } as const;
/** "HTTP 403 with an empty body has exactly three causes" (description, section 7.2). */
const forbidden = { status: 403 } as const;

export const apiRules: Readonly<Record<ApiRuleId, RuleEntry>> = {
  "bearer.present": {
    section: "5.1",
    says: "Every call needs a bearer token in the header Authorization: Bearer <ACCESS_TOKEN>.",
    answer: unauthorized,
    remedy: "Send Authorization: Bearer followed by the access token.",
    off: "A call without a bearer token is anonymous: of the path's tenant, of no client, and allowed.",
  },
  "bearer.known": {
    section: "5.1",
    says: "The bearer token was issued by this service, by the variant that serves the route.",
    answer: unauthorized,
    remedy: "Send the access_token of this deployment's token endpoint, unchanged.",
    off: "A call with an unknown token is anonymous and allowed; a token of the other variant counts as it stands.",
  },
  "bearer.lifetime": {
    section: "5.7, 8",
    says: "A token is valid only for its lifetime.",
    answer: unauthorized,
    remedy: "Acquire a new token shortly before expires_in has passed.",
    off: "A token is good for ever.",
  },
  "bearer.revoked": {
    section: "not shown (RFC 6749 section 4.1.2, RFC 9700 section 4.14.2)",
    says: "The token was not revoked: by the reuse of a code or of a rotated refresh token, or because its person, service account or API client was unregistered.",
    answer: unauthorized,
    remedy:
      "Send the user to the authorization endpoint again; a refresh does not help. What was unregistered has to be registered first.",
    off: "A token outlives the revocation of what the person allowed, and the registration of whom it stands for.",
  },
  "bearer.tenant": {
    section: "1, 4.1, 5.7",
    says: "A token is valid only on routes of its tenant.",
    answer: unauthorized,
    remedy: "Keep one token per tenant and send the one that belongs to the tenant of the path.",
    off: "A token reaches the routes of every tenant.",
  },
  "bearer.plugin-enabled": {
    section: "2.1, 3",
    says: "The registration is re-checked live on each call: the plugin is registered and enabled, and was not registered anew meanwhile.",
    answer: unauthorized,
    remedy: "The customer enables the plugin under Settings, Tenant Settings, External Plugins.",
    off: "The token of a disabled plugin, or of one that is not registered, is good.",
  },
  "route.opt-in": {
    section: "5.5, 7.2",
    says: "Only routes that opt in accept a plugin token.",
    answer: unauthorized,
    remedy: "Use a plugin-enabled route; a new token does not help.",
    off: "Every route accepts plugin tokens.",
  },
  "route.scope": {
    section: "5.6, 7.2",
    says: "The token carries the scope of the route.",
    answer: forbidden,
    remedy: "The customer grants the scope; then acquire a new token, for the old one never gains it.",
    off: "The scopes that the token carries are not looked at.",
  },
  "route.operator": {
    section: "1, 7.2",
    says: "The scope of the route is among the capabilities of the person for whom the token acts.",
    answer: forbidden,
    remedy: "Ask somebody who has the capability to launch the plugin or to log in.",
    off: "The token reaches what the person for whom it acts does not.",
  },
  "route.narrowed": {
    section: "2.1, 7.2",
    says: "The registration still grants the scope of the route.",
    answer: forbidden,
    remedy: "The customer narrowed the grant after the token was minted and would have to widen it again.",
    off: "What was granted when the token was minted stays granted.",
  },
  "route.device": {
    section: "2.1, 7.2",
    says: "Every device that the request names is in the plugin's device restriction.",
    answer: forbidden,
    remedy: "Ask for a device inside the restriction, or have the customer extend it.",
    off: "The device restriction is not looked at.",
  },
};
