// How an answer goes back to whoever asked, where it does not go back as answers do: late, in part, or not at all.

/** The bytes of a body, as they come; they stop coming when `ended` is aborted. */
export type SlowBody = (ended: AbortSignal) => AsyncIterable<Uint8Array>;

/** One request's way back; in-process and over HTTP whoever asked sees the same. */
export interface Connection {
  /** Of the other end; undefined in this process, empty if it is gone. Never what a header says. */
  readonly remoteAddress: string | undefined;
  /** Aborted as soon as nobody waits for the answer any more: the caller gave up, or the server closes. */
  readonly gone: AbortSignal;
  /** Ends it without an answer. What it gives, or throws, is for whoever took the request. */
  reset(): Response;
  /** Sends status and headers of `head`, then the body; "cut" ends the connection after it. */
  send(head: Response, body: SlowBody, ending: "complete" | "cut"): Response | Promise<Response>;
}
