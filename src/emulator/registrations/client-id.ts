// A client_id as the emulator takes it, for plugins and for service accounts.
import { z } from "zod";

/** RFC 6749 appendix A.1: a client_id consists of visible ASCII characters and spaces. */
export const clientIdSchema: z.ZodType<string> = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[\x20-\x7e]*$/, "must be printable ASCII");
