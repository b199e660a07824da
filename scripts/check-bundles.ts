// Bundles small apps as users would, and fails when an app for one variant contains code of the
// other, or has grown.
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { build, type Plugin } from "esbuild";
import { entriesFromSources } from "./build.js";

export interface Bundle {
  readonly app: string;
  /** Files of src/ and packages that may not be in the bundle. */
  readonly never: readonly string[];
  /** Text that may not be in the bundle, for data in shared files. */
  readonly neverText: readonly string[];
  /**
   * The most kB (1,000 bytes) that it may have, gzipped, in one file: a little more than it had
   * when this was set.
   */
  readonly mostKB: number;
  /**
   * The same without the parts that are loaded lazily, which bundlers put into files of their own.
   */
  readonly mostAtStartKB: number;
}

const CHOICE = ["src/choose-variant.ts", "src/connect.ts", "src/variants/detect.ts"];
const ONLY_A = [
  "src/auth/credentials/plugins.ts",
  "src/auth/credentials/client-assertion.ts",
  "src/auth/credentials/signing-key.ts",
  "src/auth/credentials/diagnosis.ts",
  "jose",
];
const ONLY_B = ["src/auth/credentials/clients.ts"];
const TEXT_OF_A = ["/api/v1/", "external-plugin/oauth/token", "client-assertion-type"];
const TEXT_OF_B = ["/v1/auth/token"];

const BUNDLES: readonly Bundle[] = [
  {
    app: `export { connect, servicePlugin } from "bivariant"`,
    never: ONLY_B,
    neverText: [],
    mostKB: 47,
    mostAtStartKB: 24.9,
  },
  {
    app: `export { createAuth, servicePlugin } from "bivariant"`,
    never: [...ONLY_B, ...CHOICE],
    neverText: TEXT_OF_B,
    mostKB: 24.3,
    mostAtStartKB: 15.7,
  },
  {
    app: `export { createAuth, serviceAccount } from "bivariant"`,
    never: [...ONLY_A, ...CHOICE],
    neverText: TEXT_OF_A,
    mostKB: 16.5,
    mostAtStartKB: 16.2,
  },
  {
    app: `export * from "bivariant/variant-a"`,
    never: [...ONLY_B, ...CHOICE],
    neverText: TEXT_OF_B,
    mostKB: 47.6,
    mostAtStartKB: 28.5,
  },
  {
    app: `export * from "bivariant/variant-b"`,
    never: [...ONLY_A, ...CHOICE],
    neverText: TEXT_OF_A,
    mostKB: 43.5,
    mostAtStartKB: 30.3,
  },
];

/**
 * This bundle contains everything that the others may not, so an outdated name above is noticed.
 */
const CONTROL = `export * from "bivariant"`;

interface Bundled {
  readonly parts: readonly string[];
  readonly text: string;
}

const withoutLazyParts: Plugin = {
  name: "without-lazy-parts",
  setup({ onResolve }) {
    onResolve({ filter: /./ }, ({ kind, path }) =>
      kind === "dynamic-import" ? { path, external: true } : undefined,
    );
  },
};

/** Bundles for browsers, so that importing a builtin module of Node is an error too. */
async function bundle(
  root: string,
  app: string,
  plugins: readonly Plugin[] = [],
): Promise<Bundled> {
  const { metafile, outputFiles } = await build({
    stdin: { contents: app, resolveDir: root, loader: "ts" },
    absWorkingDir: root,
    plugins: [...plugins, entriesFromSources(root)],
    bundle: true,
    format: "esm",
    platform: "browser",
    // minifySyntax would copy constants into the modules that use them, and their own module would
    // seem absent.
    minifyWhitespace: true,
    minifyIdentifiers: true,
    write: false,
    metafile: true,
    logLevel: "silent",
  });
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
  return {
    parts: inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path),
    text: outputFiles.map(({ text }) => text).join("\n"),
  };
}

function holds({ parts }: Bundled, part: string): boolean {
  return parts.some((path) => path === part || path.includes(`node_modules/${part}/`));
}

function kBOf({ text }: Bundled): number {
  return gzipSync(text).length / 1_000;
}

/** One line for each forbidden part of a bundle, and for each bundle that is too large. */
export async function checkBundles(
  root: string,
  bundles: readonly Bundle[] = BUNDLES,
  control: string = CONTROL,
  report: (line: string) => void = () => {},
): Promise<readonly string[]> {
  try {
    const whole = await bundle(root, control);
    const names = new Set(bundles.flatMap(({ never }) => never));
    const findings = [...names]
      .filter((name) => !holds(whole, name))
      .map((name) => `${name} is not in ${control}: correct the table of scripts/check-bundles.ts`);
    for (const { app, never, neverText, mostKB, mostAtStartKB } of bundles) {
      const bundled = await bundle(root, app);
      const kB = kBOf(bundled);
      const startKB = kBOf(await bundle(root, app, [withoutLazyParts]));
      report(
        `${app}: ${startKB.toFixed(1)} kB gzipped at the start, ${kB.toFixed(1)} kB with ` +
          "all lazy parts",
      );
      if (kB > mostKB)
        findings.push(`${app} has ${kB.toFixed(1)} kB gzipped, more than its limit of ${mostKB}`);
      if (startKB > mostAtStartKB)
        findings.push(
          `${app} starts with ${startKB.toFixed(1)} kB, more than its limit of ${mostAtStartKB}`,
        );
      for (const part of never) {
        if (holds(bundled, part)) findings.push(`${app} contains ${part}`);
      }
      for (const text of neverText) {
        if (bundled.text.includes(text)) findings.push(`${app} contains the text "${text}"`);
      }
    }
    return findings;
  } catch (error) {
    return [`the bundle fails: ${error instanceof Error ? error.message : error}`];
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const findings = await checkBundles(process.cwd(), BUNDLES, CONTROL, console.log);
  for (const finding of findings) console.error(finding);
  process.exitCode = findings.length === 0 ? 0 : 1;
}
