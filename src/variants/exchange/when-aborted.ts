/** One listener on a signal for all who wait on it at once: Node warns of a leak from the eleventh on. */
import type { StopSignal } from "./stop-signal.js";

interface Waiting {
  readonly ends: Set<() => void>;
  readonly listener: () => void;
}

/** By the caller's own signal, and only while somebody waits: nothing is kept beyond that. */
const waiting = new WeakMap<StopSignal, Waiting>();

/** Calls `end` once when the signal is aborted. Gives what takes that back. */
export function whenAborted(signal: StopSignal, end: () => void): () => void {
  const { ends, listener } = waiting.get(signal) ?? listenTo(signal);
  ends.add(end);
  return () => {
    if (!ends.delete(end) || ends.size > 0 || waiting.get(signal)?.ends !== ends) return;
    waiting.delete(signal);
    signal.removeEventListener("abort", listener);
  };
}

function listenTo(signal: StopSignal): Waiting {
  const ends = new Set<() => void>();
  const listener = () => {
    waiting.delete(signal);
    for (const end of [...ends]) end();
  };
  const entry = { ends, listener };
  waiting.set(signal, entry);
  signal.addEventListener("abort", listener, { once: true });
  return entry;
}
