// Measures what connect and one credential add to an app, bundled, minified and compressed with all dependencies.
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type BuildResult, build, type Metafile } from "esbuild";
import type { Row } from "../measure.js";

const APP = "connect, servicePlugin";
/** The module that `import()` loads on the way to a first token. Other lazy modules serve refusals and other credentials. */
const WITH_FIRST_KEY = /client-assertion/;

type Bundled = BuildResult<{ write: false; metafile: true }>;
type Outputs = Metafile["outputs"];

export const bundleSize: Row = {
  name: "bundle-size",
  title: `{ ${APP} } bundled with everything below in one file, minified, gzip`,
  unit: "kB",
  aim: 12,
  seconds: 4,
  async measure({ folder }) {
    const whole = await bundle(folder, false);
    const kB = kBOf(whole, Object.keys(whole.metafile.outputs));
    const apart = await bundle(folder, true);
    const { outputs } = apart.metafile;
    const start = loadedBy(outputs, "<stdin>");
    const withKey = loadedBy(outputs, WITH_FIRST_KEY).filter((name) => !start.includes(name));
    const later = Object.keys(outputs).filter((name) => ![...start, ...withKey].includes(name));
    const [atStart, atKey, atLast] = [start, withKey, later].map((names) => kBOf(apart, names).toFixed(1));
    const detail = `in several files: ${atStart} kB at the start, ${atKey} with the first key, ${atLast} on a refusal or with two variants`;
    return {
      value: kB,
      low: kB,
      high: kB,
      ours: `${kB.toFixed(1)} kB`,
      detail: `${detail}\n  minified ${shares(whole.metafile.outputs)}`,
    };
  },
};

function bundle(folder: string, splitting: boolean): Promise<Bundled> {
  return build({
    stdin: { contents: `export { ${APP} } from "./dist/src/index.js"`, resolveDir: folder },
    outdir: join(folder, "app"),
    bundle: true,
    splitting,
    format: "esm",
    platform: "browser",
    target: "es2022",
    minify: true,
    write: false,
    metafile: true,
    logLevel: "silent",
  });
}

function kBOf({ outputFiles }: Bundled, names: readonly string[]): number {
  const files = outputFiles.filter(({ path }) => names.some((name) => path.endsWith(name)));
  return files.reduce((sum, { contents }) => sum + gzipSync(contents, { level: 9 }).length, 0) / 1000;
}

/** The files that loading an entry loads, without what `import()` loads later. */
function loadedBy(outputs: Outputs, entry: string | RegExp): string[] {
  const found = new Set<string>();
  const load = (name: string): void => {
    if (found.has(name)) return;
    found.add(name);
    const imports = outputs[name]?.imports ?? [];
    for (const { kind, path } of imports) if (kind === "import-statement") load(path);
  };
  for (const [name, { entryPoint = "" }] of Object.entries(outputs))
    if (entryPoint.search(entry) >= 0) load(name);
  return [...found];
}

/** Bytes before compression, by package. */
function shares(outputs: Outputs): string {
  const bytes = new Map<string, number>();
  let total = 0;
  for (const { bytes: whole, inputs } of Object.values(outputs)) {
    total += whole;
    for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
      const owner = /node_modules\/((?!\.cache)[^/]+)\/(?!.*node_modules\/)/.exec(path)?.[1] ?? "own code";
      bytes.set(owner, (bytes.get(owner) ?? 0) + bytesInOutput);
    }
  }
  const parts = [...bytes]
    .filter(([, count]) => count > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([owner, count]) => `${owner} ${(count / 1000).toFixed(1)}`);
  return `${(total / 1000).toFixed(1)} kB: ${parts.join(", ")}`;
}
