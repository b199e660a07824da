/** Whom a session stands for: the person whose tokens are in the store, and the deployment they are of. */
import { z } from "zod";
import type { Operator } from "../auth/auth.js";
import type { Variant } from "../errors.js";

/** Whose tokens a session stands for, and which deployment they are of. */
export interface SessionSubject {
  /** Under which name the person's tokens rest in the store. */
  readonly person: string;
  readonly variant: Variant;
  readonly tenantId: string;
  readonly baseUrl: string;
  /** Of a launch, as the next. */
  readonly hostOrigin?: string;
  /** When its token expires, epoch milliseconds. */
  readonly launchEndsAt?: number;
  readonly operator?: Operator;
  readonly roles?: readonly { readonly name: string; readonly group?: string }[];
}

export const subjectSchema: z.ZodType<SessionSubject> = z.object({
  person: z.string(),
  variant: z.enum(["A", "B"]),
  tenantId: z.string(),
  baseUrl: z.string(),
  hostOrigin: z.string().exactOptional(),
  launchEndsAt: z.number().exactOptional(),
  operator: z
    .object({
      userId: z.string(),
      firstname: z.string().exactOptional(),
      lastname: z.string().exactOptional(),
    })
    .exactOptional(),
  roles: z.array(z.object({ name: z.string(), group: z.string().exactOptional() })).exactOptional(),
});
