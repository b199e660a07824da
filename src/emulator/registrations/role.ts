// A role as the token response names it.
import { z } from "zod";

/** "array of objects with name and group: roles of the caller" (description, section 2.3). */
export interface Role {
  readonly name: string;
  readonly group: string;
}

export const roleSchema: z.ZodType<Role> = z.strictObject({ name: z.string(), group: z.string() });
