// Writes small trees of files to temporary folders, which are removed after the last test of the
// file.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { whenDone } from "../support/when-done.js";

/** Maps a path to its content; an empty string plants no file. */
export type Tree = Readonly<Record<string, string>>;

export function plant(tree: Tree): string {
  const root = mkdtempSync(join(tmpdir(), "planted-"));
  whenDone(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(tree)) {
    if (text === "") continue;
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}
