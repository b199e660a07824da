// A login between the authorization request and the person's decision.

import type { Refusal } from "../checks.js";
import type { AuthorizationRequest, Deployment } from "../state.js";

/** Milliseconds; not shown. */
const PENDING_LIFETIME_MS = 600_000;
/** It is remembered for this long after its end, so that the log can tell late from unknown. */
const PENDING_MEMORY_MS = 3_600_000;

/** Its id: known to the browser that asked, and of no use without a session of that browser. */
export function beginPending({ clock, pendingLogins }: Deployment, request: AuthorizationRequest): string {
  const now = clock();
  const expiresAt = now + PENDING_LIFETIME_MS;
  return pendingLogins.mint({ request, isDecided: false, expiresAt }, expiresAt + PENDING_MEMORY_MS, now);
}

export function findPending(
  { clock, pendingLogins, switches }: Deployment,
  id: string,
): AuthorizationRequest | Refusal {
  const pending = pendingLogins.find(id);
  const isOpen = pending !== undefined && !pending.isDecided && clock() < pending.expiresAt;
  if (pending !== undefined && (isOpen || !switches.isEnforced("login.pending"))) return pending.request;
  const late = pending?.isDecided ? "one that was decided" : "one that is too old";
  const actual = pending === undefined ? "an unknown one" : late;
  return { rule: "login.pending", expected: "a login in progress", actual };
}

/** Of two decisions of one login the first counts. */
export function finishPending({ clock, pendingLogins }: Deployment, id: string): void {
  const pending = pendingLogins.find(id);
  if (pending !== undefined) pendingLogins.replace(id, { ...pending, isDecided: true }, clock());
}
