// Renders a received value for the customer log: enough to find the mistake, never enough to be a credential.

/** Longer strings are described, not quoted. A token URL fits; an assertion, a key or a body does not. */
const LONGEST_QUOTED = 200;
const COMPACT_JWT = /eyJ[\w-]*\.[\w-]*\./;
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;

/** Undefined reads "absent"; strings are quoted if short, printable and not a JWT; the rest is described. */
export function shown(value: unknown): string {
  if (value === undefined) return "absent";
  if (typeof value === "string")
    return isQuotable(value) ? JSON.stringify(value) : `a string of length ${value.length}`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

/** Whether a received string may stand in a log as it is. */
export function isQuotable(value: string): boolean {
  return value.length <= LONGEST_QUOTED && PRINTABLE_ASCII.test(value) && !COMPACT_JWT.test(value);
}
