/** When an emulator stops: on Ctrl-C, when it is asked to end, and when its terminal goes. */

export interface StopSignal {
  readonly signal: AbortSignal;
  /** As if it were asked to stop. */
  end(): void;
  /** Stops listening to the process. */
  release(): void;
}

const names = ["SIGTERM", "SIGHUP"] as const;

/** Installed before there is anything to clean up, so that no signal finds the process without it. */
export function stopSignal(interruption: AbortSignal): StopSignal {
  const controller = new AbortController();
  const stop = () => controller.abort();
  for (const name of names) process.on(name, stop);
  interruption.addEventListener("abort", stop);
  if (interruption.aborted) stop();
  return {
    signal: controller.signal,
    end: stop,
    release() {
      for (const name of names) process.off(name, stop);
      interruption.removeEventListener("abort", stop);
    },
  };
}
