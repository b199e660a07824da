// Compiles programs that import every entry point where the package is installed, and reads its declarations strictly.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Manifest } from "./manifest.js";
import { runQuietly } from "./run-quietly.js";

/** Entry points that are for Node by nature; the others must type in a browser or a worker, without @types/node. */
const FOR_NODE = ["./emulator", "./generate"];
/** Entry points that are for browsers by nature; the others must type on a server, without the library of the DOM. */
const FOR_BROWSERS = ["./page"];

const REPOSITORY = join(import.meta.dirname, "../..");
const COMPILER = join(REPOSITORY, "node_modules/typescript-7/bin/tsc");

const OPTIONS = {
  target: "ES2022",
  module: "NodeNext",
  strict: true,
  noEmit: true,
  skipLibCheck: false,
  typeRoots: [join(REPOSITORY, "node_modules/@types")],
};

const BROWSER = ["DOM", "DOM.Iterable", "DOM.AsyncIterable"];

interface Program {
  readonly entries: readonly string[];
  /** Of TypeScript's own libraries, beside that of the language. */
  readonly lib: readonly string[];
  readonly types: readonly string[];
}

/** What the compiler says, one line a fault. */
async function compile(folder: string, specifiers: readonly string[], { lib, types }: Program) {
  const imports = specifiers.map((specifier, index) => `export * as entry${index} from "${specifier}";\n`);
  writeFileSync(join(folder, "consumer.mts"), imports.join(""));
  const project = {
    compilerOptions: { ...OPTIONS, lib: ["ES2023", ...lib], types },
    files: ["consumer.mts"],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(project));
  const { output } = await runQuietly(folder, process.execPath, [COMPILER, "--pretty", "false"]);
  return output.split("\n").filter((line) => /^\S/.test(line));
}

/** Faults in the declarations of dependencies are theirs: all others count. */
export async function compileConsumer(manifest: Manifest, folder: string): Promise<readonly string[]> {
  const own = `node_modules/${manifest.name}/`;
  const entries = Object.keys(manifest.exports).filter((entry) => !entry.endsWith(".json"));
  const programs: readonly Program[] = [
    { entries: entries.filter((entry) => !FOR_NODE.includes(entry)), lib: BROWSER, types: [] },
    { entries: entries.filter((entry) => FOR_NODE.includes(entry)), lib: BROWSER, types: ["node"] },
    // What a server has: a name of the DOM would be an error here, or `any` where declarations are not checked.
    { entries: entries.filter((entry) => !FOR_BROWSERS.includes(entry)), lib: [], types: ["node"] },
  ];
  const findings: string[] = [];
  for (const program of programs) {
    const specifiers = program.entries.map((entry) => entry.replace(/^\./, manifest.name));
    const faults = specifiers.length === 0 ? [] : await compile(folder, specifiers, program);
    findings.push(...faults.filter((line) => line.includes(own) || !line.includes("node_modules/")));
  }
  return findings.map((line) => `the types of the installed package: ${line}`);
}
