// Lets everything that is ready to run, run: for what is asserted not to happen, or to happen in the background.
import "./load-at-once.js";

/** Long enough for a signature, which is made on another thread. */
const leastMs = 10;

export async function settled(): Promise<void> {
  const end = performance.now() + leastMs;
  for (let turns = 0; turns < 30 || performance.now() < end; turns++)
    await new Promise((resolve) => setImmediate(resolve));
}
