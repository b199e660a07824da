/** Whether what lies on the disk is this user's alone: what others could write, they could have written. */
import type { Stats } from "node:fs";
import { lstat } from "node:fs/promises";
import { StoreError } from "../errors.js";
import { systemCode } from "./file-fault.js";

/** Root may use everybody's files: a store is its user's all the same. Windows has no owners of this kind. */
export function isOwn({ uid }: Stats): boolean {
  return process.geteuid === undefined || uid === process.geteuid();
}

export function isPrivate({ mode }: Stats): boolean {
  return process.platform === "win32" || (mode & 0o077) === 0;
}

/**
 * The folder of the locks, where unfinished writes lie too: a folder itself, no link to one, and nobody else's.
 *
 * @throws StoreError `store_unavailable`
 */
export async function checkLockFolder(folder: string): Promise<void> {
  const stats = await lstat(folder).catch((error) => {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  });
  if (stats === undefined || (stats.isDirectory() && isOwn(stats) && isPrivate(stats))) return;
  throw new StoreError(
    "store_unavailable",
    `${folder} is not a folder that only this user may use (mode 0700): remove it if no process uses the store.`,
  );
}
