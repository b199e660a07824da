/** Refuses a regular expression that means one thing to JSON Schema and another to zod. */
import { documentError } from "./document.js";
import type { Expression } from "./expression.js";

/** JSON Schema patterns are Unicode patterns, zod's are not: what differs between the two is refused. */
export function checkPattern(pattern: string, pointer: string, to: Expression): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the lower bound of what is not in the basic plane
  const unicodeOnly = /\\[pP]\{|\\u\{|[^\u0000-\uFFFF]/u.test(pattern);
  try {
    new RegExp(pattern);
    new RegExp(pattern, "u");
    if (!unicodeOnly) return;
  } catch {
    // Falls through to the refusal.
  }
  throw documentError(to.document, "schema_unsupported", pointer, "the pattern cannot be expressed in zod");
}
