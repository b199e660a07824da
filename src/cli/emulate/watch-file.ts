/** Tells that a file changed, also where an editor, a link or a whole folder puts another one in its place. */
import { statSync } from "node:fs";
import { stat } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";

/** Milliseconds between two looks, and for which a file must rest: an editor's save is several changes. */
const LOOK_MS = 100;

/** What a file was when it was read; absent is a state like another. */
export type FileState = string;

export function stateOfFile(file: string): FileState {
  try {
    return stateOf(statSync(file, { bigint: true }));
  } catch {
    // Why, whoever reads it is told.
    return "absent";
  }
}

/**
 * Calls once for each burst of changes since `before`, one call after the other, and resolves when the signal aborted
 * and the last call has ended. It looks at the path, as the reader does: a watched folder or inode would be the old one
 * after a rename, a checkout or a change behind a link.
 */
export async function watchFile(
  file: string,
  before: FileState,
  changed: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let told = before;
  let seen = before;
  while (!signal.aborted) {
    await wait(LOOK_MS, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    const now = await stat(file, { bigint: true }).then(stateOf, () => "absent");
    if (now === seen && now !== told) {
      told = now;
      await changed();
    }
    seen = now;
  }
}

/** Not the time of the last change of its mode or links: that says nothing of what is in it. */
function stateOf({
  dev,
  ino,
  size,
  mtimeNs,
}: {
  dev: bigint;
  ino: bigint;
  size: bigint;
  mtimeNs: bigint;
}): FileState {
  return [dev, ino, size, mtimeNs].join(" ");
}
