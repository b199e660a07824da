/** Replaces the file of a store as a whole, or moves it out of the way; by the folder of the write lock's holder. */
import { chmod, lstat, open, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { StoreError } from "../errors.js";
import { systemCode } from "./file-fault.js";

/** Whoever reads sees the old contents or the new ones, whenever this process or the machine stops. */
export async function replaceFile(path: string, contents: string, own: string): Promise<void> {
  const made = join(own, "contents");
  try {
    const handle = await open(made, "wx", 0o600);
    try {
      await handle.writeFile(contents);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(made, path);
  } catch (error) {
    await rm(made, { force: true }).catch(() => {});
    throw error;
  }
  await syncFolder(dirname(path));
}

/**
 * Moves a file that is none of a store's to `<path>.corrupt-<timestamp>`.
 *
 * @returns the error that tells so, and where it is now
 */
export async function setAside(path: string, why: string, own: string): Promise<StoreError> {
  const said = `${path} cannot be read as a store: ${why}.`;
  try {
    // By way of the own folder: who lost the lock meanwhile must not move away what another wrote.
    await rename(path, join(own, "aside"));
    return await finishAside(path, said, own);
  } catch (error) {
    // The file, or the lock: others went on with it.
    if (systemCode(error) === "ENOENT") throw error;
    const message = `${said} It could not be set aside (${systemCode(error) ?? "unknown"}): move it away.`;
    return new StoreError("store_corrupt", message, { cause: error });
  }
}

/** Clears up what a holder that was killed left in the folder; tells when that was a file on its way aside. */
export async function clearUp(path: string, own: string): Promise<StoreError | undefined> {
  const left = await readdir(own);
  for (const name of left) if (name !== "aside") await rm(join(own, name), { force: true });
  return left.includes("aside") ? finishAside(path, `${path} could not be read as a store.`, own) : undefined;
}

async function finishAside(path: string, said: string, own: string): Promise<StoreError> {
  const aside = join(own, "aside");
  await chmod(aside, 0o600);
  const start = `${path}.corrupt-${new Date().toISOString().replace(/[-:.]/g, "")}`;
  let to = start;
  for (let count = 2; (await lstat(to).catch(() => undefined)) !== undefined; count++)
    to = `${start}-${count}`;
  await rename(aside, to);
  await syncFolder(dirname(path));
  return new StoreError("store_corrupt", `${said} It was set aside as ${to}; the store starts anew, empty.`);
}

/** So that the rename itself outlives a power failure, where the system can do that. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r").catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}
