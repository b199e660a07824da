/** What state of a person is kept under: the operator where that is known, and never somebody else's. */
import type { SessionSubject } from "./session-subject.js";

/** "Key per-operator state on it" (section 2.3 of the description): a userId counts only within its tenant. */
export function stateKeyOf({ operator, baseUrl, tenantId, person }: SessionSubject): string {
  const parts =
    operator === undefined ? ["session", person] : ["operator", baseUrl, tenantId, operator.userId];
  return JSON.stringify(parts);
}
