/** The error of the backend's own sessions: the request does not come from whom it would have to come from. */
import { BivariantError, isBivariantError, type SessionErrorCode } from "../errors.js";

/**
 * A request without a session that counts, thrown by `backend.connect` and `backend.session`. `backend.answer` makes
 * of it the 401 or 403 that the page understands. No request to the service was sent.
 *
 * `session_missing`: none was given. `session_unknown`: it is none of this backend's, or it was ended.
 * `session_expired`: its time is over. `origin_refused`, `csrf_refused`: with sessions in cookies, a request that
 * another site may have sent.
 *
 * @example
 * try { return handle(await backend.connect(request)); } catch (error) { return backend.answer(error); }
 */
export class SessionError extends BivariantError<SessionErrorCode> {
  constructor(code: SessionErrorCode, message: string) {
    super("SessionError", code, message);
  }
}

/** Whether a value is a `SessionError`, from any realm and any copy of the package. */
export function isSessionError(value: unknown): value is SessionError {
  return isBivariantError(value) && value.name === "SessionError";
}
