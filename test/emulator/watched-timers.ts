// Counts the pending timers of given lengths, so that a test can require that each is cleared.
import { onTestFinished, vi } from "vitest";

/** To be asked for how many there are, from here to the end of the test. */
export function watchedTimers(...lengthsMs: readonly number[]): () => number {
  const { setTimeout: realSet, clearTimeout: realClear } = globalThis;
  const waiting = new Set<unknown>();
  vi.stubGlobal("setTimeout", (task: () => void, ms = 0, ...rest: unknown[]) => {
    const handle = realSet(
      () => {
        waiting.delete(handle);
        task();
      },
      ms,
      ...rest,
    );
    if (lengthsMs.includes(ms)) waiting.add(handle);
    return handle;
  });
  vi.stubGlobal("clearTimeout", (handle: Parameters<typeof clearTimeout>[0]) => {
    waiting.delete(handle);
    realClear(handle);
  });
  onTestFinished(() => {
    vi.unstubAllGlobals();
  });
  return () => waiting.size;
}
