// The calls with which a file store changes the file system, replaced for one test.
import fs, { type PathLike } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { onTestFinished, vi } from "vitest";

const changing = [
  "mkdirSync",
  "openSync",
  "renameSync",
  "rmSync",
  "rmdirSync",
  "writeFileSync",
] as const;

/**
 * Runs `before` before each call that may change something, also of modules that have imported it.
 * The calls that it makes itself run as they are. Returns a function that ends this.
 */
export function beforeCalls(
  before: (call: { name: (typeof changing)[number]; at: PathLike }) => void,
): () => void {
  let isInside = false;
  for (const name of changing) {
    const real = fs[name] as (...args: unknown[]) => unknown;
    vi.spyOn(fs, name).mockImplementation(((...args: unknown[]) => {
      if (!isInside && !(name === "openSync" && Number.isInteger(args[1]))) {
        isInside = true;
        try {
          before({ name, at: args[0] as PathLike });
        } finally {
          isInside = false;
        }
      }
      return real(...args);
    }) as never);
  }
  syncBuiltinESMExports();
  const end = () => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  };
  onTestFinished(end);
  return end;
}
