// A login between the authorization request and the person's decision.
import type { AuthorizationRequest } from "./authorization-request.js";

/** Milliseconds; not shown. */
export const PENDING_LOGIN_LIFETIME_MS = 600_000;

/** What the id in the pages' forms stands for. */
export interface PendingLogin {
  readonly request: AuthorizationRequest;
  readonly isDecided: boolean;
  /** Epoch milliseconds; from this instant on the person starts again. */
  readonly expiresAt: number;
}
