/** An error for scripts: `{ "error": { "code", "message", ... , "exitCode" } }`. */
import { EmulatorError } from "../../emulator/index.js";
import { isBivariantError } from "../../errors.js";
import { GenerateError } from "../../generate/generate-error.js";
import { exitCodeOf } from "../exit-codes.js";

/**
 * The code, the message, and the public fields of the error's class (`causes`, `detection`, `retryAt` in epoch
 * milliseconds, ...). `body`: of a refused call, once it is known to hold no secret.
 */
export function errorJson(error: unknown, body?: unknown): { readonly error: Record<string, unknown> } {
  return {
    error: { ...fields(error), ...(body === undefined ? {} : { body }), exitCode: exitCodeOf(error) },
  };
}

function fields(error: unknown): Record<string, unknown> {
  if (isBivariantError(error)) {
    const { code, message, name, ...rest } = error.toJSON();
    return { code, message, name, ...rest };
  }
  if (error instanceof EmulatorError) {
    const { code, message, name, issues } = error;
    return { code, message, name, issues };
  }
  if (error instanceof GenerateError) {
    const { code, message, name, document, pointer } = error;
    return { code, message, name, document, pointer };
  }
  // A foreign message may quote anything.
  return {
    code: "internal",
    message: `A fault of this program (${error instanceof Error ? error.name : "no error"}).`,
  };
}
