// The clients of Variant B: service accounts for machines, API clients for people. A client_id is
// unique among both, because the token path names no tenant: the client_id alone decides which one
// a token is for.
import { z } from "zod";
import {
  clientIdSchema,
  identitySchema,
  redirectUriSchema,
  scopeSchema,
  secretDigest,
  tenantIdSchema,
} from "./fields.js";
import { Registry } from "./registry.js";

/**
 * What an administrator enters under Service accounts (description, section 2.5; its fields are not
 * shown).
 */
export interface ServiceAccountRegistration {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly tenantId: string;
  /**
   * The scopes of the account's role, which are not shown. By default every route of Variant B is
   * permitted.
   */
  readonly scopes?: readonly string[] | undefined;
}

/**
 * Its client_id alone identifies the account in Variant B. If tenantId is given, it must be the
 * account's.
 */
export interface ServiceAccountIdentity {
  readonly clientId: string;
  readonly tenantId?: string | undefined;
}

/** A live change of one account; a member that is left out stays. */
export interface ServiceAccountUpdate extends ServiceAccountIdentity {
  readonly clientSecret?: string | undefined;
  /** `null` permits every route of Variant B. */
  readonly scopes?: readonly string[] | null | undefined;
}

/**
 * What an administrator enters under API clients (description, section 2.5; its fields are not
 * shown).
 */
export interface ApiClientRegistration {
  readonly clientId: string;
  /**
   * `redirect_uri` must equal one of them; only the port of a loopback IP may differ (RFC 8252
   * section 7.3).
   */
  readonly redirectUris: readonly string[];
  /**
   * A client with a secret is confidential and must send it. By default the client is public and
   * sends none.
   */
  readonly clientSecret?: string | undefined;
  /** The scopes that a person may allow the client. Default: all capabilities of the person. */
  readonly scopes?: readonly string[] | undefined;
  /** The client's name on the consent page. Default: the client_id. */
  readonly name?: string | undefined;
  /** Only people of this tenant may log in. Default: people of every tenant. */
  readonly tenantId?: string | undefined;
}

/** The client_id alone identifies the client in Variant B. */
export interface ApiClientIdentity {
  readonly clientId: string;
}

/** A live change of one client; a member that is left out stays. */
export interface ApiClientUpdate extends ApiClientIdentity {
  readonly redirectUris?: readonly string[] | undefined;
  /** `null` makes it a public client. */
  readonly clientSecret?: string | null | undefined;
  /** `null` permits all capabilities of the person. */
  readonly scopes?: readonly string[] | null | undefined;
  readonly name?: string | undefined;
  /** `null` lets people of every tenant log in. */
  readonly tenantId?: string | null | undefined;
}

const clientId = clientIdSchema;
const changeable = {
  clientSecret: z.string().min(1).optional(),
  scopes: z.array(scopeSchema).optional(),
  tenantId: tenantIdSchema.optional(),
};

const serviceAccountSchema = z.strictObject({
  clientId,
  ...changeable,
  clientSecret: changeable.clientSecret.unwrap(),
  tenantId: tenantIdSchema,
});
const serviceAccountUpdateSchema: z.ZodType<ServiceAccountUpdate> = z.strictObject({
  clientId,
  ...changeable,
  scopes: changeable.scopes.nullable(),
});

interface ServiceAccount extends Pick<ServiceAccountRegistration, "tenantId" | "clientId"> {
  readonly secretDigest: Buffer;
  readonly scopes: ReadonlySet<string> | undefined;
}

export class ServiceAccounts extends Registry<
  ServiceAccount,
  [id: string],
  ServiceAccountRegistration
> {
  constructor(isTaken: (clientId: string) => boolean) {
    super({
      noun: "service account",
      registration: serviceAccountSchema,
      update: serviceAccountUpdateSchema,
      identity: identitySchema(
        { clientId, tenantId: changeable.tenantId },
        Object.keys(changeable),
      ),
      key: ["clientId"],
      isTaken,
      create: ({ clientSecret, scopes, ...named }) => ({
        ...named,
        secretDigest: secretDigest(clientSecret),
        scopes: scopes && new Set(scopes),
      }),
    });
  }
}

const redirectUris = z.array(redirectUriSchema).min(1);
const name = z.string().min(1).max(100).optional();
const apiClientUpdateSchema: z.ZodType<ApiClientUpdate> = z.strictObject({
  clientId,
  redirectUris: redirectUris.optional(),
  name,
  clientSecret: changeable.clientSecret.nullable(),
  scopes: changeable.scopes.nullable(),
  tenantId: changeable.tenantId.nullable(),
});

export interface ApiClient extends Pick<ApiClientRegistration, "clientId" | "redirectUris"> {
  readonly secretDigest: Buffer | undefined;
  readonly scopes: ReadonlySet<string> | undefined;
  readonly name: string;
  readonly tenantId: string | undefined;
}

export class ApiClients extends Registry<ApiClient, [id: string], ApiClientRegistration> {
  constructor(isTaken: (clientId: string) => boolean) {
    super({
      noun: "API client",
      registration: z.strictObject({ clientId, redirectUris, name, ...changeable }),
      update: apiClientUpdateSchema,
      identity: identitySchema({ clientId }, ["redirectUris", "name", ...Object.keys(changeable)]),
      key: ["clientId"],
      isTaken,
      create: ({ clientId, clientSecret, scopes, name = clientId, tenantId, redirectUris }) => ({
        clientId,
        name,
        tenantId,
        redirectUris,
        secretDigest: clientSecret === undefined ? undefined : secretDigest(clientSecret),
        scopes: scopes && new Set(scopes),
      }),
    });
  }
}
