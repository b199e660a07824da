// What the emulator is told about a service account, and how it may change afterwards.
import { z } from "zod";
import { parseInput } from "../parse-input.js";
import { clientIdSchema } from "./client-id.js";
import { scopeSchema } from "./scope.js";
import { tenantIdSchema } from "./tenant-id.js";

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

/** A live change of one account; what is left out stays. */
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

export function parseServiceAccount(input: unknown): ServiceAccountRegistration {
  return parseInput<ServiceAccountRegistration>(
    serviceAccountSchema,
    input,
    "registration_invalid",
    "service account",
  );
}

export function parseServiceAccountUpdate(input: unknown): ServiceAccountUpdate {
  return parseInput<ServiceAccountUpdate>(
    serviceAccountUpdateSchema,
    input,
    "registration_invalid",
    "service account update",
  );
}

/** Whole registrations are identities too: what else they hold does not matter. */
export function parseServiceAccountIdentity(input: unknown): ServiceAccountIdentity {
  return parseInput<ServiceAccountIdentity>(
    z.object(identity),
    input,
    "registration_invalid",
    "service account",
  );
}
