// What the emulator is told about an API client, and how it may change afterwards.
import { z } from "zod";
import { parseInput } from "../parse-input.js";
import { clientIdSchema } from "./client-id.js";
import { redirectUriSchema } from "./redirect-uri.js";
import { scopeSchema } from "./scope.js";
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

/** Which client: its client_id is unique in Variant B. */
export interface ApiClientIdentity {
  readonly clientId: string;
}

/** A live change of one client; what is left out stays. */
export interface ApiClientUpdate extends ApiClientIdentity {
  readonly redirectUris?: readonly string[] | undefined;
  /** `null` makes it a public client. */
  readonly clientSecret?: string | null | undefined;
  /** `null`: whatever the person has. */
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

export function parseApiClient(input: unknown): ApiClientRegistration {
  return parseInput<ApiClientRegistration>(apiClientSchema, input, "registration_invalid", "API client");
}

export function parseApiClientUpdate(input: unknown): ApiClientUpdate {
  return parseInput<ApiClientUpdate>(
    apiClientUpdateSchema,
    input,
    "registration_invalid",
    "API client update",
  );
}

/** Whole registrations are identities too: what else they hold does not matter. */
export function parseApiClientIdentity(input: unknown): ApiClientIdentity {
  const identity = z.object({ clientId: clientIdSchema });
  return parseInput<ApiClientIdentity>(identity, input, "registration_invalid", "API client");
}
