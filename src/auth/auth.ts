/** The one interface behind which it is hidden how a token is had. */
import type { LoginRequiredError, RelaunchRequiredError, Variant } from "../errors.js";
import type { AuthOptions } from "./auth-options.js";
import type { PersonCredential } from "./credentials/credential.js";

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

/** The person a token stands for (section 2.3 of the description, `revo.user`). */
export interface Operator {
  readonly userId: string;
  readonly firstname?: string;
  readonly lastname?: string;
}

/** A bearer token and what its answer told. `value` is not enumerable: it is in no log, JSON or inspection. */
export interface AccessToken {
  readonly value: string;
  /** Epoch milliseconds, by the clock of this machine. */
  readonly expiresAt: number;
  /** Epoch milliseconds at which it was asked for. */
  readonly issuedAt?: number;
  readonly tenant?: string;
  readonly operator?: Operator;
  readonly roles?: readonly { readonly name: string; readonly group?: string }[];
}

/** The fields of a token, as a parser or a store gives them. */
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

export function createAccessToken(fields: AccessTokenFields): AccessToken {
  return new HeldToken(fields);
}

/** An `Auth` that stands for a person: had by a launch (Variant A) or a login (Variant B). */
export interface PersonAuth<V extends Variant = Variant> extends Auth {
  readonly variant: V;
  /** Under which name this person's tokens rest in the store; give it to `resumeAuth` to find them again. */
  readonly person: string;
  refused(token: AccessToken): RelaunchRequiredError | LoginRequiredError;
  /** Forgets the tokens, here and in the store: the end of a session. A token in use elsewhere lives until it expires. */
  forget(): Promise<void>;
}

/** Which person's tokens, for which tenant of which deployment, by which credential. */
export interface PersonAuthOptions<V extends Variant = Variant> extends AuthOptions {
  readonly baseUrl: string;
  /** With a credential of Variant B a local key only, which may be left out. */
  readonly tenantId?: string | undefined;
  readonly credential: PersonCredential<V>;
  /**
   * A name for whoever the tokens are for, unique in the store: the id of your own session, for instance. Never a user
   * id alone, which would let one login replace another. Default: random.
   */
  readonly person?: string | undefined;
}
