/** Notices changes of files, for the commands that read them again. */
import { statSync } from "node:fs";

/** Files must stay the same for this time, because an editor may save one in several steps. */
export const lookEveryMs = 100;

/**
 * Looks at paths, so that a rename or a change behind a link is noticed too. A watcher of the
 * system would begin after the file was read, and miss a change between.
 */
export class FileWatcher {
  readonly #files = new Map<string, string>();
  #isUnread = false;

  /** Must be called before the file is read, so that a change after that is noticed. */
  add(file: string): void {
    if (!this.#files.has(file)) this.#files.set(file, stateOf(file));
  }

  /**
   * To be called every `lookEveryMs`. Returns whether files have changed since the last true
   * answer, and are the same as at the last call.
   */
  hasChanged(): boolean {
    const changed = [...this.#files].filter(([file, before]) => stateOf(file) !== before);
    for (const [file] of changed) this.#files.set(file, stateOf(file));
    const isReady = this.#isUnread && changed.length === 0;
    this.#isUnread = changed.length > 0;
    return isReady;
  }
}

/** "" for a file that is missing or cannot be looked at. */
function stateOf(file: string): string {
  try {
    const { ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
    return `${ino} ${size} ${mtimeNs} ${ctimeNs}`;
  } catch {
    return "";
  }
}
