/** Whether a token endpoint answered as a server does that does not know the path: the other variant may explain it. */
import { UnexpectedResponseError } from "./errors.js";

/** 404, 405, a page or a redirect. */
export function isMisplaced(error: unknown): error is UnexpectedResponseError {
  if (!(error instanceof UnexpectedResponseError)) return false;
  const { status, code } = error;
  const isMissing = status === 404 || status === 405 || status === 410;
  return isMissing || (status < 500 && code === "response_not_json") || code === "response_redirected";
}
