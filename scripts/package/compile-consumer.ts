// Compiles programs that import every entry point where the package is installed, and reads its declarations strictly.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Manifest } from "./manifest.js";
import { runQuietly } from "./run-quietly.js";

/** Entry points that are for Node by nature; the others must type in a browser or a worker, without @types/node. */
const FOR_NODE = ["./emulator", "./generate"];

const REPOSITORY = join(import.meta.dirname, "../..");
const COMPILER = join(REPOSITORY, "node_modules/typescript-7/bin/tsc");

const OPTIONS = {
  target: "ES2022",
  module: "NodeNext",
  lib: ["ES2023", "DOM", "DOM.Iterable", "DOM.AsyncIterable"],
  strict: true,
  noEmit: true,
  skipLibCheck: false,
  typeRoots: [join(REPOSITORY, "node_modules/@types")],
};

/** What the compiler says, one line a fault. */
async function compile(folder: string, specifiers: readonly string[], types: readonly string[]) {
  const imports = specifiers.map((specifier, index) => `export * as entry${index} from "${specifier}";\n`);
  writeFileSync(join(folder, "consumer.mts"), imports.join(""));
  const project = { compilerOptions: { ...OPTIONS, types }, files: ["consumer.mts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(project));
  const { output } = await runQuietly(folder, process.execPath, [COMPILER, "--pretty", "false"]);
  return output.split("\n").filter((line) => /^\S/.test(line));
}

/** Faults in the declarations of dependencies are theirs: all others count. */
export async function compileConsumer(manifest: Manifest, folder: string): Promise<readonly string[]> {
  const own = `node_modules/${manifest.name}/`;
  const entries = Object.keys(manifest.exports).filter((entry) => !entry.endsWith(".json"));
  const programs = [
    { entries: entries.filter((entry) => !FOR_NODE.includes(entry)), types: [] },
    { entries: entries.filter((entry) => FOR_NODE.includes(entry)), types: ["node"] },
  ];
  const findings: string[] = [];
  for (const program of programs) {
    const specifiers = program.entries.map((entry) => entry.replace(/^\./, manifest.name));
    const faults = specifiers.length === 0 ? [] : await compile(folder, specifiers, program.types);
    findings.push(...faults.filter((line) => line.includes(own) || !line.includes("node_modules/")));
  }
  return findings.map((line) => `the types of the installed package: ${line}`);
}
