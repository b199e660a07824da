/** An access token: what is known of it is plain to see, its value only to who asks for it by name. */

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
