// Runs .ci/run with a stand-in for npm: whatever fails, the last line counts it and the exit code says so.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, expect, test } from "vitest";

/** `FAILS` names the scripts that end badly; `REPORT` is what vitest would have written. */
const NPM = `#!/usr/bin/env bash
echo "npm $*"
for word in "$@"; do
  case "$word" in --outputFile.json=*) [ -n "$REPORT" ] && echo "$REPORT" > "\${word#*=}" ;; esac
done
case " $FAILS " in *" $1 "* | *" \${2:-} "*) exit 1 ;; esac
exit 0
`;

const CASES = [
  { name: "all is well", fails: "nothing", passed: 7, failed: 0, last: "7 passed, 0 failed", exit: 0 },
  { name: "two tests fail", fails: "test", passed: 5, failed: 2, last: "5 passed, 2 failed", exit: 1 },
  {
    name: "a test file does not load",
    fails: "test",
    passed: 7,
    failed: 0,
    last: "7 passed, 1 failed",
    exit: 1,
  },
  {
    name: "a test is skipped",
    fails: "nothing",
    passed: 7,
    failed: 0,
    skipped: 1,
    last: "7 passed, 1 failed",
    exit: 1,
  },
  { name: "a check fails", fails: "check", passed: 7, failed: 0, last: "7 passed, 1 failed", exit: 1 },
  { name: "the demo fails", fails: "demo", passed: 7, failed: 0, last: "7 passed, 1 failed", exit: 1 },
  {
    name: "tests and the demo fail",
    fails: "test demo",
    passed: 5,
    failed: 2,
    last: "5 passed, 3 failed",
    exit: 1,
  },
  { name: "vitest writes no report", fails: "test", last: "0 passed, 1 failed", exit: 1 },
  { name: "the install fails", fails: "ci", passed: 7, failed: 0, last: "0 passed, 1 failed", exit: 1 },
];

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

test.each(CASES)("when $name, it ends in $last", ({ fails, passed, failed, skipped = 0, last, exit }) => {
  const folder = mkdtempSync(join(tmpdir(), "ci-run-"));
  folders.push(folder);
  cpSync(".ci", join(folder, ".ci"), { recursive: true });
  mkdirSync(join(folder, "bin"));
  mkdirSync(join(folder, "tmp"));
  writeFileSync(join(folder, "bin/npm"), NPM, { mode: 0o755 });
  // As if it were installed: nothing is fetched here.
  writeFileSync(join(folder, "bin/chromium"), "#!/bin/sh\n", { mode: 0o755 });

  const { stdout, status } = spawnSync("bash", [join(folder, ".ci/run")], {
    encoding: "utf8",
    env: {
      ...process.env,
      PATH: `${join(folder, "bin")}${delimiter}${process.env.PATH}`,
      TMPDIR: join(folder, "tmp"),
      FAILS: fails,
      REPORT:
        passed === undefined
          ? ""
          : JSON.stringify({ numPassedTests: passed, numFailedTests: failed, numPendingTests: skipped }),
    },
  });
  expect(stdout.trimEnd().split("\n").at(-1)).toBe(last);
  expect(status).toBe(exit);
});
