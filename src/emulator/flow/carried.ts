// What a step of a flow carried, redacted: the name of each field, and its value only where everybody may know it.

/** One field of a message. */
export interface Carried {
  readonly name: string;
  /** The value if it is public, else what kind of value it was. */
  readonly shown: string;
}

/** Values of the protocols themselves. */
const WORDS: ReadonlySet<string> = new Set([
  "authorization_code",
  "refresh_token",
  "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
  "code",
  "S256",
  "Bearer",
  "allow",
  "deny",
]);
/** Chosen by people and kept for long: not even their length is told. */
const UNMEASURED: ReadonlySet<string> = new Set(["password", "client_secret"]);

/** `known` are the values that may be shown beside the words of the protocols; absent fields are left out. */
export function carried(fields: Readonly<Record<string, unknown>>, known: ReadonlySet<string>): Carried[] {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ({ name, shown: shownValue(name, value, known) }));
}

function shownValue(name: string, value: unknown, known: ReadonlySet<string>): string {
  if (typeof value === "string") {
    if (UNMEASURED.has(name)) return value === "" ? "empty" : "given";
    return known.has(value) || WORDS.has(value) ? value : `${value.length} characters`;
  }
  if (Array.isArray(value)) return `${value.length} in a list`;
  if (typeof value === "object" && value !== null) return `an object of ${Object.keys(value).join(", ")}`;
  return String(value);
}
