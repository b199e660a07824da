/** What a person has to be asked for before a call can succeed, read from whatever error it failed with. */
import {
  isApiError,
  isLoginRequiredError,
  isRelaunchRequiredError,
  type LoginRequiredError,
  type RelaunchRequiredError,
} from "../errors.js";

/** The error itself, or what is behind a call that was answered 401. */
export function personRequired(error: unknown): RelaunchRequiredError | LoginRequiredError | undefined {
  return [error, isApiError(error) ? error.cause : undefined].find(
    (one): one is RelaunchRequiredError | LoginRequiredError =>
      isRelaunchRequiredError(one) || isLoginRequiredError(one),
  );
}
