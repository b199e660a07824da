// A scope as the description writes it.
import { z } from "zod";

/** "one scope of the form area:read, area:write or area:execute" (description, section 5.6). */
export const scopeSchema: z.ZodType<string> = z
  .string()
  .regex(
    /^[A-Za-z0-9._-]+:(read|write|execute)$/,
    "must have the form area:read, area:write or area:execute",
  );
