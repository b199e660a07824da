// Runs every check of the repository, each under its title, and ends with a summary: exit code 1 if
// one failed. `npm run check -- --only lint,test` runs some; `--skip test` runs all but some.
import { spawnSync } from "node:child_process";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

/** Scripts of package.json, the cheap ones first. The package check makes a build of its own. */
const CHECKS = [
  "lint",
  "check:documents",
  "check:generated",
  "check:published",
  "check:layers",
  "check:house",
  "check:patterns",
  "check:workflows",
  "check:bundles",
  "typecheck",
  "build",
  "check:docs",
  "check:api",
  "test",
  "test:long",
  "check:package",
];

/**
 * The checks that the flags leave, in their order.
 * @throws an Error that names an unknown check or flag
 */
export function chooseChecks(args: readonly string[]): readonly string[] {
  const options = { only: { type: "string" }, skip: { type: "string" } } as const;
  const { values } = parseArgs({ args: [...args], options });
  const only = values.only?.split(",") ?? CHECKS;
  const skip = values.skip?.split(",") ?? [];
  const unknown = [...only, ...skip].find((name) => !CHECKS.includes(name));
  if (unknown !== undefined)
    throw new Error(`There is no check "${unknown}". The checks are ${CHECKS.join(", ")}.`);
  return CHECKS.filter((name) => only.includes(name) && !skip.includes(name));
}

interface Result {
  readonly ok: boolean;
  readonly line: string;
}

function run(name: string): Result {
  console.log(`\n== ${name}`);
  const startedAt = performance.now();
  const { status, signal, error } = spawnSync("npm", ["run", "--silent", name], {
    stdio: "inherit",
  });
  if (error !== undefined) console.error(`npm did not start: ${error.message}`);
  if (signal !== null) console.error(`${name} was ended by ${signal}`);
  const ok = status === 0;
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const line = `${ok ? "ok    " : "FAILED"} ${name} (${seconds} s)`;
  console.log(line);
  return { ok, line };
}

function main(): number {
  let checks: readonly string[];
  try {
    checks = chooseChecks(process.argv.slice(2));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return 2;
  }
  const results = checks.map(run);
  console.log("\n== summary");
  for (const { line } of results) console.log(line);
  return results.every(({ ok }) => ok) ? 0 : 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) process.exitCode = main();
