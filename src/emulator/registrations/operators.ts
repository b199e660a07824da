// The operators: the people of a tenant.
import { z } from "zod";
import {
  identitySchema,
  isSecretOf,
  type Role,
  roleSchema,
  scopeSchema,
  secretDigest,
  tenantIdSchema,
} from "./fields.js";
import { Registry } from "./registry.js";

/**
 * A person who launches plugins in the host application (Variant A) and logs in to apps (Variant
 * B). The description shows the fields of `revo.user` (section 2.3); the emulator adds the others.
 */
export interface OperatorRegistration {
  readonly tenantId: string;
  /** Unique in the tenant. */
  readonly userId: string;
  readonly firstname?: string | undefined;
  readonly lastname?: string | undefined;
  /**
   * The person's scopes: a token that acts for the person is permitted no others. Default: none.
   */
  readonly capabilities?: readonly string[] | undefined;
  /** The value of `revo.roles`. Default: one invented role. */
  readonly roles?: readonly Role[] | undefined;
  /** By default the person signs in without a password. */
  readonly password?: string | undefined;
}

/** The members that identify an operator. */
export interface OperatorIdentity {
  readonly tenantId: string;
  readonly userId: string;
}

/** A live change of one operator; a member that is left out stays. */
export type OperatorUpdate = OperatorRegistration;

const identity = { tenantId: tenantIdSchema, userId: z.string().min(1).max(255) };
const operatorShape = {
  ...identity,
  firstname: z.string().max(100).optional(),
  lastname: z.string().max(100).optional(),
  capabilities: z.array(scopeSchema).optional(),
  roles: z.array(roleSchema).optional(),
  password: z.string().min(1).optional(),
};
const operatorSchema = z.strictObject(operatorShape);
export const operatorNames: readonly string[] = Object.keys(operatorShape);

export interface Operator
  extends OperatorIdentity,
    Pick<OperatorRegistration, "firstname" | "lastname"> {
  readonly capabilities: ReadonlySet<string>;
  readonly roles: readonly Role[];
  readonly passwordDigest: Buffer | undefined;
}

export class Operators extends Registry<
  Operator,
  [tenantId: string, userId: string],
  OperatorRegistration
> {
  constructor() {
    super({
      noun: "operator",
      registration: operatorSchema,
      update: operatorSchema,
      identity: identitySchema(identity, operatorNames),
      key: ["tenantId", "userId"],
      // The description shows the shape of a role and no example, so this one is invented.
      create: ({
        password,
        capabilities,
        roles = [{ name: "operator", group: "people" }],
        ...names
      }) => ({
        ...names,
        roles,
        capabilities: new Set(capabilities),
        passwordDigest: password === undefined ? undefined : secretDigest(password),
      }),
    });
  }
}

/** Whether the person may sign in with this password; a person without a password needs none. */
export function isPasswordOf({ passwordDigest }: Operator, password: string): boolean {
  return passwordDigest === undefined || isSecretOf(passwordDigest, password);
}

/** Returns the name that pages show: the person's name if there is one, otherwise the user id. */
export function displayName({ firstname, lastname, userId }: Operator): string {
  return [firstname, lastname].filter(Boolean).join(" ") || userId;
}
