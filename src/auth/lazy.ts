/** Loads modules when they are first needed. */
import { TransportError } from "../errors.js";

/**
 * Returns the module if it is loaded, otherwise a promise of it. If loading failed, the next call tries it again.
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
        const message =
          "A part of bivariant could not be loaded. Check that all files of the package are deployed, then try again.";
        throw new TransportError("network_failed", message, { retryable: true, cause });
      },
    );
}

/** Loads a module that only explains an error. Returns `undefined` if that fails, so that the error stays visible. */
export async function tryLoad<Module>(load: () => Module | Promise<Module>): Promise<Module | undefined> {
  try {
    return await load();
  } catch {
    return undefined;
  }
}
