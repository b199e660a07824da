// Runs every check of the repository, each under its title, and sums up: exit 1 if one failed.
// `npm run check -- --only lint,test` runs some; `--skip test` runs all but some.
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { describeResult, paint, runStep } from "./run-step.js";

/** Scripts of package.json, the cheap ones first; the package check needs a build and makes its own. */
const CHECKS = [
  "lint",
  "check:documents",
  "check:generated",
  "check:layers",
  "check:bundles",
  "typecheck",
  "build",
  "test",
  "check:package",
];

/** The checks that the flags leave, in their order. @throws an Error that names an unknown check or flag. */
export function chooseChecks(args: readonly string[]): readonly string[] {
  const options = { only: { type: "string" }, skip: { type: "string" } } as const;
  const { values } = parseArgs({ args: [...args], options });
  const only = values.only?.split(",") ?? CHECKS;
  const skip = values.skip?.split(",") ?? [];
  const unknown = [...only, ...skip].find((name) => !CHECKS.includes(name));
  if (unknown !== undefined)
    throw new Error(`there is no check "${unknown}"; there are ${CHECKS.join(", ")}`);
  return CHECKS.filter((name) => only.includes(name) && !skip.includes(name));
}

function main(): number {
  let checks: readonly string[];
  try {
    checks = chooseChecks(process.argv.slice(2));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return 2;
  }
  const results = checks.map((name) =>
    runStep({ title: name, command: "npm", args: ["run", "--silent", name] }),
  );
  console.log(`\n${paint("bold", "== summary")}`);
  for (const result of results) console.log(describeResult(result));
  return results.every(({ ok }) => ok) ? 0 : 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) process.exitCode = main();
