// Checks what the caller of the emulator's own API passes in, and turns a mistake into an EmulatorError.
import type { z } from "zod";
import { EmulatorError, type EmulatorErrorCode } from "./emulator-error.js";

/** The parsed value, or an `EmulatorError` that names the fields at fault and none of their values. */
export function parseInput<Output>(
  schema: z.ZodType<Output>,
  input: unknown,
  code: EmulatorErrorCode,
  what: string,
): Output {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) =>
    issue.path.length === 0 ? issue.message : `${issue.path.join(".")}: ${issue.message}`,
  );
  throw new EmulatorError(code, `${what}: ${issues.join("; ")}`, { issues });
}
