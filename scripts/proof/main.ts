// `npm run proof -- --help` lists what the command can do.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Argument, Command, InvalidArgumentError } from "commander";
import { git } from "./git.js";
import { type Trials, type Tried, tryMutants } from "./mutants.js";
import { tryReversedFixes } from "./reversed-fixes.js";

const description =
  "Measures what the tests notice: breaks a copy of a commit, and runs the tests of the folder " +
  "until one fails. Prints what no test noticed, and the share by folder.";

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError("Pass a whole number from 1.");
  return Number(text);
}

const command = new Command("npm run proof --")
  .description(description)
  .addArgument(
    new Argument("<what>", "small faults drawn by the seed, or earlier fixes taken back").choices([
      "mutants",
      "fixes",
    ]),
  )
  .option("--at <commit>", "the commit that is broken", "HEAD")
  .option("--count <n>", "how many at most; a mutant takes some 10 s of a core", wholeNumber, 1500)
  .option("--seed <n>", "of the mutants", wholeNumber, 1)
  .option("--folder <path>", "where mutants are made", "src")
  .option("--jobs <n>", "how many at a time, each in a copy of its own", wholeNumber, 2)
  .option("--state <file>", "goes on where the run that wrote this file was stopped")
  .parse();
const options = command.opts<{
  at: string;
  count: number;
  seed: number;
  folder: string;
  jobs: number;
  state?: string;
}>();
const { count, seed, folder, jobs, state } = options;
const what = command.processedArgs[0] as "mutants" | "fixes";
const repository = fileURLToPath(new URL("../..", import.meta.url));
const commit = git(repository, "rev-parse", options.at).trim();

/** What a run is about, and what it has tried. */
interface Progress {
  readonly about: string;
  readonly tried: Tried[];
}

const about = [what, commit, ...(what === "mutants" ? [seed, folder] : [])].join(" ");
const progress: Progress =
  state !== undefined && existsSync(state)
    ? JSON.parse(readFileSync(state, "utf8"))
    : { about, tried: [] };
if (progress.about !== about)
  command.error(`error: ${state} is of "${progress.about}". Pass the same, or another file.`);
const { tried } = progress;
const trials: Trials = {
  repository,
  commit,
  jobs,
  workers: 1,
  isTried: (name) => tried.some((one) => one.name === name),
  onTried(one) {
    tried.push(one);
    console.error(`${tried.length} ${one.isNoticed ? "noticed" : "NOT NOTICED"} ${one.name}`);
    if (state === undefined) return;
    writeFileSync(`${state}.new`, JSON.stringify(progress));
    renameSync(`${state}.new`, state);
  },
};
if (what === "mutants") await tryMutants(trials, { count, seed, folder });
else await tryReversedFixes(trials, { count });

const share = (of: readonly Tried[]) => {
  const noticed = of.filter(({ isNoticed }) => isNoticed).length;
  return `${noticed} of ${of.length} (${((100 * noticed) / of.length).toFixed(1)} %)`;
};
for (const part of [...new Set(tried.map((one) => one.part))].sort()) {
  const ofPart = tried.filter((one) => one.part === part);
  console.log(`${part.padEnd(20)} ${share(ofPart)}`);
  for (const { isNoticed, name } of ofPart) if (!isNoticed) console.log(`    not noticed: ${name}`);
}
if (tried.length > 0) console.log(`${"all".padEnd(20)} ${share(tried)}`);
