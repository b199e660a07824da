// What connect and one credential add to an app: bundled, minified and compressed, with all dependencies.
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import type { Row } from "../row.js";

const APP = "connect, servicePlugin";

export const bundleSize: Row = {
  name: "bundle-size",
  title: `{ ${APP} } bundled with everything below, minified, gzip`,
  unit: "kB",
  aim: 12,
  async measure({ folder }) {
    const { outputFiles, metafile } = await build({
      stdin: { contents: `export { ${APP} } from "./dist/src/index.js"`, resolveDir: folder },
      bundle: true,
      format: "esm",
      platform: "browser",
      target: "es2022",
      minify: true,
      write: false,
      metafile: true,
      logLevel: "silent",
    });
    const code = outputFiles[0]?.contents ?? new Uint8Array();
    const kB = gzipSync(code, { level: 9 }).length / 1000;
    return { value: kB, low: kB, high: kB, detail: `minified ${shares(metafile.outputs)}` };
  },
};

type Outputs = Readonly<
  Record<string, { bytes: number; inputs: Readonly<Record<string, { bytesInOutput: number }>> }>
>;

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
