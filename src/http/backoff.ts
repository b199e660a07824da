/** The waits before a request is sent again, at the token endpoint and for calls. */
import { untilAborted } from "./exchange.js";

const firstStepMs = 2_000;
const longestStepMs = 64_000;
/** The share of a step that is added at random, so that the processes of a fleet do not all retry at once. */
const backoffJitter = 0.25;

/** Milliseconds to wait after the n-th failure in a row, counted from 0: "a few seconds, doubling, with random jitter". */
export function backoffMs(failures: number): number {
  return Math.min(firstStepMs * 2 ** failures, longestStepMs) * (1 + backoffJitter * Math.random());
}

/** @throws the signal's reason when it is aborted during the wait */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const elapsed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  return untilAborted(elapsed, signal, () => clearTimeout(timer));
}
