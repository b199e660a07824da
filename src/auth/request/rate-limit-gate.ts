/**
 * The state that the requests of a token endpoint and tenant share: the rate limit gate (section 8)
 * and the clock.
 */
import type { ResolvedAuthOptions } from "../../client-options.js";
import { countdown, deadlineIn, type ResolvedClock, zero } from "../../clock.js";
import { RateLimitedError, type Variant } from "../../errors.js";
import { cutNote, parseRetryAfterMs, retryWaitMs, sleep } from "../../http/backoff.js";
import type { Answer } from "../../http/exchange.js";
import type { Target } from "../../variants/target.js";
import { type Emit, storeFailed } from "../auth.js";
import type { SharedKey, SharedState } from "../shared/shared-state.js";
import { ServerClock } from "./server-clock.js";

/**
 * The time between two checks of another caller's probe, whose end does not come if it was killed:
 * less than any wait after a 429.
 */
const probeCheckMs = 1_000;
/**
 * A killed request never ends its probe, so a probe counts as ended this long after the time limit:
 * a slow store has answered.
 */
const probeGraceMs = 5_000;

/**
 * A process that learns of a 429 from another one asks for itself after this time, once in the life
 * of a usual token.
 */
const longestSharedWaitMs = 3_600_000;

type RateLimitGateOptions = Pick<ResolvedAuthOptions, "clock" | "timeoutMs" | "shareInFlight">;

interface GateRecord {
  /** Identifies the 429 that closed the gate last. */
  readonly id: string;
  /** Epoch milliseconds. */
  readonly opensAt: number;
  readonly waitMs: number;
  /** In a row. */
  readonly refusals: number;
}

interface WaitAtGate {
  /** A countdown. */
  readonly deadline: () => number;
  readonly signal: AbortSignal | undefined;
  /** Adopts what other processes have met, at first and after each wait. */
  readonly learn?: () => Promise<void>;
}

/**
 * The gate of one token endpoint and tenant, since the sliding window of section 8 counts all
 * requests of a tenant. After a 429 it is closed for a while. Then requests pass one at a time
 * until one was answered without a 429. Callers that have waited always pass one at a time, so that
 * they do not exceed the limit again at once.
 */
export class RateLimitGate {
  readonly #variant: Variant;
  readonly #options: RateLimitGateOptions;
  #refusals = 0;
  #id = "";
  /**
   * The instant of the last 429 (epoch milliseconds), the wait after it, and what is left of that
   * wait.
   */
  #refusedAt = 0;
  #waitMs = 0;
  #leftMs: () => number = zero;
  /**
   * A request that was let through after a 429 and has no answer yet, and the time after which it
   * counts as lost.
   */
  #probe: { readonly leftMs: () => number; readonly ended: Promise<void> } | undefined;

  constructor(variant: Variant, options: RateLimitGateOptions) {
    this.#variant = variant;
    this.#options = options;
  }

  /** What other processes need to know. */
  get record(): GateRecord {
    return {
      id: this.#id,
      opensAt: this.opensAt,
      waitMs: Math.ceil(this.#waitMs),
      refusals: this.#refusals,
    };
  }

  /** Closes the gate as another process did that met a 429. Each 429 is adopted once. */
  adopt({ id, opensAt, waitMs, refusals }: GateRecord): void {
    if (id === this.#id) return;
    this.#refusals = Math.max(this.#refusals, refusals);
    const now = this.#options.clock.now();
    // The other process may have another clock, and one answer should not stop a fleet for long.
    const leftMs = Math.min(opensAt - now, waitMs, longestSharedWaitMs);
    const ownMs = Math.max(this.#leftMs(), 0);
    // Others must still adopt a longer wait of this process, by its id.
    if (leftMs <= ownMs && ownMs > 0) return;
    this.#id = id;
    if (leftMs <= 0) return;
    this.#waitMs = leftMs;
    this.#leftMs = countdown(leftMs, this.#options.clock);
    this.#refusedAt = now;
  }

  get isOpen(): boolean {
    return this.#refusals === 0 || this.#leftMs() <= 0;
  }

  /** Epoch milliseconds. */
  get opensAt(): number {
    const now = this.#options.clock.now();
    // The instant of the 429 is in the future after the clock was set back, and too long ago after
    // it was set ahead.
    return Math.ceil(Math.max(Math.min(this.#refusedAt, now) + this.#waitMs, now + this.#leftMs()));
  }

  /**
   * Waits until a request may be sent. Returns a function to call after the answer was reported.
   *
   * @throws RateLimitedError at once when the gate opens after the deadline; the signal's reason
   */
  async enter({ deadline, signal, learn }: WaitAtGate): Promise<() => void> {
    const { clock, shareInFlight } = this.#options;
    // The loop checks again after a wait, since another 429 may have come meanwhile.
    for (let hasWaited = false; ; hasWaited = true) {
      if (learn) await learn();
      if (this.#refusals === 0 && !hasWaited) return () => {};
      if (!this.isOpen) {
        if (this.#leftMs() > deadline()) throw this.error();
        await sleep(this.#leftMs(), signal, clock);
        continue;
      }
      if (this.#probe === undefined || this.#probe.leftMs() <= 0) return this.#startProbe();
      const checked = sleep(probeCheckMs, signal, clock);
      await (shareInFlight ? Promise.race([this.#probe.ended, checked]) : checked);
      if (this.#refusals > 0 && deadline() < 0) throw this.error();
    }
  }

  /**
   * Reports a 429. Without a valid `Retry-After` the schedule of section 8 applies, in which the
   * refusals of requests that were in flight together are one step.
   */
  refused({
    headers,
    sentAt,
    receivedAt,
  }: Pick<Answer, "headers" | "sentAt" | "receivedAt">): void {
    const isNextStep = this.#refusals === 0 || this.#isAfterWait(sentAt);
    const askedMs = parseRetryAfterMs(headers, receivedAt);
    if (askedMs === undefined && !isNextStep) return;
    const waitMs = retryWaitMs(askedMs, this.#refusals, this.#options.clock);
    if (isNextStep) this.#refusals++;
    this.#id = crypto.randomUUID();
    this.#waitMs = Math.max(this.#leftMs(), waitMs);
    this.#leftMs = countdown(this.#waitMs, this.#options.clock);
    this.#refusedAt = this.#options.clock.now();
  }

  /** Reports any other answer, which opens the gate if it came after the wait. */
  passed({ sentAt }: Pick<Answer, "sentAt">): void {
    if (this.#isAfterWait(sentAt)) this.#refusals = 0;
  }

  /** The error for a caller that does not wait. */
  error(): RateLimitedError {
    return new RateLimitedError(
      "The tenant's rate limit was hit at the token endpoint. " +
        `Ask again after ${new Date(this.opensAt).toISOString()} (retryAt), or raise ` +
        `retryDeadlineMs.${cutNote(this.#waitMs)}`,
      { variant: this.#variant, retryAt: this.opensAt },
    );
  }

  #startProbe(): () => void {
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const leftMs = deadlineIn(this.#options.timeoutMs + probeGraceMs, this.#options.clock);
    const probe = { leftMs, ended };
    this.#probe = probe;
    return () => {
      if (this.#probe === probe) this.#probe = undefined;
      end();
    };
  }

  /**
   * Whether the wait is over, and the request was sent after the last 429. A detection that had
   * entered before the 429 may be answered during the wait. Once `now` was frozen or set back, only
   * the wait counts.
   */
  #isAfterWait(sentAt: number): boolean {
    const isAfter = sentAt > this.#refusedAt || this.#options.clock.now() <= this.#refusedAt;
    return isAfter && this.#leftMs() <= 0;
  }
}

/** What processes share about a token endpoint. Instants are in epoch milliseconds. */
interface EndpointRecord extends GateRecord {
  /** By how much the server's clock is ahead, if that is applied to assertions. */
  readonly offsetMs?: number | undefined;
}

/**
 * A gate is remembered for this long, about its longest step, after it opened, so that the next 429
 * is the next step.
 */
const gateRememberedMs = 60_000;
/** Each answer measures the clock again, and some come within the life of a usual token. */
const clockRememberedMs = 3_600_000;

/**
 * What the requests to one token endpoint and tenant have learnt, here and in the processes that
 * share the store.
 */
export class TokenEndpointState {
  readonly gate: RateLimitGate;
  readonly serverClock: ServerClock = new ServerClock();
  readonly #variant: Variant;
  readonly #target: Target;
  readonly #clock: ResolvedClock;
  /** The record that this process has last read from the store or written to it. */
  #shared: string | undefined;

  constructor(variant: Variant, target: Target, options: RateLimitGateOptions) {
    this.gate = new RateLimitGate(variant, options);
    this.#variant = variant;
    this.#target = target;
    this.#clock = options.clock;
  }

  get #key(): SharedKey {
    return ["endpoint", this.#variant, this.#target.baseUrl, this.#target.tenantId];
  }

  /**
   * Takes over what another process has learnt. The offset of the clock may be wrong here, since
   * that process may run on a machine with another clock, so `canRetry` must say that a refused
   * assertion is tried again.
   */
  async adopt(shared: SharedState, emit: Emit, canRetry = false): Promise<void> {
    if (!shared.isShared) return;
    const record = await shared.read(this.#key, parseRecord, emit);
    this.#shared = record && JSON.stringify(record);
    if (record === undefined) return;
    this.gate.adopt(record);
    if (canRetry && record.offsetMs !== undefined) this.serverClock.adopt(record.offsetMs);
  }

  /**
   * Learns the rate limit and the server's clock from an answer, reports both, and stores them for
   * other processes.
   */
  learn(answer: Answer, shared: SharedState, emit: Emit): Promise<void> | undefined {
    const { gate, serverClock } = this;
    const offsetMs = serverClock.observe(answer);
    if (offsetMs !== undefined)
      emit({
        type: "clock_off",
        offsetMs: Math.round(offsetMs),
        errorMs: Math.round(serverClock.errorMs),
      });
    if (answer.status === 429) {
      gate.refused(answer);
      emit({ type: "rate_limited", retryAt: gate.opensAt });
    } else {
      gate.passed(answer);
    }
    // The answer must be read, whatever the store does.
    return shared.isShared
      ? this.#share(shared, emit).catch((error: unknown) => emit(storeFailed(error)))
      : undefined;
  }

  async #share(shared: SharedState, emit: Emit): Promise<void> {
    const { appliedMs } = this.serverClock;
    // Another process may have stored a longer wait meanwhile.
    if (this.#shared !== undefined || appliedMs !== 0 || !this.gate.isOpen)
      await this.adopt(shared, emit);
    // Rounded, because the offset differs a little with each answer.
    const offsetMs = appliedMs === 0 ? undefined : Math.round(appliedMs / 1_000) * 1_000;
    const record: EndpointRecord = { ...this.gate.record, offsetMs };
    const text = JSON.stringify(record);
    if (text === this.#shared) return;
    if (record.refusals > 0 || appliedMs !== 0) {
      this.#shared = text;
      const clockUntil = appliedMs === 0 ? 0 : this.#clock.now() + clockRememberedMs;
      await shared.write(
        this.#key,
        record,
        Math.max(record.opensAt + gateRememberedMs, clockUntil),
        emit,
      );
    } else if (this.#shared !== undefined) {
      this.#shared = undefined;
      await shared.delete(this.#key, emit);
    }
  }
}

/** @throws TypeError if it is not a record */
function parseRecord(json: unknown): EndpointRecord {
  const { id, opensAt, waitMs, refusals, offsetMs } = Object(json);
  const isNumeric = [opensAt, waitMs, refusals, offsetMs ?? 0].every(Number.isSafeInteger);
  if (typeof id !== "string" || !isNumeric)
    throw new TypeError("The stored value is not the state of a token endpoint.");
  return { id, opensAt, waitMs, refusals, offsetMs };
}
