/** One renewal that many callers wait for: it is aborted only when nobody waits for it any more. */
import { StopController, type StopSignal, whenAborted } from "../http/time-limit.js";

export class SharedRenewal<T> {
  /** Never rejects unhandled. */
  readonly result: Promise<T>;
  readonly #controller = new StopController();
  readonly #onEnd: () => void;
  #waiters = 0;
  #kept = false;

  /** `onEnd` is called once it is settled or aborted: whoever comes then needs another. */
  constructor(run: (signal: StopSignal) => Promise<T>, onEnd: () => void = () => {}) {
    this.#onEnd = onEnd;
    this.result = run(this.#controller);
    this.result.then(onEnd, onEnd);
  }

  /** Lets it run to its end whoever waits. */
  keep(): void {
    this.#kept = true;
  }

  /** Waits for the result. The signal ends this caller's wait only, with the signal's reason. */
  join(signal: AbortSignal | undefined): Promise<T> {
    if (signal === undefined) {
      this.#kept = true;
      return this.result;
    }
    this.#waiters++;
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        reject(signal.reason);
        this.#leave(signal.reason);
      };
      if (signal.aborted) return onAbort();
      const done = whenAborted(signal, onAbort);
      this.result.then(
        (value) => {
          done();
          resolve(value);
        },
        (error) => {
          done();
          reject(error);
        },
      );
    });
  }

  #leave(reason: unknown): void {
    this.#waiters--;
    if (this.#waiters > 0 || this.#kept) return;
    this.#onEnd();
    this.#controller.abort(reason);
  }
}
