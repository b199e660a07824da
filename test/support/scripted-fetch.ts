// A fetch that answers in-process as it is told, and remembers what it was asked.

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

/** What a fetch does that no answer comes to: it ends when it is aborted. */
export function noAnswer({ init }: FetchCall): Promise<Response> {
  return new Promise((_resolve, reject) => {
    init.signal?.addEventListener("abort", () => reject(init.signal?.reason));
  });
}

function textOf(body: BodyInit | null | undefined): string {
  if (body === undefined || body === null) return "";
  return typeof body === "string" || body instanceof URLSearchParams ? body.toString() : "(binary)";
}
