/** Notices changes of files, for the commands that read them again. */
import { unwatchFile, watchFile } from "node:fs";

/** Files must stay the same for this time, because an editor may save one in several steps. */
export const lookEveryMs = 100;

/**
 * Watches paths until the signal ends it, so that a rename or a change behind a link is noticed
 * too.
 */
export class FileWatcher {
  readonly #signal: AbortSignal;
  readonly #files = new Set<string>();
  #changedAt: number | undefined;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Must be called before the file is read, so that a change after that is noticed. */
  add(file: string): void {
    if (this.#files.has(file) || this.#signal.aborted) return;
    this.#files.add(file);
    const onChange = () => {
      this.#changedAt = performance.now();
    };
    watchFile(file, { interval: lookEveryMs, persistent: false }, onChange);
    this.#signal.addEventListener("abort", () => unwatchFile(file, onChange));
  }

  /**
   * Returns whether files have changed since the last true answer, and are the same for a while.
   */
  hasChanged(): boolean {
    if (this.#changedAt === undefined || performance.now() - this.#changedAt < lookEveryMs)
      return false;
    this.#changedAt = undefined;
    return true;
  }
}
