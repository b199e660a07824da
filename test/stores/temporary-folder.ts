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

/** The paths of the files of all entries. */
export function entryFiles(path: string): string[] {
  const entries = join(path, "entries");
  return readdirSync(entries).map((name) => join(entries, name));
}

/** Expects that no lock of the store at this path is held, and that no unfinished write is left. */
export function expectNothingLeft(path: string): void {
  expect(readdirSync(join(path, "locks"))).toEqual(["spare"]);
}
