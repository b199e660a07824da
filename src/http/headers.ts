/** Headers of any realm as a plain record, checked. */
import { invalidOption } from "../options.js";

/** The name of a header or a method (RFC 9110 section 5.6.2). */
export const httpToken: RegExp = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;
/** A header value may have visible characters, spaces, tabs and bytes above 0x7F (RFC 9110 section 5.5). */
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Merges headers of any realm into a plain record with lower-case names. It is cheaper than the class, and any fetch
 * accepts it. Later headers win; `null` or `undefined` removes a header. An error message never contains a value.
 */
export function headerRecord(
  ...all: readonly (RequestInit["headers"] | Readonly<Record<string, unknown>> | undefined)[]
): Record<string, string> {
  const record: Record<string, string> = {};
  for (const headers of all) {
    if (headers === undefined || headers === null) continue;
    if (typeof headers !== "object") throw invalidOption("headers", "must be an object or a list of pairs");
    const entries = Symbol.iterator in headers ? headers : Object.entries(headers);
    for (const entry of entries as Iterable<unknown>) {
      if (!Array.isArray(entry) || entry.length !== 2)
        throw invalidOption("headers", "must hold pairs of a name and a value");
      const [name, value] = entry as [unknown, unknown];
      const key = String(name).toLowerCase();
      const text = String(value);
      if (value === null || value === undefined) delete record[key];
      else if (!httpToken.test(key)) throw invalidOption("headers", "hold a name that HTTP does not allow");
      else if (headerValue.test(text)) record[key] = text;
      else throw invalidOption("headers", `hold a forbidden character, such as a line break, in ${key}`);
    }
  }
  return record;
}
