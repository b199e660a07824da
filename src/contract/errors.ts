/** What a run throws, and what ends a single case. */
import { type NamesOf, unknownName } from "../option-names.js";

/** The codes of a {@link ContractError}. */
export type ContractErrorCode =
  | "target_invalid"
  | "option_invalid"
  | "case_unknown"
  | "key_invalid"
  | "baseline_invalid";

/**
 * The error that this entry throws before anything is sent. What a deployment does is a result,
 * never an error.
 */
export class ContractError extends Error {
  override readonly name = "ContractError";
  readonly code: ContractErrorCode;
  readonly issues: readonly string[];

  constructor(code: ContractErrorCode, message: string, issues: readonly string[] = []) {
    super(message);
    this.code = code;
    this.issues = issues;
  }
}

/**
 * Checks that an options argument is an object whose names the function `of` knows.
 * @throws ContractError `option_invalid`
 */
export function requireOptions<T extends object>(of: string, options: T, names: NamesOf<T>): void {
  const isObject = typeof options === "object" && options !== null;
  const unknown = isObject
    ? unknownName(of, options, names)
    : { name: "options", message: "must be an object" };
  if (unknown !== undefined)
    throw new ContractError("option_invalid", unknown.message, [unknown.name]);
}

/**
 * Why a case was not tried: the target lacks what it needs; it must be named; there was no answer;
 * the target no longer answers at all; a credential was refused; its variant is not served; the
 * rate limit did not end; the budget is spent.
 */
export type NotTriedReason =
  | "needs"
  | "unnamed"
  | "no_answer"
  | "down"
  | "refused"
  | "not_served"
  | "rate_limited"
  | "budget";

/**
 * Ends a case that cannot be judged. The message is a sentence that says why, and what it would
 * need.
 */
export class NotTried extends Error {
  override readonly name = "NotTried";
  readonly reason: NotTriedReason | undefined;

  constructor(message: string, reason?: NotTriedReason) {
    super(message);
    this.reason = reason;
  }
}
