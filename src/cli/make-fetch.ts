/** The one fetch of the command line: whatever the environment says of the way out is applied here. */
import type { Fetch } from "../variants/variant.js";

export function makeFetch(): Fetch {
  return (url, init) => globalThis.fetch(url, init);
}
