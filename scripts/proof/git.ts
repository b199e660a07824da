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

/** Takes back the hunks of a patch that still apply. Returns whether there were any. */
export function takeBack(folder: string, patch: string): boolean {
  const args = ["apply", "--reverse", "--recount", "--reject", "-C1", "--whitespace=nowarn"];
  spawnSync("git", args, { cwd: folder, input: patch });
  git(folder, "clean", "--force", "--quiet", "--", "*.rej");
  return git(folder, "status", "--porcelain", "--untracked-files=no") !== "";
}
