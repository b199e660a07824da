// A folder for the files of one test, which goes away with the test, and what a store leaves in it.
import { chmodSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "bivariant-store-"));
  onTestFinished(() => {
    chmodSync(folder, 0o700);
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

/** Expects that no lock of the store at this path is held, and that nothing of one is left. */
export function expectFreeLocks(path: string): void {
  const files = readdirSync(`${path}.locks`, { recursive: true }).sort();
  expect(files).toEqual(["write", join("write", "free")]);
}
