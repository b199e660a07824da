/** Headers as a plain record with lower-case names: cheaper than the class, and any fetch takes it. */
import { ConfigurationError } from "../errors.js";

/** RFC 9110 section 5.6.2: a token. */
const headerName = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
/** RFC 9110 section 5.5: visible characters, spaces, tabs and the bytes above them. */
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Merges headers; later ones win, and `null` or `undefined` takes one away. Of any realm: undici's own `Headers`, a
 * `Map` and a list of pairs alike.
 *
 * @throws ConfigurationError `option_invalid`; it shows no value
 */
export function headerRecord(
  ...all: readonly (RequestInit["headers"] | Readonly<Record<string, unknown>> | undefined)[]
): Record<string, string> {
  const record: Record<string, string> = {};
  for (const headers of all) {
    if (headers === undefined || headers === null) continue;
    if (typeof headers !== "object") throw refused("headers are neither an object nor a list.");
    const entries = Symbol.iterator in headers ? headers : Object.entries(headers);
    for (const entry of entries as Iterable<unknown>) {
      if (!Array.isArray(entry) || entry.length !== 2)
        throw refused("headers hold an entry that is no pair of a name and a value.");
      const [name, value] = entry as [unknown, unknown];
      const key = String(name).toLowerCase();
      const text = String(value);
      if (value === null || value === undefined) delete record[key];
      else if (!headerName.test(key)) throw refused("A header has a name that no header can have.");
      else if (/[\r\n\0]/.test(text)) throw refused(`The header ${key} holds a line break.`);
      else if (!headerValue.test(text))
        throw refused(`The header ${key} holds a character that no header can hold.`);
      else record[key] = text;
    }
  }
  return record;
}

function refused(message: string): ConfigurationError {
  return new ConfigurationError("option_invalid", message, { option: "headers" });
}
