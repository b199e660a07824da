// Each earlier fix taken back, as far as its hunks still apply and the rest compiles: a test that
// is left must fail.
import { git, takeBack } from "./git.js";
import type { Trials } from "./mutants.js";
import { inTurn, partOf, testsFor } from "./trial.js";

interface Fix {
  readonly hash: string;
  readonly subject: string;
  readonly patch: string;
  readonly sources: readonly string[];
  readonly tests: readonly string[];
}

const nameOf = ({ hash, subject }: Fix): string => `${hash.slice(0, 8)} ${subject}`;

function fixesOf(repository: string, commit: string): Fix[] {
  const log = git(repository, "log", "--format=%H %s", "-E", "--grep=^fix", commit)
    .trim()
    .split("\n");
  return log.flatMap((line): Fix[] => {
    const hash = line.slice(0, 40);
    const changed = git(repository, "show", "--format=", "--name-only", hash).trim().split("\n");
    const sources = changed.filter((path) => /^src\/.*\.ts$/.test(path));
    if (sources.length === 0) return [];
    const patch = git(repository, "show", "--format=", hash, "--", ...sources);
    const tests = changed.filter((path) => /^test\/.*(?<!long)\.test\.ts$/.test(path));
    return [{ hash, subject: line.slice(41), patch, sources, tests }];
  });
}

export async function tryReversedFixes(
  { repository, commit, jobs, workers, isTried, onTried }: Trials,
  { count }: { count: number },
): Promise<void> {
  const fixes = fixesOf(repository, commit).slice(0, count);
  const left = fixes.filter((fix) => !isTried(nameOf(fix)));
  await inTurn(left, { repository, commit, jobs }, async (trial, fix) => {
    // Code that does not compile would fail every test.
    if (!takeBack(trial.folder, fix.patch) || !trial.compiles()) {
      git(trial.folder, "checkout", "--quiet", "--", ".");
      return;
    }
    // The tests that came with the fix are tried first: most are still there and notice it.
    const nearest = fix.tests.filter((path) => git(trial.folder, "ls-files", path) !== "");
    const folders = [...new Set(fix.sources.flatMap(testsFor))];
    const isNoticed =
      (nearest.length > 0 && (await trial.fails(nearest, workers))) ||
      (await trial.fails(folders, workers));
    git(trial.folder, "checkout", "--quiet", "--", ".");
    onTried({ part: partOf(fix.sources[0] ?? ""), name: nameOf(fix), isNoticed });
  });
}
