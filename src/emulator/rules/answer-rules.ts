// The rules of where the service answers and of what every answer looks like.
import type { RuleEntry } from "./rule.js";

export type AnswerRuleId = "path.version" | "response.raw" | "response.forbidden-empty";

export const answerRules: Readonly<Record<AnswerRuleId, RuleEntry>> = {
  "path.version": {
    section: "9",
    says: "Variant A's paths carry the segment api/v1 before the tenant segment, Variant B's the segment v1.",
    answer: { status: 404, error: "not_found" },
    remedy: "Put v1 into the path: /api/v1/{tenantId}/… or /v1/….",
    off: "The same paths are served without the segment v1 as well; aud then is the URL that was posted to.",
  },
  "response.raw": {
    section: "4.3, 9",
    says: "API responses are raw JSON unless the header X-Envelope selects a wrapped shape.",
    answer: { status: 200 },
    remedy: "Read the body as it is; name its wrapped shapes by the option envelope.",
    off: "Every JSON answer of an API route is wrapped: as X-Envelope selects, else as the first entry of the option envelope has it, else under data.",
  },
  "response.forbidden-empty": {
    section: "7.2",
    says: "The body of a 403 of the API is empty.",
    answer: { status: 403 },
    remedy: "Ask for the three causes of the description; the answer tells none of them.",
    off: "The 403 carries JSON, error insufficient_scope and the rule that was broken (RFC 6750 section 3.1).",
  },
};
