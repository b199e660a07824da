// What a seed file has in the place of a key may be a secret of letters alone: told is what is nearly a known key or rule.
import { isNearly } from "../known-members.js";
import { KNOWN_KEYS } from "../parse-input.js";
import { rules } from "../rules.js";

const UNKNOWN_KEYS = /(?<=Unrecognized keys?: ).*(?=; known are )/;
const NO_RULE = /"([^"]*)"(?= is no rule)/;
const ruleIds = Object.keys(rules);

/** The issue without such a name: its line says where it is, and what is known instead is told. */
export function hideUnknown(issue: string): string {
  const known = issue.split(KNOWN_KEYS)[1]?.split(", ") ?? [];
  return issue
    .replace(UNKNOWN_KEYS, (keys) =>
      keys.replace(/"([^"]*)"/g, (told, key: string) => (isNearly(key, known) ? told : "…")),
    )
    .replace(NO_RULE, (told, name: string) => (isRulelike(name) ? told : "what is there"));
}

/** Of a known group, as assertion.colour, or nearly a rule's id. */
function isRulelike(name: string): boolean {
  const groups = new Set(ruleIds.map((id) => id.slice(0, id.indexOf(".") + 1)));
  return isNearly(name, ruleIds) || [...groups].some((group) => name.startsWith(group));
}
