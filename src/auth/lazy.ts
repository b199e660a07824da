/** Modules that are loaded when they are first needed. */
import { TransportError } from "../errors.js";

/**
 * Returns the module if it is loaded, else a promise of it. A module that failed to load is requested again next time.
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

/** Loads a module that only explains an error: `undefined` when it cannot be loaded, so that the error stays visible. */
export async function tryLoad<Module>(load: () => Module | Promise<Module>): Promise<Module | undefined> {
  try {
    return await load();
  } catch {
    return undefined;
  }
}
