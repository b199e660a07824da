// `npm run fuzz -- --inputs 1000000 --seed 1` sends inputs to every parser of what comes from the
// wire or a file.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { Command } from "commander";
import { type Figures, fuzz, shareOut } from "./fuzz.js";
import { parsersIn } from "./parsers.js";

const description =
  "Sends changed, cut, nested and arbitrary inputs to every parser of what comes from the wire " +
  "or a file, and prints what " +
  "came of them. Exits with 1 if an input was answered by anything but a value or an error of " +
  "the package, took too long, or kept memory.";
const { inputs, seed, only, json } = new Command()
  .description(description)
  .option("--inputs <n>", "how many, over all parsers by their shares", Number, 1_000_000)
  .option("--seed <n>", "of the first piece of each parser; the others follow it", Number, 1)
  .option("--only <text>", "the parsers whose name has this text; they keep their shares")
  .option("--json", "print one line of JSON for each parser")
  .parse()
  .opts<{ inputs: number; seed: number; only?: string; json?: true }>();

/** A parser that never returns cannot be stopped from its own thread. */
const beats = new Int32Array(new SharedArrayBuffer(4));
const watching = `
const { workerData: beats } = require("node:worker_threads");
let last = -1;
setInterval(() => {
  const now = Atomics.load(beats, 0);
  if (now === last) {
    require("node:fs").writeSync(2, "An input was not read within 60 s: input " + now + " of the parser that was begun last.\\n");
    process.kill(process.pid, "SIGKILL");
  }
  last = now;
}, 60_000);`;
new Worker(watching, { eval: true, workerData: beats }).unref();

const folder = mkdtempSync(join(tmpdir(), "bivariant-fuzz-"));
const all: Figures[] = [];
try {
  const chosen = [...shareOut(parsersIn(folder), inputs)].filter(([{ name }]) =>
    name.includes(only ?? ""),
  );
  for (const [parser, count] of chosen) {
    if (!json) process.stderr.write(`${parser.name} ...\n`);
    Atomics.store(beats, 0, 0);
    const figures = await fuzz(parser, count, {
      seed,
      growth: true,
      beat: () => Atomics.add(beats, 0, 1),
    });
    all.push(figures);
    console.log(json ? JSON.stringify(figures) : rowOf(figures));
    for (const broken of figures.broken) console.error(`BROKEN ${parser.name}: ${broken}`);
  }
} finally {
  rmSync(folder, { recursive: true });
}
const total = all.reduce((sum, figures) => sum + figures.inputs, 0);
const broken = all.filter((figures) => figures.broken.length > 0);
if (!json)
  console.log(
    `${total} inputs over ${all.length} parsers, ${broken.length} with a broken property`,
  );
process.exit(broken.length > 0 ? 1 : 0);

function rowOf({
  name,
  inputs: count,
  outcomes,
  perSecond,
  heapMiB,
  keptMiB,
  slowestMs,
}: Figures): string {
  const codes = Object.entries(outcomes).sort(([, one], [, other]) => other - one);
  const shown = codes.map(([code, times]) => `${code} ${times}`).join(", ");
  return `| ${name} | ${count} | ${shown} | ${perSecond} | ${heapMiB} | ${keptMiB} | ${slowestMs} |`;
}
