/** `--header name:value`, as curl takes them. */
import { ConfigurationError } from "../../errors.js";

/** These carry secrets, which never come from the command line; the bearer is added by the client. */
const secretHeaders = /^(?:authorization|proxy-authorization|cookie|x-api-key)$/i;

/** @throws ConfigurationError `option_invalid`; it shows no value */
export function readHeaders(given: readonly string[]): Record<string, string> {
  const headers = new Headers();
  for (const one of given) {
    const colon = one.indexOf(":");
    const name = one.slice(0, Math.max(colon, 0)).trim();
    if (secretHeaders.test(name))
      throw refused(
        `--header ${name.toLowerCase()} is not taken: a secret on the command line is seen by other users. The bearer is added by itself`,
      );
    try {
      headers.append(name, one.slice(colon + 1).trim());
    } catch {
      throw refused("--header takes name:value, of characters that a header may hold");
    }
  }
  return Object.fromEntries(headers);
}

function refused(why: string): ConfigurationError {
  return new ConfigurationError("option_invalid", `${why}.`, { option: "--header" });
}
