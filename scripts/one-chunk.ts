// Has esbuild put all that one entry loads into one chunk, whatever other entries share of it.
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { Plugin } from "esbuild";

/**
 * esbuild makes a chunk for every set of entries that share modules, and counts what `import()` loads as an entry. So
 * all others are told to load `main` too: its modules then have one set. Those imports are dropped from the output,
 * since this package has no side effects.
 */
export function oneChunk(main: string, others: readonly string[]): Plugin {
  const alike = new Set(others);
  return {
    name: "one-chunk",
    setup({ initialOptions, onResolve, onLoad }) {
      initialOptions.logOverride = { ...initialOptions.logOverride, "ignored-bare-import": "silent" };
      onResolve({ filter: /^\.{1,2}\// }, ({ kind, path, resolveDir }) => {
        if (kind === "dynamic-import") alike.add(join(resolveDir, path.replace(/\.js$/, ".ts")));
        return undefined;
      });
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        if (!alike.has(path) || path === main) return undefined;
        const toMain = relative(dirname(path), main).replace(/\.ts$/, ".js");
        return { contents: `${readFileSync(path, "utf8")}\nimport "./${toMain}";\n`, loader: "ts" };
      });
    },
  };
}
