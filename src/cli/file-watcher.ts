/** Looks whether files have changed, for the commands that read them again. */
import { statSync } from "node:fs";

/** Files must stay the same for this time, because an editor may save one in several steps. */
export const lookEveryMs = 100;

export interface FileWatcher {
  /** Must be called before the file is read, so that a change after that is noticed. */
  readonly add: (file: string) => void;
  /** Calls `changed` once for each burst of changes. */
  readonly look: (changed: () => Promise<void>) => Promise<void>;
}

/** Checks the paths, to notice a rename or a change behind a link too. */
export function fileWatcher(): FileWatcher {
  const reported = new Map<string, string>();
  let seen = "";
  return {
    add: (file) => void reported.set(file, stateOfFile(file)),
    async look(changed) {
      const states = [...reported.keys()].map((file) => [file, stateOfFile(file)] as const);
      const now = states.join("\n");
      const isChanged = states.some(([file, state]) => state !== reported.get(file));
      if (isChanged && now === seen) {
        for (const [file, state] of states) reported.set(file, state);
        await changed();
      }
      seen = now;
    },
  };
}

/** Identifies the content of a file. Omits ctime, which changes with the mode and the links too. */
function stateOfFile(file: string): string {
  try {
    const { dev, ino, size, mtimeNs } = statSync(file, { bigint: true });
    return [dev, ino, size, mtimeNs].join(" ");
  } catch {
    // No error here: the next read of the file reports why it fails.
    return "absent";
  }
}
