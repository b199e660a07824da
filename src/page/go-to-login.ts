/** Step 4 of a login: leaves for the backend's login, which comes back to this address. */
import { PageError } from "./page-error.js";

/** In the address that a login comes back to: if there is no session then, another login would not help. */
export const RETURN_MARK = "bivariant_login";

/** Stays pending while the browser goes. @throws PageError `session_missing` */
export function goToLogin(backend: URL, address: URL, tenant: string | undefined): Promise<never> {
  address.searchParams.set(RETURN_MARK, "1");
  const query = new URLSearchParams({ return_to: address.pathname + address.search });
  if (tenant) query.set("tenant", tenant);
  location.assign(`${backend}/login?${query}`);
  return new Promise((_, reject) => {
    // The person went back, and the browser had kept the page as it was.
    addEventListener("pageshow", ({ persisted }) => {
      if (persisted) reject(new PageError("session_missing"));
    });
  });
}
