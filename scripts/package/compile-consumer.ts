// Compiles a program that imports every entry point where the package is installed, and reads its declarations strictly.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Manifest } from "./manifest.js";
import { runQuietly } from "./run-quietly.js";

/** Entry points that are for Node by nature; the others must type in a browser or a worker, without @types/node. */
const FOR_NODE = ["./emulator", "./generate"];

const REPOSITORY = join(import.meta.dirname, "../..");
const COMPILER = join(REPOSITORY, "node_modules/typescript-7/bin/tsc");

async function compile(
  folder: string,
  name: string,
  specifiers: readonly string[],
  types: readonly string[],
) {
  const imports = specifiers.map((specifier, index) => `export * as entry${index} from "${specifier}";\n`);
  writeFileSync(join(folder, `${name}.mts`), imports.join(""));
  const compilerOptions = {
    ...{ target: "ES2022", module: "NodeNext", strict: true, noEmit: true, skipLibCheck: false },
    ...{ lib: ["ES2023", "DOM", "DOM.Iterable", "DOM.AsyncIterable"] },
    ...{ typeRoots: [join(REPOSITORY, "node_modules/@types")], types },
  };
  const project = join(folder, `${name}.json`);
  writeFileSync(project, JSON.stringify({ compilerOptions, files: [`${name}.mts`] }));
  const { output } = await runQuietly(folder, process.execPath, [
    COMPILER,
    "--project",
    project,
    "--pretty",
    "false",
  ]);
  return output.split("\n");
}

/** Faults in the declarations of dependencies are theirs: only those of the package and of the program count. */
export async function compileConsumer(manifest: Manifest, folder: string): Promise<readonly string[]> {
  const entries = Object.keys(manifest.exports).filter((entry) => !entry.endsWith(".json"));
  const specifiers = (wanted: readonly string[]) =>
    wanted.map((entry) => entry.replace(/^\./, manifest.name));
  const web = await compile(
    folder,
    "web",
    specifiers(entries.filter((entry) => !FOR_NODE.includes(entry))),
    [],
  );
  const node = await compile(
    folder,
    "node",
    specifiers(FOR_NODE.filter((entry) => entries.includes(entry))),
    ["node"],
  );
  const ours = [...web, ...node].filter(
    (line) => /^(web|node)\.mts\(/.test(line) || line.includes(`node_modules/${manifest.name}/`),
  );
  return ours.map((line) => `the types of the installed package: ${line}`);
}
