/** Tells that a file changed, also where an editor puts a new one in its place. */
import { watch } from "node:fs";
import { basename, dirname, resolve } from "node:path";

/** Milliseconds: an editor's save is several events. */
const QUIET_MS = 100;

/** Calls until the signal aborts, once for each burst of changes. The folder is watched: a replaced file is another one. */
export function watchFile(file: string, changed: () => void, signal: AbortSignal): void {
  const path = resolve(file);
  let timer: NodeJS.Timeout | undefined;
  const watcher = watch(dirname(path), { signal }, (_, name) => {
    if (name !== null && name !== basename(path)) return;
    clearTimeout(timer);
    timer = setTimeout(changed, QUIET_MS);
  });
  // A folder that goes away is told by reading the file.
  watcher.on("error", () => {});
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
}
