/** The one interface behind which it is hidden how a token is had. */
import type { LoginRequiredError, RelaunchRequiredError, Variant } from "../errors.js";
import type { AccessToken } from "./access-token.js";
import type { AuthOptions } from "./auth-options.js";

/**
 * Gives access tokens for one tenant of one deployment.
 *
 * @example
 * const { value } = await auth.getAccessToken({ signal: AbortSignal.timeout(5_000) });
 */
export interface Auth {
  readonly variant: Variant;
  readonly baseUrl: string;
  readonly tenantId: string;
  /**
   * A token that is valid now. Calls share one request; aborting one ends only that caller's wait, with the
   * signal's reason.
   *
   * @throws TokenRequestError, RateLimitedError, TransportError, UnexpectedResponseError, VariantError, ConfigurationError
   * @throws RelaunchRequiredError, LoginRequiredError of a person's: there is no other token without them
   * @throws StoreError of a person's with a refresh token, which is redeemed under the store's lock alone
   */
  getAccessToken(options?: { signal?: AbortSignal | undefined }): Promise<AccessToken>;
  /**
   * What the API calls through this Auth use unless told otherwise, so that a proxy, a client certificate or a test's
   * clock need be given once. An Auth of your own may leave it out.
   */
  readonly inherited?: Pick<AuthOptions, "fetch" | "now" | "timeoutMs" | "onEvent"> | undefined;
  /** Whether there is no other token without the person: a 401 of the API is then the answer. Default: false. */
  readonly needsPerson?: boolean | undefined;
  /**
   * What to ask the person for, where `needsPerson` and the API refused a token older than 30 s: it becomes the `cause`
   * of the call's error. An Auth of your own may leave it out.
   */
  refused?(token: AccessToken): RelaunchRequiredError | LoginRequiredError;
  /** Drops a token that the API refused. About a token already replaced: ignored. */
  invalidate(token: AccessToken): void;
}
