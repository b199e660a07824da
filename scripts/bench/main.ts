// Measures what this package costs beside what one would use without it. `--json`; `--only warm-call,bundle-size`.
import { rmSync } from "node:fs";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { buildPackage } from "./build-package.js";
import type { Build, Figures, Row } from "./row.js";
import { bundleSize } from "./rows/bundle-size.js";
import { emulatorRate } from "./rows/emulator-rate.js";
import { emulatorStart } from "./rows/emulator-start.js";
import { firstTokens } from "./rows/first-tokens.js";
import { importTime } from "./rows/import-time.js";
import { warmCall } from "./rows/warm-call.js";
import { warmCallPeer } from "./rows/warm-call-peer.js";
import { warmToken } from "./rows/warm-token.js";

const ROWS: readonly Row[] = [
  warmCall,
  warmCallPeer,
  warmToken,
  firstTokens,
  importTime,
  bundleSize,
  emulatorRate,
  emulatorStart,
];

const { values } = parseArgs({ options: { json: { type: "boolean" }, only: { type: "string" } } });
const names = values.only?.split(",") ?? ROWS.map(({ name }) => name);
const unknown = names.find((name) => !ROWS.some((row) => row.name === name));

if (unknown === undefined) {
  const build = await buildPackage(fileURLToPath(new URL("../..", import.meta.url)));
  try {
    await run(build);
  } finally {
    rmSync(build.folder, { recursive: true, force: true });
  }
} else {
  console.error(`there is no row "${unknown}"; there are ${ROWS.map(({ name }) => name).join(", ")}`);
  process.exitCode = 2;
}

async function run(build: Build): Promise<void> {
  const machine = { node: process.version, cpu: cpus()[0]?.model ?? "unknown", cores: cpus().length };
  if (!values.json) console.log(`Node ${machine.node}, ${machine.cores} × ${machine.cpu}\n`);
  const results: object[] = [];
  for (const row of ROWS.filter(({ name }) => names.includes(name))) {
    const figures = await row.measure(build);
    const { name, title, unit, aim } = row;
    results.push({ name, title, unit, aim, ...figures, met: figures.value <= aim });
    if (!values.json) console.log(inWords(row, figures));
  }
  if (values.json) console.log(JSON.stringify({ ...machine, rows: results }, null, 2));
}

function inWords({ title, unit, aim }: Row, { value, low, high, detail }: Figures): string {
  const number = (figure: number): string => figure.toFixed(2);
  const spread = low === high ? "" : ` (${number(low)} to ${number(high)})`;
  const verdict = value <= aim ? "met" : "missed";
  return `${title}\n  ${number(value)} ${unit}${spread}; aim ${aim}: ${verdict}\n  ${detail}\n`;
}
