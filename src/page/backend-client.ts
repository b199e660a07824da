/** Requests from the page to its own backend, and the error codes in the answers. */
import { PageError, type PageErrorCode } from "./page-error.js";

export interface BackendClient {
  /** The URL under which the backend's routes are. */
  readonly url: URL;
  /** A `fetch` that follows no redirect, because a 307 would take code, verifier or session to another place. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly timeoutMs: number;
}

export type Header = [name: string, value: string];

/** Accepts only a well-formed code from an answer or from the address, because anyone can make an address. */
export function errorCodeOf(value: unknown): PageErrorCode {
  return (/^[a-z_]{1,40}$/.test(value as string) && (value as PageErrorCode)) || "backend_failed";
}

/** POSTs JSON to a route of the backend. It is never sent a second time, because it may hold a code. */
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

/** Returns the JSON object of an answer, or an empty object for anything else. */
export async function bodyOf(response: Response): Promise<Record<string, unknown>> {
  return (await response.json().catch(() => {})) || {};
}
