/** What createBackend gives, and what it tells of a session. */
import type { OperationTypes } from "../../generated/operations.js";
import type { Operator } from "../auth/auth.js";
import type { LookupTypes } from "../client/outcome.js";
import type { Variant } from "../errors.js";
import type { Service } from "../service.js";

/** Who is there, by a session that counts. */
export interface SessionInfo {
  readonly variant: Variant;
  readonly tenantId: string;
  readonly baseUrl: string;
  /** Known in Variant A (section 2.3 of the description), when the answer named a `userId`. */
  readonly operator?: Operator;
  readonly roles?: readonly { readonly name: string; readonly group?: string }[];
  /** The session's fixed end, epoch milliseconds. */
  readonly expiresAt: number;
  /**
   * What to keep state of this person under: the same in every session of one operator of one tenant, and of nobody
   * else. Where the operator is not known it is the session's own.
   */
  readonly stateKey: string;
}

export interface Backend<T extends LookupTypes = OperationTypes> {
  /** Answers the routes under `path`; anything else is a 404. Never rejects. */
  (request: Request): Promise<Response>;
  /**
   * Typed calls as the person whose session the request carries. Two requests of one session share its tokens.
   *
   * @throws SessionError `session_missing`, `session_unknown`, `session_expired`; with cookies also `origin_refused`, `csrf_refused`
   * @throws RelaunchRequiredError, LoginRequiredError when the person's tokens are gone
   * @throws StoreError
   */
  connect(request: Request): Promise<Service<T>>;
  /**
   * Who is there, without a call to the service.
   *
   * @throws as `connect` does
   */
  session(request: Request): Promise<SessionInfo>;
  /**
   * The answer for what `connect`, `session` or a call threw, and for the `error` of an outcome: JSON with a stable code,
   * as the page understands it.
   *
   * A 401 of the service is a 502 `api_unauthorized`, since a route that takes no such token may answer it too. On a
   * token older than 30 s that only the person can replace it is a 401 `relaunch_required` or `login_required`, so that
   * the page asks them, and this session is over.
   */
  answer(error: unknown): Response;
}
