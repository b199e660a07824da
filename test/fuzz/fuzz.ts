// Sends inputs to parsers, and checks what must hold for each: a value or an error of ours, in
// time, with bounded memory.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { superLinear } from "../growth/growth.js";
import { refusedOrDone } from "../growth/refused.js";
import { inputOf } from "./inputs.js";
import { isRefusal, type Parser } from "./parsers.js";

/**
 * Processor time of one input. Inputs have at most 100,000 characters, and most of them under a
 * thousand.
 */
const LONGEST_MS = 2_000;
/**
 * What a parser may hold beyond the garbage, after all of its inputs; and by how much the heap may
 * grow meanwhile.
 */
const [MOST_KEPT, MOST_HEAP] = [32 * 2 ** 20, 1_024 * 2 ** 20];
const PIECE = 5_000;
/** The inputs that took longest are grown to this many characters, by repeating them. */
const GROWN = 30_000;

export interface Figures {
  readonly name: string;
  readonly inputs: number;
  /** By code; `done` for a value. */
  readonly outcomes: Readonly<Record<string, number>>;
  readonly perSecond: number;
  /** The greatest heap of the samples, and what was kept after the last input, in MiB. */
  readonly heapMiB: number;
  readonly keptMiB: number;
  readonly slowestMs: number;
  /** What broke, with the seed and the shrunk input. */
  readonly broken: readonly string[];
}

export interface FuzzOptions {
  readonly seed: number;
  /** Checks the growth of the slowest input, which takes some seconds for some parsers. */
  readonly growth?: boolean;
  /** Called before each input. */
  readonly beat?: (name: string, seed: number) => void;
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
const mebibytes = (bytes: number) => Math.round((bytes / 2 ** 20) * 10) / 10;

/** The inputs of each parser, by its share. */
export function shareOut(parsers: readonly Parser[], inputs: number): Map<Parser, number> {
  const all = parsers.reduce((sum, { share }) => sum + share, 0);
  return new Map(parsers.map((parser) => [parser, Math.ceil((inputs * parser.share) / all)]));
}

/** What breaks of so many inputs, over all parsers, in sentences. */
export async function brokenBy(
  parsers: readonly Parser[],
  inputs: number,
): Promise<readonly string[]> {
  const broken: string[] = [];
  for (const [parser, share] of shareOut(parsers, inputs)) {
    const figures = await fuzz(parser, share, { seed: 1 });
    for (const one of figures.broken) broken.push(`${parser.name}: ${one}`);
  }
  return broken;
}

export async function fuzz(parser: Parser, inputs: number, options: FuzzOptions): Promise<Figures> {
  // A page's code may be any word, `constructor` too.
  const outcomes: Record<string, number> = Object.create(null);
  const broken: string[] = [];
  let slowest = { microseconds: 0, text: "" };
  let heap = 0;
  collect();
  const before = process.memoryUsage().heapUsed;
  const startedAt = performance.now();

  const check = async (text: string) => {
    options.beat?.(parser.name, options.seed);
    const start = process.cpuUsage();
    const code = await outcomeOf(parser, text);
    const { user, system } = process.cpuUsage(start);
    outcomes[code] = (outcomes[code] ?? 0) + 1;
    if (user + system > slowest.microseconds) slowest = { microseconds: user + system, text };
    if (user + system > LONGEST_MS * 1_000)
      throw new Error(`It took ${(user + system) / 1_000} ms.`);
  };
  let done = 0;
  for (let seed = options.seed; done < inputs && broken.length === 0; seed++) {
    const numRuns = Math.min(PIECE, inputs - done);
    // A seed of its own for each piece, so that a failure is found again in moments.
    const details = await fc.check(fc.asyncProperty(inputOf(parser.examples), check), {
      seed,
      numRuns,
    });
    done += details.numRuns;
    heap = Math.max(heap, process.memoryUsage().heapUsed);
    if (details.failed)
      broken.push(
        `seed ${seed}, path ${details.counterexamplePath}, input ${JSON.stringify(details.counterexample?.[0])}: ${
          (details.errorInstance as Error | undefined)?.stack ?? details.errorInstance
        }`,
      );
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  collect();
  const kept = process.memoryUsage().heapUsed - before;
  if (kept > MOST_KEPT) broken.push(`it keeps ${mebibytes(kept)} MiB after its inputs`);
  if (heap - before > MOST_HEAP) broken.push(`the heap grew by ${mebibytes(heap - before)} MiB`);
  if (options.growth === true && slowest.text !== "")
    broken.push(...(await steepest(parser, slowest.text)));
  return {
    name: parser.name,
    inputs: done,
    outcomes,
    broken,
    perSecond: Math.round(done / seconds),
    heapMiB: mebibytes(heap),
    keptMiB: mebibytes(kept),
    slowestMs: slowest.microseconds / 1_000,
  };
}

/** Returns `done` or the code of the error. Rejects with any other error. */
export async function outcomeOf({ parse }: Parser, text: string, way?: number): Promise<string> {
  const said = await refusedOrDone(async () => {
    try {
      await parse(text, way);
    } catch (error) {
      if (!isRefusal(error)) throw error;
    }
  })();
  const code = /^\S*/.exec(said)?.[0] ?? "";
  if (!/^[a-z_]{1,60}$/.test(code)) throw new Error(`An error has the code "${code}".`);
  return code;
}

async function steepest(parser: Parser, text: string): Promise<readonly string[]> {
  const entry = {
    name: parser.name,
    most: GROWN,
    reaches: /(?:)/,
    prepare: (size: number) => {
      const grown = text.repeat(Math.ceil(size / text.length)).slice(0, size);
      return () => outcomeOf(parser, grown);
    },
  };
  const found = await superLinear([entry]);
  return found.map(
    (name) => `${name} takes more than linear time for ${JSON.stringify(text.slice(0, 500))}`,
  );
}
