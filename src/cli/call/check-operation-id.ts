/** Which operations can be called from the command line. */
import { operations } from "../../../generated/operations.js";
import { ConfigurationError } from "../../errors.js";

/** Their answer is a token, and only `bivariant token` prints one. */
const tokenOperation = "requestToken";

/**
 * Refuses an operationId that neither variant knows, before anything is sent.
 *
 * @throws ConfigurationError `operation_unknown`
 */
export function checkOperationId(operationId: string): void {
  const known = [...new Set([...Object.keys(operations.A), ...Object.keys(operations.B)])];
  const callable = known.filter((id) => id !== tokenOperation);
  if (callable.includes(operationId)) return;
  throw new ConfigurationError(
    "operation_unknown",
    operationId === tokenOperation
      ? `${tokenOperation} is not called like an operation: its answer is a token. Use bivariant token.`
      : `Neither variant has an operation of that id. There are: ${callable.join(", ")}.`,
    { option: "operationId" },
  );
}
