/** Step 4 of a login: leaves for the backend's login, which comes back to this address. */
import { PageError } from "./page-error.js";
import { createVerifier } from "./pkce.js";

/**
 * In the address that a login comes back to, with a value of this login alone: the backend then knows which of the
 * browser's tabs asks. If there is no session, another login would not help.
 */
export const RETURN_MARK = "bivariant_login";

/** Stays pending while the browser goes. @throws PageError `session_missing` */
export function goToLogin(backend: URL, address: URL, tenant: string | undefined): Promise<never> {
  address.searchParams.set(RETURN_MARK, createVerifier());
  const query = { return_to: address.pathname + address.search, ...(tenant && { tenant }) };
  location.assign(`${backend}/login?${new URLSearchParams(query)}`);
  return new Promise((_, reject) => {
    // The person went back, and the browser had kept the page as it was.
    addEventListener("pageshow", ({ persisted }) => persisted && reject(new PageError("session_missing")));
  });
}
