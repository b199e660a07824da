// The registered clients of Variant B for machine-to-machine use, and the check of their secrets.
import { z } from "zod";
import { EmulatorError } from "../emulator-error.js";
import { parseInput } from "../parse-input.js";
import { clientIdSchema } from "./client-id.js";
import { scopeSchema } from "./scope.js";
import { isSecretOf, secretDigest } from "./secret-digest.js";
import { tenantIdSchema } from "./tenant-id.js";

/** What an administrator enters under Service accounts (description, section 2.5; its fields are not shown). */
export interface ServiceAccountRegistration {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly tenantId: string;
  /** Scopes the account's role reaches. What a role reaches is not shown. Default: every route of Variant B. */
  readonly scopes?: readonly string[] | undefined;
}

/** A registered account. The secret is held as a digest. */
export interface ServiceAccount {
  readonly tenantId: string;
  readonly clientId: string;
  readonly secretDigest: Buffer;
  readonly scopes: ReadonlySet<string> | undefined;
}

const schema = z.strictObject({
  clientId: clientIdSchema,
  clientSecret: z.string().min(1),
  tenantId: tenantIdSchema,
  scopes: z.array(scopeSchema).optional(),
});

export class ServiceAccounts {
  readonly #byClientId = new Map<string, ServiceAccount>();
  readonly #isTaken: (clientId: string) => boolean;

  /** `isTaken` tells the client_ids of Variant B's other registrations. */
  constructor(isTaken: (clientId: string) => boolean) {
    this.#isTaken = isTaken;
  }

  register(input: unknown): void {
    const sheet = parseInput<ServiceAccountRegistration>(
      schema,
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

  dump(): readonly unknown[] {
    return this.list();
  }

  load(entries: readonly unknown[]): void {
    this.#byClientId.clear();
    for (const entry of entries as readonly ServiceAccount[]) this.#byClientId.set(entry.clientId, entry);
  }
}
