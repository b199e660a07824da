// The registered clients of Variant B that people log in to, and the check of their secrets.
import { z } from "zod";
import { EmulatorError } from "../emulator-error.js";
import { parseInput } from "../parse-input.js";
import { clientIdSchema } from "./client-id.js";
import { redirectUriSchema } from "./redirect-uri.js";
import { scopeSchema } from "./scope.js";
import { isSecretOf, secretDigest } from "./secret-digest.js";
import { tenantIdSchema } from "./tenant-id.js";

/** What an administrator enters under API clients (description, section 2.5; its fields are not shown). */
export interface ApiClientRegistration {
  readonly clientId: string;
  /** Held against `redirect_uri` exactly; the port of a loopback IP literal is free (RFC 8252 section 7.3). */
  readonly redirectUris: readonly string[];
  /** Makes the client a confidential one: it must then send the secret. Default: a public client, which sends none. */
  readonly clientSecret?: string | undefined;
  /** The scopes that the client may be allowed. Default: whatever the person has. */
  readonly scopes?: readonly string[] | undefined;
  /** What the consent page calls it. Default: the client_id. */
  readonly name?: string | undefined;
  /** The tenant whose people may log in. Default: those of every tenant. */
  readonly tenantId?: string | undefined;
}

/** A registered API client. The secret is held as a digest. */
export interface ApiClient {
  readonly clientId: string;
  readonly redirectUris: readonly string[];
  readonly secretDigest: Buffer | undefined;
  readonly scopes: ReadonlySet<string> | undefined;
  readonly name: string;
  readonly tenantId: string | undefined;
}

const schema = z.strictObject({
  clientId: clientIdSchema,
  redirectUris: z.array(redirectUriSchema).min(1),
  clientSecret: z.string().min(1).optional(),
  scopes: z.array(scopeSchema).optional(),
  name: z.string().min(1).max(100).optional(),
  tenantId: tenantIdSchema.optional(),
});

export class ApiClients {
  readonly #byClientId = new Map<string, ApiClient>();
  readonly #isTaken: (clientId: string) => boolean;

  /** `isTaken` tells the client_ids of Variant B's other registrations. */
  constructor(isTaken: (clientId: string) => boolean) {
    this.#isTaken = isTaken;
  }

  register(input: unknown): void {
    const sheet = parseInput<ApiClientRegistration>(schema, input, "registration_invalid", "API client");
    const { clientId } = sheet;
    if (this.find(clientId) !== undefined || this.#isTaken(clientId)) {
      throw new EmulatorError("already_registered", `client ${clientId} is already registered`);
    }
    this.#byClientId.set(clientId, {
      clientId,
      redirectUris: sheet.redirectUris,
      secretDigest: sheet.clientSecret === undefined ? undefined : secretDigest(sheet.clientSecret),
      scopes: sheet.scopes && new Set(sheet.scopes),
      name: sheet.name ?? clientId,
      tenantId: sheet.tenantId,
    });
  }

  find(clientId: string): ApiClient | undefined {
    return this.#byClientId.get(clientId);
  }

  /** In the order of their registration. */
  list(): ApiClient[] {
    return [...this.#byClientId.values()];
  }

  dump(): readonly unknown[] {
    return this.list();
  }

  load(entries: readonly unknown[]): void {
    this.#byClientId.clear();
    for (const entry of entries as readonly ApiClient[]) this.#byClientId.set(entry.clientId, entry);
  }

  /** The client, if it is known and sent its secret, or if it is a public one and sent none. */
  authenticate(clientId: string, clientSecret: string | undefined): ApiClient | undefined {
    const client = this.find(clientId);
    if (client?.secretDigest === undefined || clientSecret === undefined) {
      return client?.secretDigest === undefined && clientSecret === undefined ? client : undefined;
    }
    return isSecretOf(client.secretDigest, clientSecret) ? client : undefined;
  }
}
