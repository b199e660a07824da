/** A temporary folder that only its owner can read, for secrets that are made for one run. */
import { existsSync } from "node:fs";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface PrivateFolder {
  /** Writes a file, mode 0600, in the place of one of that name, and resolves with its path. */
  write(name: string, content: string): Promise<string>;
  /** The same, but one of that name stays as it is. */
  writeOnce(name: string, content: string): Promise<string>;
  /** Where a file of that name is. */
  path(name: string): string;
  /** Removes the folder and what is in it. */
  remove(): Promise<void>;
}

/** `mkdtemp` makes the folder mode 0700. */
export async function privateFolder(): Promise<PrivateFolder> {
  const folder = await mkdtemp(join(tmpdir(), "bivariant-"));
  const path = (name: string) => join(folder, name);
  const write = async (name: string, content: string) => {
    // Renamed when it is whole: somebody may be reading the old one.
    await writeFile(path(`${name}.new`), content, { mode: 0o600, flag: "w" });
    await rename(path(`${name}.new`), path(name));
    return path(name);
  };
  return {
    write,
    writeOnce: async (name, content) => (existsSync(path(name)) ? path(name) : write(name, content)),
    path,
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
