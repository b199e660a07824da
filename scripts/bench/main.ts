// Compares the cost of this package with what one would use without it. `--json`; `--only warm-call,bundle-size`.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { bundleEntries } from "../build.js";
import { type Build, type Figures, NotMeasured, type Row } from "./measure.js";
import { bundleSize } from "./rows/bundle-size.js";
import { emulatorRate } from "./rows/emulator-rate.js";
import { emulatorStart } from "./rows/emulator-start.js";
import { firstTokens } from "./rows/first-tokens.js";
import { callTypeCheck, generateMemory, generateTime } from "./rows/generator.js";
import { importTime } from "./rows/import-time.js";
import { renewalP99 } from "./rows/renewal-p99.js";
import { fileStoreFlat, fileStoreSet } from "./rows/stores.js";
import { tenantMemory } from "./rows/tenant-memory.js";
import { warmCall, warmCallPeer, warmToken } from "./rows/warm.js";
import { warmCallOverRedis } from "./rows/warm-over-redis.js";

const ROWS: readonly Row[] = [
  warmCall,
  warmCallPeer,
  warmToken,
  warmCallOverRedis,
  renewalP99,
  firstTokens,
  tenantMemory,
  importTime,
  bundleSize,
  emulatorRate,
  emulatorStart,
  generateTime,
  generateMemory,
  callTypeCheck,
  fileStoreSet,
  fileStoreFlat,
];

const USAGE = `Usage: npm run bench -- [--only <row>,<row>] [--json]

Rows: ${ROWS.map(({ name }) => name).join(", ")}`;

interface Chosen {
  readonly rows: readonly Row[];
  readonly isJson: boolean;
}

/** The rows that the flags choose; undefined for `--help`. @throws an Error that names an unknown row or flag */
function choose(args: readonly string[]): Chosen | undefined {
  const options = {
    json: { type: "boolean", default: false },
    only: { type: "string" },
    help: { type: "boolean" },
  } as const;
  const { values } = parseArgs({ args: [...args], options });
  if (values.help) return undefined;
  const names = values.only?.split(",");
  const unknown = names?.find((name) => !ROWS.some((row) => row.name === name));
  if (unknown !== undefined) throw new Error(`There is no row "${unknown}".`);
  return { rows: ROWS.filter(({ name }) => names?.includes(name) ?? true), isJson: values.json };
}

async function main(): Promise<number> {
  let chosen: Chosen | undefined;
  try {
    chosen = choose(process.argv.slice(2));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
    return 2;
  }
  if (chosen === undefined) {
    console.log(USAGE);
    return 0;
  }
  const build = await buildPackage(fileURLToPath(new URL("../..", import.meta.url)));
  try {
    await run(build, chosen);
  } finally {
    rmSync(build.folder, { recursive: true, force: true });
  }
  return 0;
}

/**
 * Compiles the package as npm packs it, since tsx would measure its own wrappers too. The folder is below node_modules,
 * where the dependencies resolve; the caller removes it.
 */
async function buildPackage(root: string): Promise<Build> {
  const cache = join(root, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "bench-"));
  await bundleEntries(root, join(folder, "dist"));
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const { name, type, sideEffects, exports } = manifest;
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name, type, sideEffects, exports }));
  return { folder, main: pathToFileURL(join(folder, "dist/node/src/index.js")).href };
}

async function run(build: Build, { rows, isJson }: Chosen): Promise<void> {
  const machine = { node: process.version, cpu: cpus()[0]?.model ?? "unknown", cores: cpus().length };
  if (!isJson) console.log(`Node ${machine.node}, ${machine.cores} × ${machine.cpu}\n`);
  const results: object[] = [];
  for (const row of rows) {
    const figures = await row.measure(build).catch((error: unknown) => {
      if (error instanceof NotMeasured) return error.message;
      throw error;
    });
    const { name, title, unit, aim } = row;
    const isMeasured = typeof figures !== "string";
    const outcome = isMeasured ? { ...figures, met: figures.value <= aim } : { notMeasured: figures };
    results.push({ name, title, unit, aim, ...outcome });
    if (!isJson) console.log(isMeasured ? describe(row, figures) : `${title}\n  not measured: ${figures}\n`);
  }
  if (isJson) console.log(JSON.stringify({ ...machine, rows: results }, null, 2));
}

function describe({ title, unit, aim }: Row, { value, low, high, detail }: Figures): string {
  const number = (figure: number): string => figure.toFixed(2);
  const spread = low === high ? "" : ` (${number(low)} to ${number(high)})`;
  const verdict = value <= aim ? "met" : "missed";
  return `${title}\n  ${number(value)} ${unit}${spread}; aim ${aim}: ${verdict}\n  ${detail}\n`;
}

process.exitCode = await main();
