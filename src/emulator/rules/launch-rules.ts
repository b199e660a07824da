// The rules of a launch in Variant A's host application, in the order in which they are applied.
import type { RuleEntry } from "./rule.js";

export type LaunchRuleId =
  | "launch.form"
  | "launch.signed-in"
  | "launch.plugin"
  | "launch.known"
  | "launch.unused"
  | "launch.lifetime"
  | "launch.challenge";

/** How the host refuses its own page is not shown; the page hands nothing of it to the plugin. */
const invalidRequest = { status: 400, error: "invalid_request" } as const;
const forbidden = { status: 403, error: "access_denied" } as const;

export const launchRules: Readonly<Record<LaunchRuleId, RuleEntry>> = {
  "launch.form": {
    section: "not shown",
    says: "The host application's page sends its server well-formed requests with its session's own token.",
    answer: forbidden,
    remedy: "Reload the host application's page; other sites cannot use its session.",
    off: "A request without the page's own token is taken, also from another site, and as a form or JSON of any type.",
  },
  "launch.signed-in": {
    section: "1, 2.3, 5.3",
    says: "Who launches is an operator of the tenant, signed in at the host application with their own password.",
    answer: forbidden,
    remedy:
      "Sign in at the host application as a registered operator of the tenant, with the registered password.",
    off: "Any password signs in; who is not signed in counts as the tenant's first operator; an unknown operator launches too.",
  },
  "launch.plugin": {
    section: "1, 2.1, 5.3",
    says: "The plugin that is launched is registered in the tenant, enabled, and a user-interface plugin.",
    answer: forbidden,
    remedy: "The customer confirms the registration under Settings, Tenant Settings, External Plugins.",
    off: "A disabled plugin, a service plugin and one that is not registered can be launched, on an empty page if it has none.",
  },
  "launch.known": {
    section: "2.4, 5.3",
    says: "opaque_code identifies a launch of this plugin in this tenant by this operator.",
    answer: invalidRequest,
    remedy: "Send the opaque_code of the page's own URL, unchanged.",
    off: "An unknown opaque_code, or somebody else's, counts as a launch of the asking plugin by the asking operator.",
  },
  "launch.unused": {
    section: "not shown (2.4: opaque_code identifies this launch)",
    says: "A launch is authorised once.",
    answer: invalidRequest,
    remedy: "Relaunch the plugin from the sidebar; each launch has an opaque_code of its own.",
    off: "A launch can be authorised again and again.",
  },
  "launch.lifetime": {
    section: "not shown",
    says: "A launch is authorised within ten minutes of its start.",
    answer: invalidRequest,
    remedy: "Post plugin:pkce-init when the page loads; relaunch the plugin.",
    off: "A launch can be authorised at any age, as long as it is remembered.",
  },
  "launch.challenge": {
    section: "5.3 (RFC 7636 section 4.2)",
    says: "The challenge is an S256 code challenge: 43 characters of base64url, without padding.",
    answer: invalidRequest,
    remedy: "Send base64url(SHA-256(verifier)); the method plain is not taken.",
    off: "Any challenge is taken, or none; a code without one is exchanged without a verifier.",
  },
};
