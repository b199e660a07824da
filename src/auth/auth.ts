/** The types that all ways to a token share: `Auth`, `PersonAuth` and the access token. */
import type { InheritedOptions } from "../client-options.js";
import type { LoginRequiredError, RelaunchRequiredError, Variant } from "../errors.js";
import { withoutUndefined } from "../options.js";

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
  getAccessToken(options?: TokenOptions): Promise<AccessToken>;
  /** Drops a token that the API refused. Does nothing if the token was already replaced. */
  invalidate(token: AccessToken): void;
  /** What calls read besides tokens. An Auth of your own may leave it out, and one that wraps another passes it on. */
  readonly [callSupport]?: CallSupport | undefined;
}

/**
 * The key under which an `Auth` says what calls need besides tokens.
 *
 * @example
 * const counted: Auth = { ...target, getAccessToken, invalidate, [callSupport]: auth[callSupport] };
 */
export const callSupport: unique symbol = Symbol.for("bivariant.callSupport");

export interface CallSupport {
  /**
   * The options that API calls through this Auth inherit, so that a proxy, a client certificate or a test's clock need
   * be passed only once.
   */
  readonly inherited?: InheritedOptions | undefined;
  /** Whether only the person can get another token, so that a 401 of the API is final. Default: false. */
  readonly needsPerson?: boolean | undefined;
  /**
   * Returns the error that says what to ask the person for. It is called when `needsPerson` is set and the API refused
   * a token older than 30 s, and becomes the `cause` of the call's error.
   */
  refused?(token: AccessToken): RelaunchRequiredError | LoginRequiredError;
}

export interface TokenOptions {
  readonly signal?: AbortSignal | undefined;
  /** Passed by a call, for the events of the token request that it starts. An Auth of your own may ignore it. */
  readonly requestId?: string | undefined;
}

/** An `Auth` that stands for a person, from a launch (Variant A) or a login (Variant B). */
export interface PersonAuth<V extends Variant = Variant> extends Auth {
  readonly variant: V;
  /** The name of this person's tokens in the store; pass it to `resumeAuth` to load them again. */
  readonly person: string;
  /** Deletes the tokens, here and in the store, at the end of a session. A token in use elsewhere lives until it expires. */
  forget(): Promise<void>;
}

/** The person a token stands for (section 2.3 of the description, `revo.user`). */
export interface Operator {
  /** A number in the answer becomes its digits. */
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
type AccessTokenFields = { readonly [K in keyof AccessToken]: AccessToken[K] | undefined } & {
  readonly value: string;
  readonly expiresAt: number;
};

class HeldToken {
  readonly #value: string;

  constructor({ value, expiresAt, issuedAt, tenant, operator, roles }: AccessTokenFields) {
    this.#value = value;
    const rest: Required<Omit<AccessTokenFields, "value">> = { expiresAt, issuedAt, tenant, operator, roles };
    Object.freeze(Object.assign(this, withoutUndefined(rest)));
  }

  get value(): string {
    return this.#value;
  }
}

/** Makes a token from its fields and drops unknown ones. */
export function createAccessToken(fields: AccessTokenFields): AccessToken {
  return new HeldToken(fields) as unknown as AccessToken;
}
