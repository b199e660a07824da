/** Tells on stderr what is being waited for, once it takes longer than a person takes for granted. */
import type { ServiceEvent } from "../index.js";
import type { Output } from "./output.js";

const firstNoticeMs = 1_000;
const nextNoticeMs = 10_000;

export class Progress {
  readonly #output: Output;
  #what = "";
  #timer: NodeJS.Timeout | undefined;

  constructor(output: Output) {
    this.#output = output;
  }

  /** Does something that may take long; `what` completes "Still ...". */
  async during<T>(what: string, task: () => Promise<T>): Promise<T> {
    this.#what = what;
    this.#wait(firstNoticeMs);
    try {
      return await task();
    } finally {
      clearTimeout(this.#timer);
    }
  }

  #wait(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#output.note(`Still ${this.#what}; Ctrl-C ends it.`);
      this.#wait(nextNoticeMs);
    }, ms);
  }

  /** For `onEvent`. */
  readonly onEvent = (event: ServiceEvent): void => {
    const note = noteOf(event);
    if (note !== undefined) this.#output.note(note);
  };
}

function noteOf(event: ServiceEvent): string | undefined {
  switch (event.type) {
    case "rate_limited":
      return `The tenant's rate limit was hit; it opens at ${new Date(event.retryAt).toISOString()} (in ${seconds(event.retryAt - event.at)} s).`;
    case "token_requested":
      return event.attempt > 1 ? `Asking for a token again, attempt ${event.attempt}.` : undefined;
    case "clock_off":
      return `The server's clock is ${seconds(Math.abs(event.offsetMs))} s ${event.offsetMs > 0 ? "ahead of" : "behind"} this machine's.`;
    case "tenant_differs":
      return "The token's answer names another tenant than the one asked for.";
    case "call_replayed":
      return "The call was answered 401; it was sent again with a new token.";
    default:
      return undefined;
  }
}

function seconds(ms: number): number {
  return Math.max(0, Math.ceil(ms / 1000));
}
