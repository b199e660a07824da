/** Faults of the file system as errors of a store, each with the next step. */
import { isBivariantError, StoreError } from "../errors.js";

const nextSteps: Readonly<Record<string, string>> = {
  EACCES: "give this user the right to read and write the folder and the file",
  EPERM: "give this user the right to read and write the folder and the file",
  EROFS: "the file system is read-only: name a path elsewhere",
  ENOENT: "its folder is made if it is missing, but not that folder's parent: make it with mkdir -p",
  ENOTDIR: "a part of the path is no folder: name a path elsewhere",
  EISDIR: "this is a folder: name a file in it",
  ELOOP: "the links go in a circle: name the file itself",
  ENAMETOOLONG: "choose a shorter path",
  ENOSPC: "the disk is full: make room; what was stored before is still there",
  EDQUOT: "the quota is used up: make room; what was stored before is still there",
  EFBIG: "the file may not grow so large; what was stored before is still there",
  EMFILE: "this process has too many files open",
  ENFILE: "this machine has too many files open",
};

/** The code of a system error; `undefined` when it is none. */
export function systemCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && !isBivariantError(error) ? code : undefined;
}

/** `store_unavailable` for a fault of the file system; anything else as it is. */
export function asStoreError(error: unknown, path: string): unknown {
  const code = systemCode(error);
  if (code === undefined) return error;
  const next = nextSteps[code] ?? "look at the file and its folder";
  return new StoreError("store_unavailable", `The store ${path} failed (${code}): ${next}.`, {
    cause: error,
  });
}
