/** The schedule of section 8 of the description: "a few seconds, doubling, with random jitter". */
import type { StopSignal } from "../http/time-limit.js";

const firstStepMs = 2_000;
const longestStepMs = 64_000;
/** The share of a step that is added at random, so that a fleet does not come back in one instant. */
const jitter = 0.25;

/** Milliseconds to wait after the n-th refusal in a row, counted from 0. */
export function backoffMs(refusals: number): number {
  return Math.min(firstStepMs * 2 ** refusals, longestStepMs) * (1 + jitter * Math.random());
}

/** Waits. A caller's abort ends the wait with the signal's reason. */
export function sleep(ms: number, signal: StopSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
