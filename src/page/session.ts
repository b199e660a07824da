/**
 * The requests of a page to its own backend, and its session, which keeps a token in a closure,
 * calls the backend's origin with it, and ends once.
 */
import { PageError, type PageErrorCode, requireNames } from "./page-error.js";

export interface BackendClient {
  /** The URL under which the backend's routes are. */
  readonly url: URL;
  /**
   * A `fetch` that follows no redirect, because a 307 would take code, verifier or session to
   * another place.
   */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly timeoutMs: number;
}

type Header = [name: string, value: string];

/**
 * Accepts only a well-formed code from an answer or from the address, because anyone can make an
 * address.
 */
export function errorCodeOf(value: unknown): PageErrorCode {
  return (/^[a-z_]{1,40}$/.test(value as string) && (value as PageErrorCode)) || "backend_failed";
}

/**
 * POSTs JSON to a route of the backend. It is never sent a second time, because it may hold a code.
 */
export async function post(
  backend: BackendClient,
  route: string,
  body: object,
  ...headers: Header[]
): Promise<Response> {
  try {
    return await backend.fetch(backend.url + route, {
      method: "POST",
      headers: [["content-type", "application/json"], ...headers],
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(backend.timeoutMs),
    });
  } catch (cause) {
    throw new PageError("backend_failed", route, { cause });
  }
}

/**
 * Returns the JSON object of an answer, or an empty object for anything else: also for a member
 * such as `{ "toString": 0 }`, which would throw wherever it is read as text.
 */
async function bodyOf(response: Response): Promise<Record<string, unknown>> {
  try {
    const body = await response.json();
    String(Object.values(body));
    return body;
  } catch {
    // Not such an object.
  }
  return {};
}

/** The data about a session that the page receives. The service's tokens stay at the backend. */
export interface SessionInfo {
  readonly variant: "A" | "B";
  readonly tenantId: string;
  /** Absent if the service named no operator. */
  readonly operator?: {
    readonly userId: string;
    readonly firstname?: string;
    readonly lastname?: string;
  };
  /** When the session ends at the latest, in epoch milliseconds by the backend's clock. */
  readonly expiresAt: number;
}

/** Why a session ended, and what to ask the person to do. */
export interface SessionEnd {
  /**
   * `relaunch_required`, `login_required`, `session_expired`, another `session_...`, or
   * `logged_out`.
   */
  readonly reason: string;
  /**
   * Ask the person to open the plugin again from the host, or to log in again, by calling
   * `startSession`.
   */
  readonly ask: "relaunch" | "login";
}

/**
 * The session of a page with its backend, from {@link startSession}. It holds no token of the
 * service.
 */
export interface Session extends SessionInfo {
  /**
   * Calls `fetch` with the session, only for the backend's origin. A relative URL is relative to
   * the backend's. Redirects are not followed, because they could take the session elsewhere. All
   * answers are returned unchanged, except one that ends the session.
   *
   * @throws PageError `session_ended` with its `reason`, for the call that finds the end and for
   *   all later calls; `origin_refused` for a URL of another origin. Network errors are those of
   *   `fetch`.
   */
  fetch(input: string | URL, init?: RequestInit): Promise<Response>;
  /**
   * Ends the session here, then at the backend. With `everywhere`, all sessions of this person end,
   * in all browsers: at the backend first, and if that fails this session continues. It always
   * fails for a session that is over or has no `operator`. After a failure, call it again.
   *
   * @throws PageError `backend_failed` if sessions may go on at the backend
   */
  logout(options?: { readonly everywhere?: boolean }): Promise<void>;
}

/**
 * @throws PageError with the backend's code, `backend_failed` for an invalid answer, or
 * `tenant_mismatch`
 */
export async function openSession(
  backend: BackendClient,
  response: Response,
  expectedTenantId: string | undefined,
  onEnded: ((end: SessionEnd) => void) | undefined,
): Promise<Session> {
  const body = await bodyOf(response);
  if (!/^[AB]$/.test(body.variant as string))
    throw new PageError(errorCodeOf(body.error), body.message as string, body);
  // The answer has a token, or a CSRF token if the session is in a cookie.
  const { session, csrf, ...info } = body as unknown as SessionInfo & {
    session?: string;
    csrf: string;
  };
  if (info.tenantId !== (expectedTenantId ?? info.tenantId)) throw new PageError("tenant_mismatch");

  const own: Header = session ? ["authorization", `Bearer ${session}`] : ["x-bivariant-csrf", csrf];
  let over: PageError | undefined;
  const end = (reason: string): void => {
    if (over) return;
    over = new PageError("session_ended", reason, { reason });
    onEnded?.({ ask: info.variant === "A" ? "relaunch" : "login", reason });
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
        // If the body does not arrive in time, the session continues.
        const { error } = await new Promise<{ error?: unknown }>((resolve) => {
          setTimeout(resolve, backend.timeoutMs, {});
          bodyOf(answer.clone()).then(resolve);
        });
        if (/^(session_|(relaunch|login)_required$)/.test(error as string)) end(error as string);
        if (over) throw over;
      }
      return answer;
    },
    async logout(options = {}) {
      requireNames(options, { everywhere: 1 });
      const { everywhere } = options;
      // It is sent after the end of the session here too: an earlier logout may have failed.
      const sent = post(backend, "/logout", { everywhere }, own);
      if (!everywhere) end("logged_out");
      const answer = await sent;
      // A 401 means that the session was over there already, but not those in other browsers.
      if (!answer.ok && (everywhere || answer.status !== 401))
        throw new PageError("backend_failed");
      end("logged_out");
    },
  };
}
