/** The interfaces behind which the ways to a token are hidden: `Auth`, `PersonAuth` and the access token. */
import type { LoginRequiredError, RelaunchRequiredError, Variant } from "../errors.js";
import type { TargetOptions } from "../variants/target.js";
import type { AuthOptions } from "./auth-options.js";
import type { PersonCredential } from "./credentials/credential.js";

/**
 * Returns access tokens for one tenant of one deployment.
 *
 * @example
 * const { value } = await auth.getAccessToken({ signal: AbortSignal.timeout(5_000) });
 */
export interface Auth {
  readonly variant: Variant;
  readonly baseUrl: string;
  readonly tenantId: string;
  /**
   * Resolves with a token that is valid now. Concurrent calls share one request; aborting one ends only that caller's
   * wait, with the signal's reason.
   *
   * @throws TokenRequestError, RateLimitedError, TransportError, UnexpectedResponseError, VariantError, ConfigurationError
   * @throws RelaunchRequiredError, LoginRequiredError when a person's token cannot be renewed without the person
   * @throws StoreError when a person has a refresh token: it is redeemed only under the lock of the store
   */
  getAccessToken(options?: { signal?: AbortSignal | undefined }): Promise<AccessToken>;
  /**
   * The options that API calls through this Auth inherit, so that a proxy, a client certificate or a test's clock need
   * be passed only once. Optional in an Auth of your own.
   */
  readonly inherited?: Pick<AuthOptions, "fetch" | "now" | "timeoutMs" | "onEvent"> | undefined;
  /** Whether only the person can get another token, so that a 401 of the API is final. Default: false. */
  readonly needsPerson?: boolean | undefined;
  /**
   * Returns what to ask the person for when `needsPerson` is set and the API refused a token older than 30 s: it becomes
   * the `cause` of the call's error. Optional in an Auth of your own.
   */
  refused?(token: AccessToken): RelaunchRequiredError | LoginRequiredError;
  /** Drops a token that the API refused. Ignored when the token was already replaced. */
  invalidate(token: AccessToken): void;
}

/** An `Auth` that stands for a person, from a launch (Variant A) or a login (Variant B). */
export interface PersonAuth<V extends Variant = Variant> extends Auth {
  readonly variant: V;
  /** The name of this person's tokens in the store; pass it to `resumeAuth` to load them again. */
  readonly person: string;
  refused(token: AccessToken): RelaunchRequiredError | LoginRequiredError;
  /** Deletes the tokens, here and in the store, at the end of a session. A token in use elsewhere lives until it expires. */
  forget(): Promise<void>;
}

/** The person, the tenant of a deployment and the credential that tokens are for. */
export interface PersonAuthOptions<V extends Variant = Variant> extends AuthOptions, TargetOptions {
  readonly credential: PersonCredential<V>;
  /**
   * A name for the person, unique in the store: the id of your own session, for instance. Never a user id alone, since
   * one login would replace another. Default: random.
   */
  readonly person?: string | undefined;
}

/** The person a token stands for (section 2.3 of the description, `revo.user`). */
export interface Operator {
  readonly userId: string;
  readonly firstname?: string;
  readonly lastname?: string;
}

/** A bearer token and the fields of its answer. `value` is not enumerable: it appears in no log, JSON or inspection. */
export interface AccessToken {
  readonly value: string;
  /** Epoch milliseconds, by the clock of this machine. */
  readonly expiresAt: number;
  /** Epoch milliseconds at which the token was requested. */
  readonly issuedAt?: number;
  readonly tenant?: string;
  readonly operator?: Operator;
  readonly roles?: readonly { readonly name: string; readonly group?: string }[];
}

/** The fields of a token, as read from an answer or a store. */
export type AccessTokenFields = { readonly [K in keyof AccessToken]: AccessToken[K] | undefined } & {
  readonly value: string;
  readonly expiresAt: number;
};

class HeldToken implements AccessToken {
  readonly #value: string;
  readonly expiresAt: number;
  declare readonly issuedAt?: number;
  declare readonly tenant?: string;
  declare readonly operator?: Operator;
  declare readonly roles?: readonly { readonly name: string; readonly group?: string }[];

  constructor({ value, expiresAt, issuedAt, tenant, operator, roles }: AccessTokenFields) {
    this.#value = value;
    this.expiresAt = expiresAt;
    if (issuedAt !== undefined) this.issuedAt = issuedAt;
    if (tenant !== undefined) this.tenant = tenant;
    if (operator !== undefined) this.operator = operator;
    if (roles !== undefined) this.roles = roles;
    Object.freeze(this);
  }

  get value(): string {
    return this.#value;
  }
}

/** Makes a token of its fields; unknown fields are dropped. */
export function createAccessToken(fields: AccessTokenFields): AccessToken {
  return new HeldToken(fields);
}
