/** A module that is loaded when it is first needed: whoever never needs it does not wait for it. */

/** Gives the module at once where it is loaded, else a promise of it. One that failed to load is tried again. */
export function lazy<Module>(load: () => Promise<Module>): () => Module | Promise<Module> {
  let loaded: Module | undefined;
  return () =>
    loaded ??
    load().then((module) => {
      loaded = module;
      return module;
    });
}

/** The module, or `undefined`: for what only explains an error, which must not be hidden by another. */
export async function tryLoad<Module>(needed: () => Module | Promise<Module>): Promise<Module | undefined> {
  try {
    return await needed();
  } catch {
    return undefined;
  }
}
