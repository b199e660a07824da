// Compares the cost of this package with what one would use without it.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { bundleEntries } from "../build.js";
import type { Build, Row } from "./measure.js";
import { asText, currentSetting, reportOn } from "./report.js";
import { ROWS } from "./rows.js";
import { runRows } from "./run.js";

const USAGE = `Usage: npm run bench -- [--only <row>,<row>] [--json]

Exits with 1 when a row failed. A missed aim does not count as a failure.
Rows: ${ROWS.map(({ name }) => name).join(", ")}`;

interface Chosen {
  readonly rows: readonly Row[];
  readonly isJson: boolean;
}

/**
 * Returns what the flags choose, or undefined for `--help`.
 * @throws an Error that names an unknown row or flag
 */
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
  if (unknown !== undefined) throw new Error(`The benchmark has no row "${unknown}".`);
  const rows = ROWS.filter(({ name }) => names?.includes(name) ?? true);
  return { rows, isJson: values.json };
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
  const { rows, isJson } = chosen;
  const setting = currentSetting();
  const build = await buildPackage(fileURLToPath(new URL("../..", import.meta.url)));
  const showsProgress = process.stderr.isTTY;
  const measured = await runRows(rows, build, ({ name }, index) => {
    if (showsProgress) process.stderr.write(`\r\x1b[K${index + 1} of ${rows.length}: ${name}`);
  });
  if (showsProgress) process.stderr.write("\r\x1b[K");
  const report = reportOn(setting, measured);
  console.log(isJson ? JSON.stringify(report, null, 2) : asText(report));
  return measured.some(({ verdict }) => verdict === "failed") ? 1 : 0;
}

/**
 * Compiles the package as npm packs it, since tsx would measure its own wrappers too. The folder is
 * below node_modules, where the dependencies resolve; it is removed when this process ends.
 */
async function buildPackage(root: string): Promise<Build> {
  const cache = join(root, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "bench-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130));
  await bundleEntries(root, join(folder, "dist"));
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const { name, type, sideEffects, imports, exports } = manifest;
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name, type, sideEffects, imports, exports }),
  );
  return { folder, main: pathToFileURL(join(folder, "dist/node/src/index.js")).href };
}

process.exitCode = await main();
