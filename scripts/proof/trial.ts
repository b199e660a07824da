// A copy of a commit in which sources are broken on purpose, and the tests that should notice it.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { git } from "./git.js";

/**
 * The folders of tests for each folder of sources, nearest first. It follows the table of
 * test/README.md.
 */
const testsOf: readonly (readonly [source: string, tests: string])[] = [
  ["src/auth/", "auth lifecycle people connect attacks situations"],
  ["src/http/", "client auth attacks lifecycle"],
  ["src/variants/", "variants connect"],
  ["src/client/", "client connect attacks situations"],
  ["src/json-schema/", "validate generate"],
  ["src/page/", "page backend"],
  ["src/backend/", "backend attacks"],
  ["src/opentelemetry/", "opentelemetry"],
  ["src/stores/", "stores people"],
  ["src/emulator/", "emulator witness openapi"],
  ["src/contract/", "contract"],
  ["src/survey/", "survey cli/survey"],
  ["src/doctor/", "cli/doctor survey"],
  ["src/cli/", "cli"],
  ["src/generate/", "generate"],
  ["src/", "connect people client options lifecycle validate"],
];

export function testsFor(source: string): readonly string[] {
  const folders = testsOf.find(([folder]) => source.startsWith(folder))?.[1] ?? "";
  return folders.split(" ").map((name) => `test/${name}`);
}

/** The folder of src/ that a figure is for. */
export function partOf(source: string): string {
  return source.split("/").length === 2 ? "src/*.ts" : source.split("/").slice(0, 2).join("/");
}

/** A test that hangs because of a broken source has noticed it too. */
const mostSeconds = 180;

export class Trial {
  readonly folder: string;
  readonly #repository: string;

  constructor(repository: string, commit: string) {
    this.#repository = repository;
    this.folder = join(mkdtempSync(join(tmpdir(), "proof-")), "tree");
    git(repository, "worktree", "add", "--detach", "--quiet", this.folder, commit);
    symlinkSync(join(repository, "node_modules"), join(this.folder, "node_modules"));
  }

  compiles(): boolean {
    const compiler = join(this.folder, "node_modules/typescript-7/bin/tsc");
    return spawnSync(process.execPath, [compiler, "-p", "."], { cwd: this.folder }).status === 0;
  }

  /** Runs the tests until the first fails. Resolves with whether one did. */
  async fails(tests: readonly string[], workers: number): Promise<boolean> {
    const there = tests.filter(
      (path) =>
        existsSync(join(this.folder, path)) || existsSync(join(this.folder, `${path}.test.ts`)),
    );
    const vitest = join(this.folder, "node_modules/vitest/vitest.mjs");
    const options = [
      "--project",
      "short",
      "--project",
      "isolated",
      "--bail",
      "1",
      "--maxWorkers",
      String(workers),
      "--reporter",
      "dot",
    ];
    const child = spawn(process.execPath, [vitest, "run", ...options, ...there], {
      cwd: this.folder,
      stdio: "ignore",
      env: { ...process.env, CI: "true" },
      detached: true,
    });
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      process.kill(-(child.pid ?? 0), "SIGKILL");
    }, mostSeconds * 1000);
    const code = await new Promise((resolve) => child.on("close", resolve));
    clearTimeout(timer);
    return isLate || code !== 0;
  }

  close(): void {
    git(this.#repository, "worktree", "remove", "--force", this.folder);
    rmSync(join(this.folder, ".."), { recursive: true, force: true });
  }
}

/** Takes the trials of a list with as many workers as asked for, each with a copy of the commit. */
export async function inTurn<T>(
  rows: readonly T[],
  { repository, commit, jobs }: { repository: string; commit: string; jobs: number },
  run: (trial: Trial, row: T) => Promise<void>,
): Promise<void> {
  const left = [...rows];
  const work = async () => {
    const trial = new Trial(repository, commit);
    try {
      for (let row = left.shift(); row !== undefined; row = left.shift()) await run(trial, row);
    } finally {
      trial.close();
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
}
