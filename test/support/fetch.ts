// Scripted fetch functions that answer in-process and record their calls.

export interface FetchCall {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly body: string;
  readonly init: RequestInit;
}

export type FetchScript = (call: FetchCall, index: number) => Response | Promise<Response>;

export interface ScriptedFetch {
  (url: string, init?: RequestInit): Promise<Response>;
  readonly calls: FetchCall[];
}

export function scriptedFetch(script: FetchScript): ScriptedFetch {
  const calls: FetchCall[] = [];
  const fetch = async (url: string, init: RequestInit = {}): Promise<Response> => {
    init.signal?.throwIfAborted();
    const { method = "GET", headers, body } = init;
    const call = { url, method, headers: new Headers(headers), body: textOf(body), init };
    calls.push(call);
    return script(call, calls.length - 1);
  };
  return Object.assign(fetch, { calls });
}

/** Gives no answer, and rejects when the call is aborted. */
export function noAnswer({ init }: FetchCall): Promise<Response> {
  return new Promise((_resolve, reject) => {
    init.signal?.addEventListener("abort", () => reject(init.signal?.reason));
  });
}

function textOf(body: BodyInit | null | undefined): string {
  if (body === undefined || body === null) return "";
  return body instanceof Blob || body instanceof ArrayBuffer ? "(binary)" : body.toString();
}

export interface GatedFetch extends ScriptedFetch {
  /** Resolves when this many requests have arrived. */
  arrived(count: number): Promise<void>;
  /** Answers the oldest waiting request. */
  answer(response: Response | Error): void;
}

export function gatedFetch(): GatedFetch {
  const waiting: { resolve(response: Response): void; reject(error: unknown): void }[] = [];
  const watchers: { count: number; resolve(): void }[] = [];
  const fetch: ScriptedFetch = scriptedFetch((call: FetchCall) => {
    const answer = new Promise<Response>((resolve, reject) => {
      waiting.push({ resolve, reject });
      call.init.signal?.addEventListener("abort", () => reject(call.init.signal?.reason));
    });
    for (const watcher of watchers) if (fetch.calls.length >= watcher.count) watcher.resolve();
    return answer;
  });
  return Object.assign(fetch, {
    arrived(count: number): Promise<void> {
      if (fetch.calls.length >= count) return Promise.resolve();
      return new Promise((resolve) => watchers.push({ count, resolve }));
    },
    answer(response: Response | Error) {
      const next = waiting.shift();
      if (next === undefined) throw new Error("no request waits for an answer");
      if (response instanceof Error) next.reject(response);
      else next.resolve(response);
    },
  });
}

/** The answer of a token endpoint with a token. */

export function tokenAnswer(
  value = "token-1",
  expiresInSeconds = 3_600,
  headers: HeadersInit = {},
): Response {
  const body = { access_token: value, token_type: "Bearer", expires_in: expiresInSeconds };
  return Response.json(body, { headers });
}
