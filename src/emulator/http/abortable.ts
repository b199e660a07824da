// Ends the waiting for an in-process answer when the caller aborts, as a fetch over the network does.

/** Settles as `work` does, or rejects with the signal's reason as soon as it is aborted. */
export function abortable<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
