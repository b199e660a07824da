// The operators: registration, update, and their records.
import { z } from "zod";
import { EmulatorError, parseInput } from "../errors.js";
import { shown, shownClientId } from "../shown.js";
import { isSecretOf, type Role, roleSchema, scopeSchema, secretDigest, tenantIdSchema } from "./fields.js";

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
  /** The scopes that the person has: a token that acts for the person reaches no others. Default: none. */
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

/** A live change of one operator; a member that is left out stays. */
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

/** Invented: the description shows the shape of a role and no example of one. */
const DEFAULT_ROLES: readonly Role[] = [{ name: "operator", group: "people" }];

/** A registered operator. Replaced as a whole by an update. The password is held as a digest. */
export interface Operator {
  readonly tenantId: string;
  readonly userId: string;
  readonly firstname: string | undefined;
  readonly lastname: string | undefined;
  readonly capabilities: ReadonlySet<string>;
  readonly roles: readonly Role[];
  readonly passwordDigest: Buffer | undefined;
}

export class Operators {
  readonly #tenants = new Map<string, Map<string, Operator>>();

  find(tenantId: string, userId: string): Operator | undefined {
    return this.#tenants.get(tenantId)?.get(userId);
  }

  /** The operators of one tenant, or of all, in the order of their registration. */
  list(tenantId?: string): Operator[] {
    const tenants = tenantId === undefined ? [...this.#tenants.keys()] : [tenantId];
    return tenants.flatMap((tenant) => [...(this.#tenants.get(tenant)?.values() ?? [])]);
  }

  register(input: unknown): void {
    const { password, ...sheet } = parseInput<OperatorRegistration>(
      operatorSchema,
      input,
      "registration_invalid",
      "operator",
    );
    if (this.find(sheet.tenantId, sheet.userId) !== undefined) {
      throw new EmulatorError(
        "already_registered",
        `operator ${sheet.userId} is registered in ${sheet.tenantId}`,
      );
    }
    this.#put({
      tenantId: sheet.tenantId,
      userId: sheet.userId,
      firstname: sheet.firstname,
      lastname: sheet.lastname,
      capabilities: new Set(sheet.capabilities),
      roles: sheet.roles ?? DEFAULT_ROLES,
      passwordDigest: password === undefined ? undefined : secretDigest(password),
    });
  }

  update(input: unknown): void {
    const { password, ...change } = parseInput<OperatorRegistration>(
      operatorSchema,
      input,
      "registration_invalid",
      "operator",
    );
    const operator = this.#registered(change);
    this.#put({
      ...operator,
      firstname: change.firstname ?? operator.firstname,
      lastname: change.lastname ?? operator.lastname,
      capabilities: change.capabilities === undefined ? operator.capabilities : new Set(change.capabilities),
      roles: change.roles ?? operator.roles,
      passwordDigest: password === undefined ? operator.passwordDigest : secretDigest(password),
    });
  }

  /** Returns the removed registration. */
  unregister(input: unknown): Operator {
    const operator = this.#registered(
      parseInput<OperatorIdentity>(z.object(identity), input, "registration_invalid", "operator"),
    );
    this.#tenants.get(operator.tenantId)?.delete(operator.userId);
    return operator;
  }

  #registered({ tenantId, userId }: OperatorIdentity): Operator {
    const operator = this.find(tenantId, userId);
    if (operator !== undefined) return operator;
    const where = `is not registered in ${shown(tenantId)}`;
    throw new EmulatorError("not_registered", `operator ${shownClientId(userId)} ${where}`);
  }

  #put(operator: Operator): void {
    const tenant = this.#tenants.get(operator.tenantId) ?? new Map<string, Operator>();
    this.#tenants.set(operator.tenantId, tenant.set(operator.userId, operator));
  }
}

/** Whether the person may sign in with this password; a person without a password needs none. */
export function isPasswordOf({ passwordDigest }: Operator, password: string): boolean {
  return passwordDigest === undefined || isSecretOf(passwordDigest, password);
}

/** For pages: the name if there is one, else the user id. */
export function displayName({ firstname, lastname, userId }: Operator): string {
  return [firstname, lastname].filter(Boolean).join(" ") || userId;
}
