/** Watches a file by looking at its path, so that a rename, a checkout or a change behind a link is seen too. */
import { statSync } from "node:fs";
import { stat } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";

/** The time between two looks, and for which a file must not change: saving in an editor is several changes. */
const lookEveryMs = 100;

/** Identifies the content of a file at a moment. */
export type FileState = string;

export function stateOfFile(file: string): FileState {
  try {
    return stateOf(statSync(file, { bigint: true }));
  } catch {
    // Reading the file reports why.
    return "absent";
  }
}

/**
 * Calls `changed` once for each burst of changes since `before`, one call at a time. Resolves when the signal aborts and
 * the last call has ended.
 */
export async function watchFile(
  file: string,
  before: FileState,
  changed: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let reported = before;
  let seen = before;
  while (!signal.aborted) {
    await wait(lookEveryMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    const now = await stat(file, { bigint: true }).then(stateOf, () => "absent");
    if (now === seen && now !== reported) {
      reported = now;
      await changed();
    }
    seen = now;
  }
}

/** Without the time of the last change of mode or links, which says nothing about the content. */
function stateOf(file: { dev: bigint; ino: bigint; size: bigint; mtimeNs: bigint }): FileState {
  return [file.dev, file.ino, file.size, file.mtimeNs].join(" ");
}
