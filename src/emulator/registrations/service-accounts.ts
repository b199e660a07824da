// The service accounts: registration, update, and their records.
import { z } from "zod";
import { EmulatorError, parseInput } from "../errors.js";
import { shown, shownClientId } from "../shown.js";
import { clientIdSchema, isSecretOf, scopeSchema, secretDigest, tenantIdSchema } from "./fields.js";

/** What an administrator enters under Service accounts (description, section 2.5; its fields are not shown). */
export interface ServiceAccountRegistration {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly tenantId: string;
  /** Scopes the account's role reaches. What a role reaches is not shown. Default: every route of Variant B. */
  readonly scopes?: readonly string[] | undefined;
}

/** Which account: its client_id is unique in Variant B. A tenant that is named has to be its own. */
export interface ServiceAccountIdentity {
  readonly clientId: string;
  readonly tenantId?: string | undefined;
}

/** A live change of one account; a member that is left out stays. */
export interface ServiceAccountUpdate extends ServiceAccountIdentity {
  readonly clientSecret?: string | undefined;
  /** `null`: every route of Variant B. */
  readonly scopes?: readonly string[] | null | undefined;
}

const clientSecret = z.string().min(1);
const scopes = z.array(scopeSchema);
export const serviceAccountSchema: z.ZodType<ServiceAccountRegistration> = z.strictObject({
  clientId: clientIdSchema,
  clientSecret,
  tenantId: tenantIdSchema,
  scopes: scopes.optional(),
});
const identity = { clientId: clientIdSchema, tenantId: tenantIdSchema.optional() };
export const serviceAccountUpdateSchema: z.ZodType<ServiceAccountUpdate> = z.strictObject({
  ...identity,
  clientSecret: clientSecret.optional(),
  scopes: scopes.nullable().optional(),
});

/** A registered account. Replaced as a whole by an update. The secret is held as a digest. */
export interface ServiceAccount {
  readonly tenantId: string;
  readonly clientId: string;
  readonly secretDigest: Buffer;
  readonly scopes: ReadonlySet<string> | undefined;
}

export class ServiceAccounts {
  readonly #byClientId = new Map<string, ServiceAccount>();
  readonly #isTaken: (clientId: string) => boolean;

  /** `isTaken` reports whether another kind of registration has the client_id. */
  constructor(isTaken: (clientId: string) => boolean) {
    this.#isTaken = isTaken;
  }

  register(input: unknown): void {
    const sheet = parseInput<ServiceAccountRegistration>(
      serviceAccountSchema,
      input,
      "registration_invalid",
      "service account",
    );
    // Variant B's token path names no tenant: the client_id alone decides which one the token is for.
    if (this.#byClientId.has(sheet.clientId) || this.#isTaken(sheet.clientId)) {
      throw new EmulatorError("already_registered", `client ${sheet.clientId} is already registered`);
    }
    this.#byClientId.set(sheet.clientId, {
      tenantId: sheet.tenantId,
      clientId: sheet.clientId,
      secretDigest: secretDigest(sheet.clientSecret),
      scopes: sheet.scopes && new Set(sheet.scopes),
    });
  }

  update(input: unknown): void {
    const change = parseInput<ServiceAccountUpdate>(
      serviceAccountUpdateSchema,
      input,
      "registration_invalid",
      "service account update",
    );
    const account = this.#registered(change);
    const { clientSecret, scopes = account.scopes } = change;
    this.#byClientId.set(account.clientId, {
      ...account,
      secretDigest: clientSecret === undefined ? account.secretDigest : secretDigest(clientSecret),
      scopes: scopes === null ? undefined : scopes && new Set(scopes),
    });
  }

  /** Returns the removed registration. */
  unregister(input: unknown): ServiceAccount {
    const account = this.#registered(
      parseInput<ServiceAccountIdentity>(
        z.object(identity),
        input,
        "registration_invalid",
        "service account",
      ),
    );
    this.#byClientId.delete(account.clientId);
    return account;
  }

  #registered({ clientId, tenantId }: ServiceAccountIdentity): ServiceAccount {
    const account = this.find(clientId);
    if (account !== undefined && (tenantId ?? account.tenantId) === account.tenantId) return account;
    const where = `is not registered${tenantId === undefined ? "" : ` in ${shown(tenantId)}`}`;
    throw new EmulatorError("not_registered", `service account ${shownClientId(clientId)} ${where}`);
  }

  /**
   * The account, if the secret is its own. Takes the same time whether or not the account exists and wherever the
   * secrets differ.
   */
  authenticate(clientId: string, clientSecret: string): ServiceAccount | undefined {
    const account = this.find(clientId);
    const expected = account?.secretDigest ?? secretDigest(clientSecret);
    return isSecretOf(expected, clientSecret) ? account : undefined;
  }

  find(clientId: string): ServiceAccount | undefined {
    return this.#byClientId.get(clientId);
  }

  /** In the order of their registration. */
  list(): ServiceAccount[] {
    return [...this.#byClientId.values()];
  }
}
