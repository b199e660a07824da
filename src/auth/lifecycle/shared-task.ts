/**
 * A task that several callers wait for, each with a signal of its own: a renewal, a code exchange,
 * a detection.
 *
 * Some worker runtimes end a request together with its timers and promises, also those that other
 * requests wait for. A task that such a request started is never settled. So a caller that joins a
 * task waits for a limited time, by a timer of its own request, and after that for a task of its
 * own.
 */
import type { ResolvedClock } from "../../clock.js";
import { isBivariantError } from "../../errors.js";
import { listen, unlisten } from "../../http/exchange.js";

/**
 * Returns what a caller waits for instead: after an error of the task, or, without an error, when
 * the task is lost.
 */
type Instead<T> = (error?: unknown) => Promise<T> | undefined;

/** What a wait for a task that is lost rejects with, inside of `join`. */
const lost = Symbol("lost");

/** A caller that waits for a task. */
interface Wait<T> {
  readonly signal: AbortSignal | undefined;
  readonly leave: () => void;
  readonly mayBeLost: boolean;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

/** The task is aborted when its last caller has left, unless it is kept. */
export class SharedTask<T> {
  readonly result: Promise<T>;
  readonly #controller: AbortController | undefined;
  readonly #onEnd: () => void;
  readonly #waits = new Set<Wait<T>>();
  readonly #clock: ResolvedClock;
  readonly #timers: unknown[] = [];
  #hasTimer = false;
  #isKept: boolean;

  /**
   * Starts the task. `keep` lets it run to its end whether callers wait or not; if `isKept` it does
   * from the start, and has no signal. `onEnd` is called when it is settled, aborted or lost, after
   * which callers need another task.
   */
  constructor(
    clock: ResolvedClock,
    run: (signal: AbortSignal | undefined, keep: () => void) => Promise<T>,
    onEnd: () => void = () => {},
    isKept = false,
  ) {
    this.#clock = clock;
    this.#onEnd = onEnd;
    this.#isKept = isKept;
    this.#controller = isKept ? undefined : new AbortController();
    // It only notes the frames, which are written if the task fails. The task's own stack ends
    // before its caller.
    const caller = new Error("caller");
    this.result = run(this.#controller?.signal, () => this.keep());
    this.result.then(
      (value) => this.#end(({ resolve }) => resolve(value)),
      (error: unknown) => {
        // An error that was stored after a refusal is thrown again for later callers. The first may
        // have frozen it.
        if (isBivariantError(error) && Object.isExtensible(error))
          error.stack = [`${error.stack}`.split("\nError: caller")[0], caller.stack].join("\n");
        this.#end(({ reject }) => reject(error));
      },
    );
  }

  keep(): void {
    this.#isKept = true;
  }

  /**
   * Waits for the result. The signal ends only this caller's wait, with the signal's reason. A
   * worker runtime may have stopped the task, so after `lostInMs` the caller waits for what
   * `instead` returns.
   */
  join(signal: AbortSignal | undefined, lostInMs = 0, instead?: Instead<T>): Promise<T> {
    if (signal === undefined) this.keep();
    if (signal === undefined && instead === undefined) return this.result;
    if (instead !== undefined) this.#loseAfter(lostInMs);
    const waiting = new Promise<T>((resolve, reject) => {
      const leave = () => {
        this.#waits.delete(wait);
        reject(signal?.reason);
        if (this.#waits.size > 0 || this.#isKept) return;
        this.#end(() => {});
        this.#controller?.abort(signal?.reason);
      };
      const wait = { signal, leave, mayBeLost: instead !== undefined, resolve, reject };
      this.#waits.add(wait);
      if (signal?.aborted) leave();
      else if (signal !== undefined) listen(signal, leave);
    });
    if (instead === undefined) return waiting;
    // #end does not call `instead`, since that would then run in the asynchronous context of
    // another caller.
    return waiting.catch((error: unknown) => {
      if (signal?.aborted) throw signal.reason;
      return instead(error === lost ? undefined : error) ?? waiting;
    });
  }

  /**
   * Callers of one turn share a timer, but not those of a later one: a worker ends the timers of a
   * request with it.
   */
  #loseAfter(ms: number): void {
    if (this.#hasTimer) return;
    this.#hasTimer = true;
    queueMicrotask(() => {
      this.#hasTimer = false;
    });
    const lose = () => this.#end(({ reject }) => reject(lost), true);
    this.#timers.push(this.#clock.setTimeout(lose, ms));
  }

  #end(settle: (wait: Wait<T>) => void, isLost = false): void {
    this.#onEnd();
    for (const timer of this.#timers) this.#clock.clearTimeout(timer);
    for (const wait of this.#waits) {
      // The caller that started the task waits for it in any case.
      if (isLost && !wait.mayBeLost) continue;
      this.#waits.delete(wait);
      if (wait.signal !== undefined) unlisten(wait.signal, wait.leave);
      settle(wait);
    }
  }
}
