// Waiting that ends early, and leaves no timer behind, when nobody waits any more.

/** Real milliseconds; resolves at once when any of the signals is aborted. */
export function wait(ms: number, ...ends: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    if (ends.some(({ aborted }) => aborted)) return resolve();
    const done = () => {
      clearTimeout(timer);
      for (const end of ends) end.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    for (const end of ends) end.addEventListener("abort", done);
  });
}
