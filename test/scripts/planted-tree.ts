// Writes small trees of files to temporary folders, which are removed after each test.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach } from "vitest";

/** Maps a path to its content; an empty string plants no file. */
export type Tree = Readonly<Record<string, string>>;

const planted: string[] = [];

export function plant(tree: Tree): string {
  const root = mkdtempSync(join(tmpdir(), "planted-"));
  planted.push(root);
  for (const [path, text] of Object.entries(tree)) {
    if (text === "") continue;
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

afterEach(() => {
  for (const root of planted.splice(0)) rmSync(root, { recursive: true, force: true });
});
