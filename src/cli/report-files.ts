/**
 * Files that are written at the end of a long command: checked before it, and never left
 * half-written.
 */
import { randomUUID } from "node:crypto";
import { rename, rm, stat, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { invalidFlag } from "./arguments.js";

interface NamedFile {
  readonly flag: string;
  readonly path: string;
}

/**
 * @throws ConfigurationError `option_invalid` for a report that cannot be written, or would
 * overwrite another file of the run
 */
export async function checkReports(
  reports: readonly NamedFile[],
  others: readonly string[],
): Promise<void> {
  const taken = new Set(others.map((path) => resolve(path)));
  for (const { flag, path } of reports) {
    if (taken.has(resolve(path)))
      throw invalidFlag(flag, `would overwrite another file of this run: ${path}`);
    taken.add(resolve(path));
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined && !found.isFile()) throw unwritable(flag, path, "it is not a file");
    await rm(await writeTemporary(flag, path, ""));
  }
}

/**
 * Writes a file whole: another reader sees the old content or the new.
 * @throws ConfigurationError `option_invalid`
 */
export async function writeWhole(flag: string, path: string, text: string): Promise<void> {
  await rename(await writeTemporary(flag, path, text), path);
}

async function writeTemporary(flag: string, path: string, text: string) {
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    await writeFile(temporary, text, { flag: "wx" });
    return temporary;
  } catch (fault) {
    await rm(temporary, { force: true }).catch(() => {});
    throw unwritable(flag, path, (fault as NodeJS.ErrnoException).code);
  }
}

const unwritable = (flag: string, path: string, reason = "no code") =>
  invalidFlag(flag, `names a file that cannot be written (${reason}): ${path}`);
