// A body that comes slowly.
import { wait } from "./wait.js";

/** More often than this nobody sees it drip. */
const DROPS_PER_SECOND = 10;

/** `ended`: nobody reads any more; `released`: what is left is to come at once. */
export async function* drip(
  body: Uint8Array,
  bytesPerSecond: number,
  ended: AbortSignal,
  released: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const size = Math.ceil(bytesPerSecond / DROPS_PER_SECOND);
  for (let at = 0; at < body.length; at += size) {
    await wait((size / bytesPerSecond) * 1000, ended, released);
    if (ended.aborted) return;
    if (released.aborted) return yield body.subarray(at);
    yield body.subarray(at, at + size);
  }
}
