// Renders a received value for the customer log: enough to find the mistake, never enough to be a credential.

/** Longer strings are described, not quoted. A token URL fits; an assertion, a key or a body does not. */
const LONGEST_QUOTED = 200;
const COMPACT_JWT = /eyJ[\w-]*\.[\w-]*\./;
/** A code, a token or a verifier in the wrong field: 43 characters at least, where a UUID has 36 and a URL has slashes. */
const OPAQUE = /[\w~-]{41}/;
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;

/** Undefined reads "absent"; strings are quoted if short, printable and no credential; the rest is described. */
export function shown(value: unknown): string {
  return render(value, isQuotable);
}

/** The same of a kid, which may be a thumbprint (RFC 7638): that looks like a token and is none. */
export function shownKeyId(value: unknown): string {
  return render(value, isShortText);
}

/** Whether a received string may stand in a log as it is. */
export function isQuotable(value: string): boolean {
  return isShortText(value) && !OPAQUE.test(value);
}

function render(value: unknown, isQuoted: (value: string) => boolean): string {
  if (value === undefined) return "absent";
  if (typeof value === "string")
    return isQuoted(value) ? JSON.stringify(value) : `a string of length ${value.length}`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

function isShortText(value: string): boolean {
  return value.length <= LONGEST_QUOTED && PRINTABLE_ASCII.test(value) && !COMPACT_JWT.test(value);
}
