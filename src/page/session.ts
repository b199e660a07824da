/** The session of a page: a token in a closure, calls with it to the backend's origin, and one end. */
import { type BackendClient, bodyOf, errorCodeOf, type Header, post } from "./backend-client.js";
import { PageError } from "./page-error.js";

/** What the page knows about its session. The service's tokens stay at the backend. */
export interface SessionInfo {
  readonly variant: "A" | "B";
  readonly tenantId: string;
  /** Absent if the service named no operator. */
  readonly operator?: {
    readonly userId: string;
    readonly firstname?: string;
    readonly lastname?: string;
  };
  /** The fixed end in epoch milliseconds, by the backend's clock. */
  readonly expiresAt: number;
}

/** How a session ended, and what to ask the person for. */
export interface SessionEnd {
  /** `relaunch_required`, `login_required`, `session_expired`, another `session_...`, or `logged_out`. */
  readonly reason: string;
  /** Opening the plugin again from the host application, or logging in again, for which `startSession` is called. */
  readonly ask: "relaunch" | "login";
}

export interface Session extends SessionInfo {
  /**
   * `fetch` with the session, to the backend's origin only. A relative URL is relative to the backend's. Redirects are
   * not followed, because they could take the session elsewhere. All answers are returned as they are, except one that
   * ends the session.
   *
   * @throws PageError `session_ended` with its `reason`, for the call that finds the end and for all later calls;
   *   `origin_refused` for a URL of another origin. Network errors are those of `fetch`.
   */
  fetch(input: string | URL, init?: RequestInit): Promise<Response>;
  /** Ends the session here at once, then at the backend. @throws PageError `backend_failed` if it continues there */
  logout(): Promise<void>;
}

/** The answer of the routes `launch` and `session`: a token, or a CSRF token for the session in a cookie. */
interface SessionAnswer extends SessionInfo {
  readonly session?: string;
  readonly csrf?: string;
}

/** @throws PageError the backend's code, `backend_failed` for an invalid answer, `tenant_mismatch` */
export async function openSession(
  backend: BackendClient,
  response: Response,
  expectedTenantId: string | undefined,
  onEnded: ((end: SessionEnd) => void) | undefined,
): Promise<Session> {
  const body = await bodyOf(response);
  if (!/^[AB]$/.test(body.variant as string))
    throw new PageError(errorCodeOf(body.error), body.message as string, body);
  const { session, csrf, ...info } = body as unknown as SessionAnswer;
  if (info.tenantId !== (expectedTenantId ?? info.tenantId)) throw new PageError("tenant_mismatch");

  const own: Header = session ? ["authorization", `Bearer ${session}`] : ["x-bivariant-csrf", csrf as string];
  let over: PageError | undefined;
  const end = (reason: string): void => {
    if (over) return;
    over = new PageError("session_ended", reason, { reason });
    onEnded?.({ reason, ask: info.variant === "A" ? "relaunch" : "login" });
  };

  return {
    ...info,
    async fetch(input, init) {
      if (over) throw over;
      const url = new URL(input, backend.url);
      if (url.origin !== backend.url.origin) throw new PageError("origin_refused");
      const headers = new Headers(init?.headers);
      headers.set(...own);
      const answer = await backend.fetch(url.href, { ...init, headers });
      if (answer.status === 401) {
        // A body that does not end in time does not end the session.
        const { error } = await new Promise<{ error?: unknown }>((resolve) => {
          setTimeout(resolve, backend.timeoutMs, {});
          bodyOf(answer.clone()).then(resolve);
        });
        if (/^(session_|(relaunch|login)_required$)/.test(error as string)) end(error as string);
        if (over) throw over;
      }
      return answer;
    },
    async logout() {
      if (over) return;
      const sent = post(backend, "/logout", {}, own);
      end("logged_out");
      const { status } = await sent;
      // With a 401 it was over there already.
      if (status > 299 && status !== 401) throw new PageError("backend_failed");
    },
  };
}
