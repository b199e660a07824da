/**
 * What a survey throws before it asks a customer, or when its own files fail. What a customer's
 * deployment does is a result.
 */

/** The codes of a {@link SurveyError}. */
export type SurveyErrorCode =
  | "customers_invalid"
  | "customers_too_large"
  | "earlier_invalid"
  | "state_invalid"
  | "state_unavailable";

/**
 * The files of a survey are wrong or cannot be used. What a deployment does is a result, never this
 * error.
 */
export class SurveyError extends Error {
  override readonly name = "SurveyError";
  readonly code: SurveyErrorCode;
  /** One sentence for each row that is wrong, with its line. No value of the row is quoted. */
  readonly issues: readonly string[];

  constructor(
    code: SurveyErrorCode,
    message: string,
    issues: readonly string[] = [],
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.issues = issues;
  }
}
