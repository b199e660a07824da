// Runs every check of the repository, each under its title, and ends with a summary: exit code 1 if
// one failed. `npm run check -- --only lint,test` runs some; `--skip test` runs all but some. The
// checks that only read run side by side, one for each core.
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

/** Scripts of package.json that change nothing another one reads, the long ones first. */
const READING = [
  "check:patterns",
  "check:published",
  "typecheck",
  "lint",
  "check:documents",
  "check:generated",
  "check:layers",
  "check:house",
  "check:workflows",
  "check:bundles",
];
/** Those that need the build, or all cores. The package check makes a build of its own. */
const IN_TURN = ["build", "check:docs", "check:api", "test", "test:long", "check:package"];
const CHECKS = [...READING, ...IN_TURN];

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

/** What a check says is shown at once if it runs alone, and else when it ends. */
async function run(name: string, isAlone: boolean): Promise<Result> {
  console.log(isAlone ? `\n== ${name}` : `-- ${name} begins`);
  const startedAt = performance.now();
  const stdio = isAlone ? "inherit" : "pipe";
  const child = spawn("npm", ["run", "--silent", name], { stdio: ["ignore", stdio, stdio] });
  const ended = new Promise<string | number | null>((resolve) => {
    child.once("error", ({ message }) => resolve(`npm did not start: ${message}`));
    child.once("close", (status, signal) =>
      resolve(signal === null ? status : `${name} was ended by ${signal}`),
    );
  });
  const outputs = [child.stdout, child.stderr].flatMap((stream) => (stream ? [text(stream)] : []));
  const [end, ...output] = await Promise.all([ended, ...outputs]);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const line = `${end === 0 ? "ok    " : "FAILED"} ${name} (${seconds} s)`;
  const reason = typeof end === "string" ? `${end}\n` : "";
  console.log(`${isAlone ? "" : `\n== ${name}\n`}${output.join("")}${reason}${line}`);
  return { ok: end === 0, line };
}

/** Runs checks, as many at a time as there are `lanes`. Results are in the order of the names. */
async function runAll(names: readonly string[], lanes: number): Promise<readonly Result[]> {
  const results: Result[] = [];
  const waiting = names.entries();
  const lane = async () => {
    for (const [at, name] of waiting) results[at] = await run(name, lanes === 1);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return results;
}

async function main(): Promise<number> {
  let checks: readonly string[];
  try {
    checks = chooseChecks(process.argv.slice(2));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return 2;
  }
  const chosen = (all: readonly string[]) => checks.filter((name) => all.includes(name));
  const results = [
    ...(await runAll(chosen(READING), availableParallelism())),
    ...(await runAll(chosen(IN_TURN), 1)),
  ];
  console.log("\n== summary");
  for (const { line } of results) console.log(line);
  return results.every(({ ok }) => ok) ? 0 : 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) process.exitCode = await main();
