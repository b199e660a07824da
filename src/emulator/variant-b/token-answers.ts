// Variant B's answers at the token endpoint.

import type { Refusal } from "../checks.js";
import { type JsonAnswer, jsonAnswer } from "../http/json-answer.js";
import { rules } from "../rules.js";
import type { Deployment } from "../state.js";
import type { PersonTokens } from "./person-tokens.js";

/** RFC 6749 sections 5.1 and 5.2. */
const NOT_STORED = { "cache-control": "no-store", pragma: "no-cache" };

/**
 * "a JSON object with access_token (string). For the code exchange it also carries refresh_token (string). Other
 * response fields: not shown" (description, section 4.2): there is none but those that the option adds.
 */
export function clientTokenAnswer(
  { settings }: Deployment,
  { accessToken, refreshToken }: PersonTokens,
): JsonAnswer {
  const body = { access_token: accessToken, refresh_token: refreshToken, ...settings.tokenResponseExtras };
  return jsonAnswer(body, { headers: NOT_STORED });
}

/** Error bodies are not shown: the shape is RFC 6749 section 5.2's, the text the rule itself. */
export function clientRefusalAnswer(refusal: Refusal): JsonAnswer {
  const { answer, says } = rules[refusal.rule];
  const body = { error: answer.error, error_description: `Refused by the rule: ${says}` };
  return jsonAnswer(body, { status: answer.status, headers: NOT_STORED });
}
