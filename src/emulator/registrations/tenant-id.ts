// A tenant id as the emulator takes it.
import { z } from "zod";

/**
 * The description shows no alphabet for tenant ids. A tenant id is a path segment, and URL parsers fold `.` and `..`
 * even when they are percent-encoded, so it does not start with a dot.
 */
export const tenantIdSchema: z.ZodType<string> = z
  .string()
  .max(128)
  .regex(/^[A-Za-z0-9_~-][A-Za-z0-9._~-]*$/, "must be letters, digits, . _ ~ - and not start with a dot");
