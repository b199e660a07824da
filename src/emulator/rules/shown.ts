// Renders a received value for the customer log: enough of it to find the mistake, and never a
// credential.

/**
 * Longer strings are described, not quoted. A token URL fits; an assertion, a key or a body does
 * not.
 */
const LONGEST_QUOTED = 200;
const COMPACT_JWT = /eyJ[\w-]{0,200}\.[\w-]{0,200}\./;
/**
 * Finds a code, a token or a verifier in the wrong field: they have at least 43 of these characters
 * in a row (RFC 7636 section 4.1). A UUID has 36, and the slashes of a URL separate shorter parts.
 */
const OPAQUE = /[\w.~-]{41}/;
/**
 * Scheme and host of a URL without user info. Its labels are judged one by one, since a long host
 * looks like a token.
 */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[a-z0-9.-]+([:/?#]|$)/;
/**
 * An id as people make one up: a few words or numbers, such as reporter, plugin-2 or acme.reports.
 */
const WORDS = /^[A-Za-z][a-z]{0,19}\d{0,4}([._-]([A-Za-z][a-z]{0,19}\d{0,4}|\d{1,4})){0,4}$/;

/**
 * Undefined becomes "absent". A short printable string that is no credential is quoted; all else is
 * described.
 */
export function shown(value: unknown): string {
  return render(value, isQuotable);
}

/** Says what kind of value was received, and nothing of its content. */
export function shownKind(value: unknown): string {
  const isScalar = typeof value === "number" || typeof value === "boolean";
  return isScalar ? typeof value : render(value, () => false);
}

/** Renders a kid, which may be a thumbprint (RFC 7638) that looks like a token. */
export function shownKeyId(value: unknown): string {
  return render(value, isShortText);
}

/**
 * Renders a client_id that is not registered: a caller that swaps two settings sends a secret in
 * its place.
 */
export function shownClientId(value: string | undefined): string {
  return render(value, isMadeUpId);
}

/** Renders a URI; any other value may be a secret in the wrong field. */
export function shownUri(value: string | undefined): string {
  return value === undefined || value === "" || URL.canParse(value)
    ? shown(value || undefined)
    : "no URI";
}

/** Whether an unregistered id looks like an id, and not like a secret. */
export function isMadeUpId(value: string): boolean {
  return value.length <= 40 && WORDS.test(value);
}

/** Whether a received string may stand in a log as it is. */
export function isQuotable(value: string): boolean {
  return (
    isShortText(value) &&
    !OPAQUE.test(value.replace(ORIGIN, (origin) => origin.replaceAll(".", "/")))
  );
}

function render(value: unknown, isQuoted: (value: string) => boolean): string {
  if (value === undefined) return "absent";
  if (typeof value === "string")
    return isQuoted(value) ? JSON.stringify(value) : `a string of length ${value.length}`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

function isShortText(value: string): boolean {
  return value.length <= LONGEST_QUOTED && /^[\x20-\x7e]*$/.test(value) && !COMPACT_JWT.test(value);
}
