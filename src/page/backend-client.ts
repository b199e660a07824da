/** What the page asks of its own backend, and how the backend's refusals become errors. */
import { PageError, type PageErrorCode } from "./page-error.js";

export interface BackendClient {
  /** What the backend's routes are under. */
  readonly url: URL;
  /** `fetch` that follows no redirect: a 307 would carry code, verifier or session to wherever it points. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly timeoutMs: number;
}

export type Header = [name: string, value: string];

/** Only such codes are handed on, whether from an answer or from an address that anybody may have made. */
export function errorCodeOf(value: unknown): PageErrorCode {
  return (/^[a-z_]{1,40}$/.test(value as string) && (value as PageErrorCode)) || "backend_failed";
}

/** POSTs JSON to one of the backend's routes. Never a second time: a code may be in it. */
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

/** The JSON object of an answer; without any field if it is none. */
export async function bodyOf(response: Response): Promise<Record<string, unknown>> {
  return (await response.json().catch(() => {})) || {};
}
