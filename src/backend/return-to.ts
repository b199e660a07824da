/** Where a login leads back to: only to a page of the application itself (RFC 9700 section 4.11: no open redirector). */
import { Refusal } from "./refusal.js";
import { isAllowedOrigin, type OriginOptions, ownOrigin } from "./request-origin.js";

/** Whoever comes along has it remembered, before anybody logged in. In characters of the whole address. */
const longest = 2_048;

/**
 * The address to go back to, absolute, so that no browser can read a path in it as another host.
 *
 * @param path of the backend's routes: coming back to one of them would log in for ever
 * @throws Refusal `return_to_refused`
 */
export function parseReturnTo(
  value: string | null,
  request: Request,
  options: OriginOptions & { readonly path: string },
): string {
  const own = ownOrigin(request, options);
  const given = value ?? "/";
  // Browsers drop tabs and newlines inside an address and take a backslash for a slash.
  const isPlain = !/[\\\p{Cc}]/u.test(given) && given.trim() === given;
  const isPath = given.startsWith("/") && !given.startsWith("//");
  if (!isPlain || (!isPath && !/^https?:\/\//i.test(given)) || !URL.canParse(given, own))
    throw new Refusal("return_to_refused");
  const url = new URL(given, own);
  const isOwnRoute = url.origin === own && `${url.pathname}/`.startsWith(`${options.path}/`);
  if (
    url.href.length > longest ||
    !isAllowedOrigin(url.origin, request, options) ||
    url.username !== "" ||
    url.password !== "" ||
    isOwnRoute
  )
    throw new Refusal("return_to_refused");
  return url.href;
}

/** What bivariant/page writes into the address that its login comes back to: which of a browser's logins it is. */
const markName = "bivariant_login";

/** The mark of the page that began a login; empty for one that wrote none. */
export function markOf(returnTo: string): string {
  return new URL(returnTo).searchParams.get(markName) ?? "";
}

/** The same address, with what went wrong where only its page can read it. */
export function withLoginError(returnTo: string, code: string): string {
  const url = new URL(returnTo);
  url.hash = `login_error=${code}`;
  return url.href;
}
