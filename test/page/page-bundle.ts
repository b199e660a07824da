// The page helper as a browser gets it: one minified module.
import { build } from "esbuild";

let bundle: Promise<string> | undefined;

export function pageBundle(): Promise<string> {
  bundle ??= build({
    entryPoints: ["src/page/index.ts"],
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    write: false,
  }).then(({ outputFiles }) => outputFiles[0]?.text ?? "");
  return bundle;
}
