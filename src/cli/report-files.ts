/**
 * Files that are written at the end of a long command: checked before it, and never left
 * half-written.
 */
import { randomUUID } from "node:crypto";
import { rename, rm, stat, writeFile } from "node:fs/promises";
import { realPath } from "../internal.js";
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
  others: readonly (string | undefined)[],
): Promise<void> {
  const taken = new Set(others.map((path = "-") => realPath(path)));
  for (const { flag, path } of reports) {
    if (taken.has(realPath(path)))
      throw invalidFlag(flag, `would overwrite another file of this run: ${path}`);
    taken.add(realPath(path));
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined && !found.isFile()) throw unwritable(flag, path, "it is not a file");
    await writeTemporary(flag, path, "", rm);
  }
}

/**
 * Writes a file whole, behind a link and with its mode: another reader sees the old content or the
 * new.
 * @throws ConfigurationError `option_invalid`
 */
export async function writeWhole(flag: string, path: string, text: string): Promise<void> {
  await writeTemporary(flag, path, text, (temporary) => rename(temporary, realPath(path)));
}

async function writeTemporary(
  flag: string,
  path: string,
  text: string,
  use: (temporary: string) => Promise<void>,
) {
  const temporary = `${realPath(path)}.${randomUUID()}.tmp`;
  try {
    const { mode } = await stat(path).catch(() => ({ mode: 0o666 }));
    await writeFile(temporary, text, { flag: "wx", mode });
    await use(temporary);
  } catch (fault) {
    await rm(temporary, { force: true }).catch(() => {});
    throw unwritable(flag, path, (fault as NodeJS.ErrnoException).code);
  }
}

const unwritable = (flag: string, path: string, reason = "no code") =>
  invalidFlag(flag, `names a file that cannot be written (${reason}): ${path}`);
