// What the tests notice: `npm run proof -- mutants --count 300 --seed 1` breaks sources at random,
// and `npm run proof -- fixes` takes earlier fixes back. It prints what no test noticed, and the
// share by folder.
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { git } from "./git.js";
import { type Trials, tryMutants } from "./mutants.js";
import { tryReversedFixes } from "./reversed-fixes.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    at: { type: "string", default: "HEAD" },
    count: { type: "string", default: "1500" },
    seed: { type: "string", default: "1" },
    folder: { type: "string", default: "src" },
    jobs: { type: "string", default: "2" },
    out: { type: "string" },
  },
});
const repository = fileURLToPath(new URL("../..", import.meta.url));
const parts = new Map<string, { caught: number; missed: string[] }>();
let done = 0;
const trials: Trials = {
  repository,
  commit: git(repository, "rev-parse", values.at).trim(),
  jobs: Number(values.jobs),
  workers: 1,
  onRow(part, isCaught, what) {
    const of = parts.get(part) ?? { caught: 0, missed: [] };
    parts.set(part, of);
    if (isCaught) of.caught++;
    else of.missed.push(what);
    console.error(`${++done} ${isCaught ? "noticed" : "NOT NOTICED"} ${what}`);
    if (values.out)
      writeFileSync(values.out, JSON.stringify(Object.fromEntries(parts), undefined, 2));
  },
};
const count = Number(values.count);
if (positionals[0] === "mutants")
  await tryMutants(trials, { count, seed: Number(values.seed), folder: values.folder });
else if (positionals[0] === "fixes") await tryReversedFixes(trials, { count });
else throw new Error("Say what to try: mutants or fixes.");

const rows = [...parts].sort(([a], [b]) => a.localeCompare(b));
const total = { caught: 0, all: 0 };
for (const [part, { caught, missed }] of rows) {
  const all = caught + missed.length;
  total.caught += caught;
  total.all += all;
  console.log(`${part.padEnd(20)} ${caught} of ${all} (${Math.round((100 * caught) / all)} %)`);
  for (const what of missed) console.log(`    not noticed: ${what}`);
}
console.log(
  `all                  ${total.caught} of ${total.all} ` +
    `(${((100 * total.caught) / total.all).toFixed(1)} %)`,
);
