/** Signals that follow a caller's beyond the answer's head, and leave nothing on it when they are gone. */

/**
 * Gives a function that makes a signal for one request: aborted by its time limit, which ends with the answer's head,
 * and by the caller's signal, which must still end the body. The caller's may outlive many requests: it carries one
 * listener for all of them, which holds none.
 */
export function signalFollower(): (limit: AbortSignal, signal: AbortSignal | undefined) => AbortSignal {
  const followers = new WeakMap<AbortSignal, Set<WeakRef<AbortController>>>();
  // A signal does not hold its controller, and only the signal is held by whatever reads the body.
  const controllers = new WeakMap<AbortSignal, AbortController>();
  const forgotten = new FinalizationRegistry<() => void>((forget) => forget());

  const followersOf = (signal: AbortSignal) => {
    const found = followers.get(signal);
    if (found !== undefined) return found;
    const made = new Set<WeakRef<AbortController>>();
    followers.set(signal, made);
    const abortAll = () => {
      for (const follower of made) follower.deref()?.abort(signal.reason);
    };
    signal.addEventListener("abort", abortAll, { once: true });
    return made;
  };

  return (limit, signal) => {
    const whole = new AbortController();
    limit.addEventListener("abort", () => whole.abort(limit.reason), { once: true });
    controllers.set(whole.signal, whole);
    if (signal !== undefined) follow(whole, followersOf(signal), forgotten);
    return whole.signal;
  };
}

/** On its own, so that no closure made here holds the controller. */
function follow(
  controller: AbortController,
  followers: Set<WeakRef<AbortController>>,
  forgotten: FinalizationRegistry<() => void>,
): void {
  const follower = new WeakRef(controller);
  followers.add(follower);
  forgotten.register(controller, () => followers.delete(follower));
}
