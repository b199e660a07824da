// The rules of Variant A's authorization code, in the order in which they are applied.
import type { RuleEntry } from "./rule.js";

export type CodeRuleId =
  | "code.known"
  | "code.tenant"
  | "code.plugin"
  | "code.unspent"
  | "code.lifetime"
  | "code.verifier";

const invalidGrant = { status: 400, error: "invalid_grant" } as const;
const RELAUNCH = "Relaunch the plugin and exchange the new code once.";

/** All refused with invalid_grant: "auth code spent or expired", "anything else" (description, section 7.1). */
export const codeRules: Readonly<Record<CodeRuleId, RuleEntry>> = {
  "code.known": {
    section: "4.1, 7.1",
    says: "The authorization code was handed out by the host.",
    answer: invalidGrant,
    remedy: RELAUNCH,
    off: "An unknown code, or none, gives a token for no operator.",
  },
  "code.tenant": {
    section: "4.1, 7.1",
    says: "The authorization code is exchanged at the token endpoint of the tenant it was handed out in.",
    answer: invalidGrant,
    remedy: "Use the tenantId that host:auth-code carried; then relaunch the plugin, for the code is spent.",
    off: "A code of another tenant is exchanged.",
  },
  "code.plugin": {
    section: "4.1, 7.1 (RFC 6749 section 5.2)",
    says: "The authorization code was handed out to the plugin that exchanges it.",
    answer: invalidGrant,
    remedy: RELAUNCH,
    off: "A code of another plugin is exchanged.",
  },
  "code.unspent": {
    section: "3, 7.1",
    says: "The code is spent on the first exchange attempt, whether that attempt succeeds or fails.",
    answer: invalidGrant,
    remedy: RELAUNCH,
    off: "A code can be exchanged again and again.",
  },
  "code.lifetime": {
    section: "3, 7.1, 8",
    says: "The code is at most two minutes old.",
    answer: invalidGrant,
    remedy: RELAUNCH,
    off: "A code is exchanged at any age, as long as it is remembered.",
  },
  "code.verifier": {
    section: "4.1 (RFC 7636 sections 4.1 and 4.6)",
    says: "code_verifier is 43 to 128 unreserved characters whose S256 challenge was sent at launch.",
    answer: invalidGrant,
    remedy: "Keep the verifier of each launch beside its challenge; then relaunch the plugin.",
    off: "code_verifier is not looked at.",
  },
};
