import { spawnSync } from "node:child_process";

/** @throws an error with what git wrote */
export function git(folder: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync("git", args, {
    cwd: folder,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  if (status !== 0) throw new Error(`git ${args[0]}: ${stderr}`);
  return stdout;
}

/** Whether a patch could be applied. It changes the folder only then. */
export function applies(folder: string, patch: string): boolean {
  const options = { cwd: folder, input: patch };
  return spawnSync("git", ["apply", "--reverse", "--recount", "-C1"], options).status === 0;
}
