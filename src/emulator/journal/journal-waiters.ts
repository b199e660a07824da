// Tests that wait for requests: each is told as soon as those it waits for were answered.
import { z } from "zod";
import { EmulatorError } from "../emulator-error.js";
import { parseInput } from "../parse-input.js";
import type { JournalEntry } from "./journal-entry.js";

/** How long to wait, and for how many. */
export interface WaitOptions {
  /** Default: 1. */
  readonly count?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Real time, whatever the emulator's clock. Default: 4000. */
  readonly timeoutMs?: number | undefined;
}

/** Below the five seconds after which the usual test runners give a test up, so that this error is the one shown. */
const DEFAULT_TIMEOUT_MS = 4000;
/** What a timer takes: beyond it would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

const schema = z.strictObject({
  count: z.number().int().min(1).optional(),
  signal: z.custom<AbortSignal>((value) => value instanceof AbortSignal, "must be an AbortSignal").optional(),
  timeoutMs: z.number().min(0).max(LONGEST_MS).optional(),
});

interface Waiter {
  readonly matches: (entry: JournalEntry) => boolean;
  readonly count: number;
  /** Those that match, so far. */
  seen: JournalEntry[];
  readonly resolve: (entries: JournalEntry[]) => void;
}

export class JournalWaiters {
  readonly #waiting = new Set<Waiter>();

  /** Resolves with what matches, `before` included. @throws EmulatorError `journal_timeout`, or the signal's reason */
  async wait(
    matches: Waiter["matches"],
    before: readonly JournalEntry[],
    options: WaitOptions,
  ): Promise<JournalEntry[]> {
    const read = parseInput(schema, options, "option_invalid", "waitFor");
    const { count = 1, signal, timeoutMs = DEFAULT_TIMEOUT_MS } = read;
    signal?.throwIfAborted();
    if (before.length >= count) return [...before];
    let end = () => {};
    try {
      return await new Promise<JournalEntry[]>((resolve, reject) => {
        const waiter: Waiter = { matches, count, seen: [...before], resolve };
        const late = () => reject(tooLate(waiter, timeoutMs));
        const abort = () => reject(signal?.reason);
        const timer = setTimeout(late, timeoutMs);
        signal?.addEventListener("abort", abort, { once: true });
        this.#waiting.add(waiter);
        end = () => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", abort);
          this.#forget(waiter);
        };
      });
    } finally {
      end();
    }
  }

  tell(entry: JournalEntry): void {
    for (const waiter of this.#waiting) {
      if (!waiter.matches(entry)) continue;
      waiter.seen.push(entry);
      if (waiter.seen.length < waiter.count) continue;
      this.#forget(waiter);
      waiter.resolve(waiter.seen);
    }
  }

  /** After a reset: what was seen before it counts no more. */
  startOver(): void {
    for (const waiter of this.#waiting) waiter.seen = [];
  }

  #forget(waiter: Waiter): void {
    this.#waiting.delete(waiter);
  }
}

function tooLate({ count, seen }: Waiter, timeoutMs: number): EmulatorError {
  const came = `${seen.length} of ${count} such ${count === 1 ? "request" : "requests"} came`;
  return new EmulatorError("journal_timeout", `waitFor: ${came} within ${timeoutMs} ms`);
}
