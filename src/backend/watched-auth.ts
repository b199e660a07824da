/** An Auth that tells what its refused tokens came to, so that the answer to the browser can end what they belong to. */
import type { Auth, PersonAuth } from "../auth/auth.js";
import type { LoginRequiredError, RelaunchRequiredError, Variant } from "../errors.js";

export function watchedAuth(
  auth: PersonAuth,
  watch: (required: RelaunchRequiredError | LoginRequiredError) => void,
): Auth & { readonly variant: Variant } {
  const { variant, baseUrl, tenantId, inherited } = auth;
  return {
    ...{ variant, baseUrl, tenantId, inherited },
    // Not copied: a refresh token that is refused leaves a person whom nothing but a login helps.
    get needsPerson() {
      return auth.needsPerson;
    },
    getAccessToken: (options) => auth.getAccessToken(options),
    invalidate: (token) => auth.invalidate(token),
    refused(token) {
      const required = auth.refused(token);
      watch(required);
      return required;
    },
  };
}
