// Waiting that ends early, and leaves no timer behind, when nobody waits any more.

/** Real milliseconds; resolves at once when the signal is aborted. */
export function wait(ms: number, ended: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (ended.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      ended.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    ended.addEventListener("abort", done);
  });
}
