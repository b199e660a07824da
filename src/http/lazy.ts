/** Loads modules when they are first needed. */
import { TransportError } from "../errors.js";

/**
 * Returns the module if it is loaded, otherwise a promise of it. If loading failed, the next call
 * tries it again.
 *
 * @throws TransportError `network_failed` when the module cannot be loaded
 */
export function lazy<Module>(load: () => Promise<Module>): () => Module | Promise<Module> {
  let loaded: Module | undefined;
  return () =>
    loaded ??
    load().then(
      (module) => {
        loaded = module;
        return module;
      },
      (cause: unknown) => {
        const message = "A part of bivariant could not be loaded. Deploy all files of the package.";
        throw new TransportError("network_failed", message, { retryable: true, cause });
      },
    );
}

/** Returns the result of a task that may fail without harm, and `undefined` if it fails. */
export async function ifPossible<T>(task: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await task();
  } catch {
    return undefined;
  }
}
