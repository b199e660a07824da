// Installs a tarball in an empty folder and does what its first user does: import, compile, run.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compileConsumer } from "./compile-consumer.js";
import type { Manifest } from "./manifest.js";
import { type Outcome, runQuietly } from "./run-quietly.js";

/** A process of its own for each, so that none finds a module that another one loaded. */
const COUNT_EXPORTS = `
const type = process.argv[1].endsWith(".json") ? { with: { type: "json" } } : undefined;
console.log(Object.keys(await import(process.argv[1], type)).length);
`;

async function importEntry(folder: string, specifier: string): Promise<readonly string[]> {
  const args = ["--input-type=module", "--eval", COUNT_EXPORTS, specifier];
  const { ok, stdout, output } = await runQuietly(folder, process.execPath, args);
  if (!ok) return [`import "${specifier}" fails: ${output}`];
  return Number(stdout) > 0 ? [] : [`import "${specifier}" exports nothing`];
}

async function runCommand(folder: string, command: string): Promise<readonly string[]> {
  const { ok, stdout, output }: Outcome = await runQuietly(folder, "npx", ["--no", command, "--", "--help"]);
  if (!ok) return [`npx ${command} --help fails: ${output}`];
  return stdout.includes(command) ? [] : [`npx ${command} --help does not say what ${command} is`];
}

export async function tryInstalled(
  manifest: Manifest,
  folder: string,
  tarball: string,
): Promise<readonly string[]> {
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), `{ "private": true }\n`);
  const install = ["install", "--no-audit", "--no-fund", "--loglevel=error", tarball];
  const { ok, output } = await runQuietly(folder, "npm", install);
  if (!ok) return [`npm install of the tarball fails: ${output}`];

  const findings: string[] = [];
  for (const entry of Object.keys(manifest.exports)) {
    findings.push(...(await importEntry(folder, entry.replace(/^\./, manifest.name))));
  }
  for (const command of Object.keys(manifest.bin ?? {}))
    findings.push(...(await runCommand(folder, command)));
  return findings.length > 0 ? findings : await compileConsumer(manifest, folder);
}
