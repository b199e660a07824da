/** A temporary folder that only its owner can read, for secrets that are made for one run. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface PrivateFolder {
  /** Writes a file, mode 0600, and resolves with its path. */
  write(name: string, content: string): Promise<string>;
  /** Removes the folder and what is in it. */
  remove(): Promise<void>;
}

/** `mkdtemp` makes the folder mode 0700. */
export async function privateFolder(): Promise<PrivateFolder> {
  const path = await mkdtemp(join(tmpdir(), "bivariant-"));
  return {
    async write(name, content) {
      const file = join(path, name);
      await writeFile(file, content, { mode: 0o600, flag: "wx" });
      return file;
    },
    remove: () => rm(path, { recursive: true, force: true }),
  };
}
