// What the emulator is told about a person of a tenant, and how that may change afterwards.
import { z } from "zod";
import { parseInput } from "../parse-input.js";
import { type Role, roleSchema } from "./role.js";
import { scopeSchema } from "./scope.js";
import { tenantIdSchema } from "./tenant-id.js";

/**
 * A person who launches plugins in the host application (Variant A) and logs in to apps (Variant B). The description
 * shows the fields of `revo.user` (section 2.3); the rest is the emulator's.
 */
export interface OperatorRegistration {
  readonly tenantId: string;
  /** Unique in the tenant. */
  readonly userId: string;
  readonly firstname?: string | undefined;
  readonly lastname?: string | undefined;
  /** The scopes that the person has: a token that acts for them reaches no other. Default: none. */
  readonly capabilities?: readonly string[] | undefined;
  /** What `revo.roles` says. Default: one invented role. */
  readonly roles?: readonly Role[] | undefined;
  /** Default: none, the person signs in without one. */
  readonly password?: string | undefined;
}

/** Which operator. */
export interface OperatorIdentity {
  readonly tenantId: string;
  readonly userId: string;
}

/** A live change of one operator; what is left out stays. */
export type OperatorUpdate = OperatorRegistration;

const identity = { tenantId: tenantIdSchema, userId: z.string().min(1).max(255) };
export const operatorSchema: z.ZodType<OperatorRegistration> = z.strictObject({
  ...identity,
  firstname: z.string().max(100).optional(),
  lastname: z.string().max(100).optional(),
  capabilities: z.array(scopeSchema).optional(),
  roles: z.array(roleSchema).optional(),
  password: z.string().min(1).optional(),
});

export function parseOperator(input: unknown): OperatorRegistration {
  return parseInput<OperatorRegistration>(operatorSchema, input, "registration_invalid", "operator");
}

/** Whole registrations are identities too: what else they hold does not matter. */
export function parseOperatorIdentity(input: unknown): OperatorIdentity {
  return parseInput<OperatorIdentity>(z.object(identity), input, "registration_invalid", "operator");
}
