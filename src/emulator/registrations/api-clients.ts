// The API clients: registration, update, and their records.
import { z } from "zod";
import { EmulatorError, parseInput } from "../errors.js";
import { shownClientId } from "../shown.js";
import {
  clientIdSchema,
  isSecretOf,
  redirectUriSchema,
  scopeSchema,
  secretDigest,
  tenantIdSchema,
} from "./fields.js";

/** What an administrator enters under API clients (description, section 2.5; its fields are not shown). */
export interface ApiClientRegistration {
  readonly clientId: string;
  /** Held against `redirect_uri` exactly; the port of a loopback IP literal is free (RFC 8252 section 7.3). */
  readonly redirectUris: readonly string[];
  /** Makes the client a confidential one: it must then send the secret. Default: a public client, which sends none. */
  readonly clientSecret?: string | undefined;
  /** The scopes that the client may be allowed. Default: all capabilities of the person. */
  readonly scopes?: readonly string[] | undefined;
  /** What the consent page calls it. Default: the client_id. */
  readonly name?: string | undefined;
  /** The tenant whose people may log in. Default: every tenant. */
  readonly tenantId?: string | undefined;
}

/** Which client: its client_id is unique in Variant B. */
export interface ApiClientIdentity {
  readonly clientId: string;
}

/** A live change of one client; a member that is left out stays. */
export interface ApiClientUpdate extends ApiClientIdentity {
  readonly redirectUris?: readonly string[] | undefined;
  /** `null` makes it a public client. */
  readonly clientSecret?: string | null | undefined;
  /** `null`: all capabilities of the person. */
  readonly scopes?: readonly string[] | null | undefined;
  readonly name?: string | undefined;
  /** `null`: the people of every tenant. */
  readonly tenantId?: string | null | undefined;
}

const redirectUris = z.array(redirectUriSchema).min(1);
const clientSecret = z.string().min(1);
const scopes = z.array(scopeSchema);
const name = z.string().min(1).max(100);
export const apiClientSchema: z.ZodType<ApiClientRegistration> = z.strictObject({
  clientId: clientIdSchema,
  redirectUris,
  clientSecret: clientSecret.optional(),
  scopes: scopes.optional(),
  name: name.optional(),
  tenantId: tenantIdSchema.optional(),
});
export const apiClientUpdateSchema: z.ZodType<ApiClientUpdate> = z.strictObject({
  clientId: clientIdSchema,
  redirectUris: redirectUris.optional(),
  clientSecret: clientSecret.nullable().optional(),
  scopes: scopes.nullable().optional(),
  name: name.optional(),
  tenantId: tenantIdSchema.nullable().optional(),
});

const identity = z.object({ clientId: clientIdSchema });

/** A registered API client. Replaced as a whole by an update. The secret is held as a digest. */
export interface ApiClient {
  readonly clientId: string;
  readonly redirectUris: readonly string[];
  readonly secretDigest: Buffer | undefined;
  readonly scopes: ReadonlySet<string> | undefined;
  readonly name: string;
  readonly tenantId: string | undefined;
}

export class ApiClients {
  readonly #byClientId = new Map<string, ApiClient>();
  readonly #isTaken: (clientId: string) => boolean;

  /** `isTaken` reports whether another kind of registration has the client_id. */
  constructor(isTaken: (clientId: string) => boolean) {
    this.#isTaken = isTaken;
  }

  register(input: unknown): void {
    const sheet = parseInput<ApiClientRegistration>(
      apiClientSchema,
      input,
      "registration_invalid",
      "API client",
    );
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

  update(input: unknown): void {
    const change = parseInput<ApiClientUpdate>(
      apiClientUpdateSchema,
      input,
      "registration_invalid",
      "API client update",
    );
    const client = this.#registered(change.clientId);
    const { clientSecret, scopes = client.scopes, tenantId = client.tenantId } = change;
    this.#byClientId.set(client.clientId, {
      clientId: client.clientId,
      redirectUris: change.redirectUris ?? client.redirectUris,
      secretDigest: digestAfter(clientSecret, client.secretDigest),
      scopes: scopes === null ? undefined : scopes && new Set(scopes),
      name: change.name ?? client.name,
      tenantId: tenantId ?? undefined,
    });
  }

  /** Returns the removed registration. */
  unregister(input: unknown): ApiClient {
    const client = this.#registered(
      parseInput<ApiClientIdentity>(identity, input, "registration_invalid", "API client").clientId,
    );
    this.#byClientId.delete(client.clientId);
    return client;
  }

  #registered(clientId: string): ApiClient {
    const client = this.find(clientId);
    if (client !== undefined) return client;
    throw new EmulatorError("not_registered", `API client ${shownClientId(clientId)} is not registered`);
  }

  find(clientId: string): ApiClient | undefined {
    return this.#byClientId.get(clientId);
  }

  /** In the order of their registration. */
  list(): ApiClient[] {
    return [...this.#byClientId.values()];
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

function digestAfter(change: string | null | undefined, current: Buffer | undefined): Buffer | undefined {
  if (change === undefined) return current;
  return change === null ? undefined : secretDigest(change);
}
