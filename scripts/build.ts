// Compiles src/ and generated/ into a clean dist/, which npm packs: the declarations that entries
// need, and the code of each entry in few files, because loading modules one by one costs several
// times what running them costs. Packages that only the tools need are bundled into these files, so
// that an install brings only what runs in production.
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isBuiltin as isBuiltinModule } from "node:module";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { type BuildOptions, build, type Metafile, type Plugin, transform } from "esbuild";
import { pruneDeclarations } from "./declarations.js";
import { writeNotices } from "./notices.js";

/** The fields of package.json that decide what a user of the package gets. */
export interface Manifest {
  readonly name: string;
  readonly bin?: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/**
 * What is bundled: packages that only the tools need, and a parser that a call with events loads.
 */
export const BUNDLED: readonly string[] = [
  "@cfworker/json-schema",
  "@hono/node-server",
  "commander",
  "csv-parse",
  "csv-stringify",
  "eventsource-parser",
  "hono",
  "json-p3",
  "randexp",
  "undici",
  "yaml",
];

/**
 * The packages that stay imports: those that npm installs with this one, and those that its users
 * add.
 */
export function installedPackages({ dependencies, peerDependencies }: Manifest): readonly string[] {
  return Object.keys({ ...dependencies, ...peerDependencies });
}

export function readManifest(root: string): Manifest {
  return JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
}

/** This entry is one file without imports, since a server may send it to a browser as it is. */
const PAGE = "src/page/index.ts";

/** The folder below dist/ of the files that Node loads. */
const FOR_NODE = "node";

/**
 * The sources of all entry points in package.json, and of those that have a separate file for Node.
 */
function entryPoints(root: string): {
  readonly all: readonly string[];
  readonly forNode: readonly string[];
} {
  const manifest = readManifest(root);
  const targets = Object.values(manifest.exports).filter((target) => typeof target !== "string");
  const sourceOf = (file: string, folder: string): string =>
    relative(folder, file).replace(/\.js$/, ".ts");
  const exported = targets.flatMap((target) => target.default ?? []);
  return {
    all: [...exported, ...Object.values(manifest.bin ?? {})].map((file) => sourceOf(file, "dist")),
    forNode: targets
      .flatMap(({ node }) => node ?? [])
      .map((file) => sourceOf(file, join("dist", FOR_NODE))),
  };
}

/**
 * Writes each entry where package.json expects it, and the code that several entries share into
 * chunks next to them, so that an error class is the same class in every entry. Packages stay
 * imports. Files of bundled packages have no white space.
 *
 * Bundlers get a chunk for every set of entries, so that an app loads nothing that it does not use.
 * Node would have to load all those files one by one, so it gets one chunk for everything that the
 * first entry loads.
 */
export async function bundleEntries(root: string, outdir: string): Promise<readonly Metafile[]> {
  const { all, forNode } = entryPoints(root);
  const shared = {
    absWorkingDir: root,
    outbase: ".",
    chunkNames: "chunks/[name]-[hash]",
    bundle: true,
    splitting: true,
    external: installedPackages(readManifest(root)).flatMap((name) => [name, `${name}/*`]),
    format: "esm",
    platform: "node",
    target: "es2022",
    logLevel: "warning",
    metafile: true,
  } as const satisfies BuildOptions;
  const yaml = await build({
    ...shared,
    stdin: {
      contents: 'export * from "./node_modules/yaml/browser/dist/index.js";',
      resolveDir: root,
    },
    outfile: join(outdir, "yaml.js"),
    splitting: false,
  });
  const page = all.filter((entry) => entry === PAGE);
  const forPage = await build({
    ...shared,
    entryPoints: page,
    outdir,
    splitting: false,
    platform: "browser",
  });
  const entries = all.filter((entry) => entry !== PAGE);
  const forAll = await build({
    ...shared,
    entryPoints: entries,
    outdir,
    plugins: [builtins, lean],
  });
  const [main, ...others] = forNode.map((entry) => join(root, entry));
  const builds = [yaml.metafile, forPage.metafile, forAll.metafile];
  if (main === undefined) return shrunk(root, builds);
  const plugins = [builtins, lean, oneChunk(main, others)];
  const node = await build({
    ...shared,
    entryPoints: [...forNode],
    outdir: join(outdir, FOR_NODE),
    plugins,
  });
  return shrunk(root, [...builds, node.metafile]);
}

/** The share of a file that must be of bundled packages. Users read the rest in stack traces. */
const shareOfPackages = 0.9;

/**
 * Removes the white space of files that hold hardly anything but bundled packages, and returns the
 * same builds.
 */
async function shrunk(root: string, builds: readonly Metafile[]): Promise<readonly Metafile[]> {
  for (const { outputs } of builds)
    for (const [path, { inputs }] of Object.entries(outputs)) {
      const sizes = Object.entries(inputs).map(([input, { bytesInOutput }]) => ({
        input,
        bytesInOutput,
      }));
      const bytesOf = (some: typeof sizes) =>
        some.reduce((sum, { bytesInOutput }) => sum + bytesInOutput, 0);
      const ofPackages = sizes.filter(({ input }) => /(?:^|\/)node_modules\//.test(input));
      if (bytesOf(ofPackages) <= shareOfPackages * bytesOf(sizes)) continue;
      const file = join(root, path);
      const options = {
        format: "esm",
        target: "es2022",
        minifyWhitespace: true,
        minifySyntax: true,
      } as const;
      writeFileSync(file, (await transform(readFileSync(file, "utf8"), options)).code);
    }
  return builds;
}

/**
 * An ES module has no `require`, with which a bundled package of CommonJS loads the modules of
 * Node.
 */
const builtins: Plugin = {
  name: "builtins",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^/ }, ({ kind, path }) => {
      const isBuiltin = kind === "require-call" && isBuiltinModule(path);
      return isBuiltin ? { path, namespace: "builtin" } : undefined;
    });
    onLoad({ filter: /^/, namespace: "builtin" }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
  },
};

/**
 * esbuild makes a chunk for every set of entries that share modules, and treats what `import()`
 * loads as an entry. With an import of `main` added to every other entry, all modules of `main`
 * belong to the same set. esbuild drops those imports from the output, because this package has no
 * side effects.
 */
function oneChunk(main: string, others: readonly string[]): Plugin {
  const entries = new Set(others);
  return {
    name: "one-chunk",
    setup({ initialOptions, onResolve, onLoad }) {
      initialOptions.logOverride = {
        ...initialOptions.logOverride,
        "ignored-bare-import": "silent",
      };
      onResolve({ filter: /^\.{1,2}\// }, ({ kind, path, resolveDir }) => {
        if (kind === "dynamic-import") entries.add(join(resolveDir, path.replace(/\.js$/, ".ts")));
        return undefined;
      });
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        if (!entries.has(path) || path === main) return undefined;
        const toMain = relative(dirname(path), main).replace(/\.ts$/, ".js");
        return { contents: `${readFileSync(path, "utf8")}\nimport "./${toMain}";\n`, loader: "ts" };
      });
    },
  };
}

/**
 * Smaller forms of bundled packages: what is used of undici, and yaml once for all entries, named
 * in package.json.
 */
const lean: Plugin = {
  name: "lean",
  setup({ onResolve, onLoad, resolve, initialOptions: { absWorkingDir: resolveDir = "." } }) {
    onResolve({ filter: /^undici$/ }, ({ path }) => ({ path, namespace: "lean" }));
    onLoad({ filter: /^/, namespace: "lean" }, () => ({
      contents: `export { default as EnvHttpProxyAgent } from "undici/lib/dispatcher/env-http-proxy-agent.js";
        import web from "undici/lib/web/fetch/index.js";
        export const fetch = web.fetch;`,
      resolveDir,
    }));
    // The parser without SIMD runs everywhere, so it is the only one.
    onResolve({ filter: /llhttp_simd-wasm/ }, ({ path, resolveDir, kind }) =>
      resolve(path.replace("_simd", ""), { resolveDir, kind }),
    );
    onResolve({ filter: /^yaml$/ }, () => ({ path: "#yaml", external: true }));
    // esbuild does not see this `require`.
    onLoad({ filter: /seed[\\/]parse-file\.ts$/ }, ({ path }) => {
      const contents = readFileSync(path, "utf8").replace(
        '(import.meta.url)("yaml")',
        '(import.meta.url)("#yaml")',
      );
      return { contents, loader: "ts" };
    });
  },
};

/** Resolves imports of the package by its name to the sources of its entries. */
export function entriesFromSources(root: string): Plugin {
  const { name, exports } = readManifest(root);
  return {
    name: "entries-from-sources",
    setup({ onResolve }) {
      onResolve({ filter: new RegExp(`^${name}(/|$)`) }, ({ path }) => {
        const target = exports[`.${path.slice(name.length)}`];
        const file = typeof target === "object" ? target.default : undefined;
        if (file === undefined) return { errors: [{ text: `package.json exports no "${path}"` }] };
        return { path: join(root, file.replace("/dist/", "/").replace(/\.js$/, ".ts")) };
      });
    },
  };
}

async function buildPackage(root: string): Promise<boolean> {
  rmSync(join(root, "dist"), { recursive: true, force: true });
  const compiler = ["node_modules/typescript-7/bin/tsc", "--project", "tsconfig.build.json"];
  if (spawnSync(process.execPath, compiler, { cwd: root, stdio: "inherit" }).status !== 0)
    return false;
  const bundled = await bundleEntries(root, "dist");
  writeNotices(root, bundled);
  const manifest = readManifest(root);
  const wrong = pruneDeclarations(root, manifest);
  for (const one of wrong) console.error(one);
  if (wrong.length > 0) return false;
  for (const file of Object.values(manifest.bin ?? {})) {
    if (!existsSync(file) || !readFileSync(file, "utf8").startsWith("#!/usr/bin/env node\n")) {
      console.error(
        `${file} must exist and start with "#!/usr/bin/env node" to be installed as a command.`,
      );
      return false;
    }
    chmodSync(file, 0o755);
  }
  return true;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  process.exitCode = (await buildPackage(process.cwd())) ? 0 : 1;
}
