/** Looks whether files have changed, for the commands that read them again. */
import { statSync } from "node:fs";

/** Files must stay the same for this time, because an editor may save one in several steps. */
export const lookEveryMs = 100;

/**
 * Each call of the result looks at the files and calls `changed` once for each burst of changes since `before`. It
 * checks the paths, to notice a rename or a change behind a link too.
 */
export function fileWatcher(
  files: readonly string[],
  before: string,
  changed: () => Promise<void>,
): () => Promise<void> {
  let reported = before;
  let seen = before;
  return async () => {
    const now = stateOfFiles(files);
    if (now === seen && now !== reported) {
      reported = now;
      await changed();
    }
    seen = now;
  };
}

/** Identifies the content of files. */
export function stateOfFiles(files: readonly string[]): string {
  return files.map(stateOfFile).join("\n");
}

/** Omits ctime, which changes with the mode and the links too. */
function stateOfFile(file: string): string {
  try {
    const { dev, ino, size, mtimeNs } = statSync(file, { bigint: true });
    return [dev, ino, size, mtimeNs].join(" ");
  } catch {
    // No error here: the next read of the file reports why it fails.
    return "absent";
  }
}
