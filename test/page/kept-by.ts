// Everything that a page keeps where other scripts, later visits or the disk may find it, as one text.
import type { Frame, Page } from "playwright-core";

/** Storage that the browser denies to a frame of another site keeps nothing. */
export async function keptBy(frame: Frame | Page): Promise<string> {
  const kept = await frame.evaluate(async () => {
    const places: Record<string, () => unknown> = {
      local: () => ({ ...localStorage }),
      session: () => ({ ...sessionStorage }),
      databases: async () => (await indexedDB.databases()).map(({ name }) => name),
      caches: () => caches.keys(),
      cookie: () => document.cookie,
      address: () => [location.href, document.referrer, window.name, history.state],
      markup: () => document.documentElement.outerHTML,
      // Closures are what a session is made of: properties are what others see of it.
      globals: () =>
        Object.entries(globalThis)
          .filter(([, value]) => value !== globalThis && !(value instanceof Node))
          .map(([name, value]) => `${name}: ${describe(value)}`),
    };
    function describe(value: unknown): string {
      if (typeof value !== "object" || value === null) return String(value);
      return Reflect.ownKeys(value)
        .map((key) => `${String(key)}: ${String(Reflect.get(value, key))}`)
        .join();
    }
    const entries = Object.entries(places).map(async ([place, read]) => {
      try {
        return [place, await read()];
      } catch (error) {
        return [place, `denied: ${error}`];
      }
    });
    return JSON.stringify(await Promise.all(entries));
  });
  const context = "context" in frame ? frame.context() : frame.page().context();
  return kept + JSON.stringify(await context.cookies());
}
