// Packs the package as npm would publish it and checks that it works in an empty folder: lint,
// install, import, run, compile.
import { spawn } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { type Manifest, readManifest } from "./build.js";

const REPOSITORY = join(import.meta.dirname, "..");
const TIMEOUT_MS = 300_000;

interface Outcome {
  readonly ok: boolean;
  readonly stdout: string;
  /** Both streams, in the order of arrival. */
  readonly output: string;
}

export function run(folder: string, command: string, args: readonly string[]): Promise<Outcome> {
  // npm sets these variables for the package that runs the script. An npm in another folder must
  // not see them.
  const ofThisPackage =
    /^(npm_(package|lifecycle)_|npm_config_local_prefix$|npm_command$|INIT_CWD$|NODE_OPTIONS$)/;
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !ofThisPackage.test(name)),
  );
  return new Promise((resolve, reject) => {
    const stdio: ["ignore", "pipe", "pipe"] = ["ignore", "pipe", "pipe"];
    const child = spawn(command, args, { cwd: folder, env, stdio, timeout: TIMEOUT_MS });
    let stdout = "";
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      output += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    child.on("error", reject);
    child.on("close", (code) => resolve({ ok: code === 0, stdout, output: output.trim() }));
  });
}

export async function pack(root: string, into: string): Promise<string> {
  const args = [
    "pack",
    "--json",
    "--ignore-scripts",
    "--loglevel=error",
    "--pack-destination",
    into,
  ];
  const { ok, stdout, output } = await run(root, "npm", args);
  if (!ok) throw new Error(`npm pack fails: ${output}`);
  return join(into, JSON.parse(stdout)[0].filename);
}

/**
 * publint finds files that are missing, not packed or of the wrong format; attw finds types that do
 * not resolve.
 */
async function lintTarball(
  manifest: Manifest,
  root: string,
  tarball: string,
): Promise<readonly string[]> {
  const bytes = new Uint8Array(readFileSync(tarball)).buffer;
  const { messages, pkg } = await publint({ pack: { tarball: bytes }, level: "warning" });
  const findings = messages.map(
    (message) => `publint: ${formatMessage(message, pkg, { color: false })}`,
  );
  // attw accepts a package without any types.
  const untyped = Object.entries(manifest.exports)
    .filter(([, target]) => typeof target !== "string" && target.types === undefined)
    .map(([entry]) => `package.json: the entry point ${entry} has no types`);
  if (untyped.length > 0) return [...findings, ...untyped];
  const attw = createRequire(import.meta.url).resolve("@arethetypeswrong/cli/package.json");
  const { ok, output } = await run(root, process.execPath, [
    attw.replace("package.json", "dist/index.js"),
    tarball,
    ...[
      "--profile",
      "esm-only",
      "--format",
      "ascii",
      "--no-emoji",
      "--no-color",
      "--no-definitely-typed",
    ],
  ]);
  return ok ? findings : [...findings, `attw: ${output}`];
}

/** Each entry is imported, and required as CommonJS does. */
const COUNT_EXPORTS = `
const require = (await import("node:module")).createRequire(process.cwd() + "/index.js");
const type = process.argv[1].endsWith(".json") ? { with: { type: "json" } } : undefined;
require(process.argv[1]);
console.log(Object.keys(await import(process.argv[1], type)).length);
`;

/** Runs in a process of its own, so that it finds no module that another entry loaded. */
async function importEntry(folder: string, specifier: string): Promise<readonly string[]> {
  const args = ["--input-type=module", "--eval", COUNT_EXPORTS, specifier];
  const { ok, stdout, output } = await run(folder, process.execPath, args);
  if (!ok) return [`import "${specifier}" fails: ${output}`];
  return Number(stdout) > 0 ? [] : [`import "${specifier}" exports nothing`];
}

async function runCommand(folder: string, command: string): Promise<readonly string[]> {
  const { ok, stdout, output } = await run(folder, "npx", ["--no", command, "--", "--help"]);
  if (!ok) return [`npx ${command} --help fails: ${output}`];
  return stdout.includes(command) ? [] : [`npx ${command} --help does not name ${command}`];
}

const mostPackages = 8;
const mostInstalledMB = 13;
const mostTarballMiB = 1;

/** What an install of the package alone brings. */
function installSize(folder: string, tarball: string): readonly string[] {
  const modules = join(folder, "node_modules");
  const { packages } = JSON.parse(readFileSync(join(modules, ".package-lock.json"), "utf8"));
  const count = Object.keys(packages).length;
  const sizes = readdirSync(modules, { recursive: true, withFileTypes: true }).map((entry) =>
    entry.isFile() ? statSync(join(entry.parentPath, entry.name)).size : 0,
  );
  const installedMB = sizes.reduce((sum, one) => sum + one, 0) / 1e6;
  const tarballMiB = statSync(tarball).size / 2 ** 20;
  console.log(
    `${count} packages, ${installedMB.toFixed(1)} MB installed, ` +
      `${tarballMiB.toFixed(2)} MiB packed`,
  );
  return [
    ...(count > mostPackages
      ? [`an install brings ${count} packages, more than ${mostPackages}`]
      : []),
    ...(installedMB > mostInstalledMB ? [`an install has more than ${mostInstalledMB} MB`] : []),
    ...(tarballMiB > mostTarballMiB ? [`the tarball has more than ${mostTarballMiB} MiB`] : []),
  ];
}

/** Entry points that import an optional peer. All others must work without any. */
const NEED_PEER: Readonly<Record<string, string>> = { "./opentelemetry": "@opentelemetry/api" };

async function tryInstalled(
  manifest: Manifest,
  folder: string,
  tarball: string,
): Promise<readonly string[]> {
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), `{ "private": true }\n`);
  const install = async (...packages: readonly string[]) => {
    const args = ["install", "--no-audit", "--no-fund", "--loglevel=error", ...packages];
    const { ok, output } = await run(folder, "npm", args);
    return ok ? [] : [`npm install ${packages.join(" ")} fails: ${output}`];
  };
  const refused = await install(tarball);
  if (refused.length > 0) return refused;
  const importAll = async (entries: readonly string[]) => {
    const specifiers = entries.map((entry) => entry.replace(/^\./, manifest.name));
    return (
      await Promise.all(specifiers.map((specifier) => importEntry(folder, specifier)))
    ).flat();
  };
  const entries = Object.keys(manifest.exports);
  const commands = Object.keys(manifest.bin ?? {});
  const findings = [
    ...installSize(folder, tarball),
    ...(await importAll(entries.filter((entry) => !(entry in NEED_PEER)))),
    ...(await Promise.all(commands.map((command) => runCommand(folder, command)))).flat(),
  ];
  if (findings.length > 0) return findings;
  const needing = entries.filter((entry) => entry in NEED_PEER);
  const peers = needing.map((entry) => NEED_PEER[entry] ?? "");
  const ranges = peers.map((peer) => `${peer}@${manifest.peerDependencies?.[peer]}`);
  const faults = peers.length === 0 ? [] : await install(...ranges);
  const notImported = [...faults, ...(await importAll(needing))];
  return notImported.length > 0 ? notImported : await compileConsumer(manifest, folder);
}

/**
 * Entry points for Node only; all others must compile for a browser or a worker, without
 * @types/node.
 */
const FOR_NODE = ["./emulator", "./generate"];
/**
 * Entry points for browsers only; all others must compile for a server, without the library of the
 * DOM.
 */
const FOR_BROWSERS = ["./page"];
const BROWSER = ["DOM", "DOM.Iterable", "DOM.AsyncIterable"];

/**
 * Imports every entry point as users would and checks the declarations. Faults inside dependencies
 * do not count.
 */
async function compileConsumer(manifest: Manifest, folder: string): Promise<readonly string[]> {
  const entries = Object.keys(manifest.exports).filter((entry) => !entry.endsWith(".json"));
  const programs = [
    { entries: entries.filter((entry) => !FOR_NODE.includes(entry)), lib: BROWSER, types: [] },
    { entries: entries.filter((entry) => FOR_NODE.includes(entry)), lib: BROWSER, types: ["node"] },
    { entries: entries.filter((entry) => !FOR_BROWSERS.includes(entry)), lib: [], types: ["node"] },
    // CommonJS. With Node16 TypeScript refuses to require an ES module.
    { entries, lib: BROWSER, types: ["node"], file: "consumer.cts", module: "Node20" },
    {
      entries,
      lib: BROWSER,
      types: ["node"],
      file: "consumer.cts",
      module: "Node16",
      isLate: true,
    },
  ];
  const findings: string[] = [];
  for (const {
    entries,
    lib,
    types,
    file = "consumer.mts",
    module = "NodeNext",
    isLate,
  } of programs) {
    if (entries.length === 0) continue;
    const imports = entries.map((entry, index) => {
      const specifier = JSON.stringify(entry.replace(/^\./, manifest.name));
      const late = `export const entry${index} = () => import(${specifier});\n`;
      return isLate ? late : `export * as entry${index} from ${specifier};\n`;
    });
    writeFileSync(join(folder, file), imports.join(""));
    const compilerOptions = {
      target: "ES2022",
      module,
      strict: true,
      noEmit: true,
      skipLibCheck: false,
      lib: ["ES2023", ...lib],
      types,
      typeRoots: [join(REPOSITORY, "node_modules/@types")],
    };
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({ compilerOptions, files: [file] }),
    );
    const compiler = join(REPOSITORY, "node_modules/typescript-7/bin/tsc");
    const { output } = await run(folder, process.execPath, [compiler, "--pretty", "false"]);
    findings.push(...output.split("\n").filter((line) => /^\S/.test(line)));
  }
  const own = `node_modules/${manifest.name}/`;
  // Each module system finds the same.
  return [...new Set(findings)]
    .filter((line) => line.includes(own) || !line.includes("node_modules/"))
    .map((line) => `the types of the installed package: ${line}`);
}

/**
 * The findings of the first stage that fails, for the built package under `root`. Removes what it
 * wrote.
 */
export async function checkPackage(root: string): Promise<readonly string[]> {
  const manifest = readManifest(root);
  const folder = mkdtempSync(join(tmpdir(), "package-"));
  try {
    const tarball = await pack(root, folder);
    const findings = await lintTarball(manifest, root, tarball);
    return findings.length > 0
      ? findings
      : await tryInstalled(manifest, join(folder, "empty"), tarball);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const root = process.cwd();
  const build = await run(root, "npm", ["run", "--silent", "build"]);
  const findings = build.ok ? await checkPackage(root) : [`the build fails: ${build.output}`];
  for (const finding of findings) console.error(finding);
  if (findings.length === 0) console.log("package: it packs, installs, imports, runs and compiles");
  process.exitCode = findings.length === 0 ? 0 : 1;
}
