/**
 * `bivariant/page`: the browser half of a plugin or an app that people log in to.
 * @packageDocumentation
 */

export type { AuthCode } from "./handshake.js";
export { isPageError, PageError, type PageErrorCode } from "./page-error.js";
export type { Session, SessionEnd, SessionInfo } from "./session.js";
export { type StartSessionOptions, startSession } from "./start-session.js";
