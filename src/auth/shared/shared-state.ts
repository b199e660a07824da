/**
 * What processes share through the store beside the tokens of people: tokens of machines,
 * detections, refusals, the rate limit and the server's clock. A process can get all of it again by
 * itself, so a store that fails costs time and requests but causes no error: while it is down, each
 * process goes on alone, and tries the store again every few seconds.
 */
import type { ResolvedAuthOptions } from "../../client-options.js";
import { countdown, type ResolvedClock, zero } from "../../clock.js";
import { isStoreError } from "../../errors.js";
import { type Emit, storeFailed } from "../auth.js";
import { type TokenStore, withStoreErrors } from "./token-store.js";

/**
 * Callers wait for a call of the store at most this long, or `timeoutMs` if that is shorter: a
 * database that has to connect first is awaited, and one that hangs costs no more than the shortest
 * waits of the retry schedule (2 to 2.5 s).
 */
const longestCallMs = 2_500;
/**
 * After a failure the store is left alone for this long: as long as the shortest wait of the retry
 * schedule.
 */
const pauseMs = 2_000;

type SharedStateOptions = Pick<ResolvedAuthOptions, "store" | "timeoutMs" | "clock">;

/** The parts of a key. The first one names the kind of the entry. */
export type SharedKey = readonly string[];

export class SharedState {
  readonly #store: TokenStore | undefined;
  readonly #clock: ResolvedClock;
  /**
   * The same as for a refresh: a task under the lock sends one request, and the lock of a process
   * that died must end.
   */
  readonly #lockWaitMs: number;
  readonly #isNeeded: boolean;
  #isDown = false;
  #pausedMs: () => number = zero;

  /**
   * Without a store nothing is shared, and nothing is reported. With `isNeeded` a read rejects
   * while the store is down, and the store has a time limit already: for people, whose tokens need
   * it anyway, going on without it would only cost time.
   */
  constructor({ store, timeoutMs, clock }: SharedStateOptions, isNeeded = false) {
    this.#isNeeded = isNeeded;
    const callMs = Math.min(timeoutMs, longestCallMs);
    this.#store = isNeeded ? store : store && withStoreErrors(store, callMs, clock);
    this.#clock = clock;
    this.#lockWaitMs = 2 * timeoutMs;
  }

  get isShared(): boolean {
    return this.#store !== undefined;
  }

  /** Whether the store failed at the last call. */
  get isDown(): boolean {
    return this.#isDown;
  }

  /**
   * Reads an entry. Returns `undefined` if it is missing, if `parse` throws, and while the store is
   * down.
   */
  async read<T>(key: SharedKey, parse: (json: unknown) => T, emit: Emit): Promise<T | undefined> {
    const get = async (store: TokenStore) => {
      const entry = await store.get(JSON.stringify(key));
      return entry && parse(JSON.parse(entry.value));
    };
    return this.#call(emit, get, this.#isNeeded);
  }

  async write(key: SharedKey, json: unknown, expiresAt: number, emit: Emit): Promise<void> {
    await this.#call(emit, (store) =>
      store.set(JSON.stringify(key), JSON.stringify(json), { expiresAt }),
    );
  }

  async delete(key: SharedKey, emit: Emit): Promise<void> {
    await this.#call(emit, (store) => store.delete(JSON.stringify(key)));
  }

  /**
   * Runs a task while no other process runs one for the same key. If the lock is not free in time
   * the task runs without it: at worst each process then does the same work. The task should first
   * read whether it was done meanwhile.
   */
  async exclusively<T>(key: SharedKey, task: () => Promise<T>, emit: Emit): Promise<T> {
    // At once, since the gate may close meanwhile.
    if (!this.isShared) return task();
    let running: Promise<T> | undefined;
    const run = () => {
      running = task();
      return running;
    };
    await this.#call(emit, (store) => {
      const locked = store.lock(JSON.stringify(["lock", ...key]), run, {
        timeoutMs: this.#lockWaitMs,
      });
      // A fault of the task is not one of the store.
      return locked.catch((error: unknown) =>
        running === undefined ? Promise.reject(error) : undefined,
      );
    });
    return running ?? task();
  }

  /** Returns `undefined` if the call fails, and does not make it while the store is down. */
  async #call<T>(emit: Emit, call: (store: TokenStore) => Promise<T>, mustThrow = false) {
    if (this.#store === undefined || !(mustThrow || this.#mayTry())) return undefined;
    try {
      const result = await call(this.#store);
      if (this.#isDown) {
        this.#isDown = false;
        emit({ type: "store_recovered" });
      }
      return result;
    } catch (error) {
      const isOutage = isStoreError(error) && error.code === "store_unavailable";
      if (isOutage && mustThrow) throw error;
      // An outage is reported once.
      if (!isOutage || !this.#isDown) emit(storeFailed(error));
      if (isOutage) {
        this.#isDown = true;
        this.#pausedMs = countdown(pauseMs, this.#clock);
      }
      return undefined;
    }
  }

  /** While the store is down, one call at a time finds out whether it is back. */
  #mayTry(): boolean {
    if (!this.#isDown) return true;
    if (this.#pausedMs() > 0) return false;
    this.#pausedMs = countdown(pauseMs, this.#clock);
    return true;
  }
}
