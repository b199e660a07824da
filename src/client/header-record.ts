/** Headers as a plain record with lower-case names: cheaper than the class, and any fetch takes it. */
import { ConfigurationError } from "../errors.js";

/** Merges headers; later ones win, and `null` or `undefined` takes one away. */
export function headerRecord(
  ...all: readonly (RequestInit["headers"] | Readonly<Record<string, unknown>> | undefined)[]
): Record<string, string> {
  const record: Record<string, string> = {};
  for (const headers of all) {
    if (headers === undefined || headers === null) continue;
    const entries = headers instanceof Headers || Array.isArray(headers) ? headers : Object.entries(headers);
    for (const [name, value] of entries as Iterable<[string, unknown]>) {
      const key = String(name).toLowerCase();
      if (value === null || value === undefined) delete record[key];
      else if (/[\r\n\0]/.test(String(value)))
        throw new ConfigurationError(
          "option_invalid",
          `The header ${JSON.stringify(key)} holds a line break.`,
          {
            option: "headers",
          },
        );
      else record[key] = String(value);
    }
  }
  return record;
}
