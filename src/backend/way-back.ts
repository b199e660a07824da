/** Whether a login's callback would ever reach the route that is for it. */
import { ConfigurationError } from "../errors.js";

/**
 * A cookie set here is not sent to another host, and then no login could ever be completed.
 *
 * @param own the origin of this backend, as far as it is known
 * @throws ConfigurationError `option_invalid`
 */
export function requireWayBack(redirectUri: string, own: string | undefined): void {
  const { origin, pathname } = new URL(redirectUri);
  if (!/\/callback(?:\/|$)/.test(pathname))
    throw wrong("does not lead to the route callback: its path must end with /callback, or go on below it");
  if (own === undefined || origin === own) return;
  throw wrong(
    `is at another origin than this backend (${own}), so that the login cookie would not come back with the person. Use the same for both (localhost and 127.0.0.1 are two), or give publicUrl if a proxy changes it`,
  );
}

function wrong(why: string): ConfigurationError {
  return new ConfigurationError("option_invalid", `The redirectUri of the login ${why}.`, {
    option: "deployments",
  });
}
