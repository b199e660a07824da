// Bundles small apps as their users would and holds that code of the other variant is in none of them.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { build, type Plugin } from "esbuild";

export interface Bundle {
  readonly app: string;
  /** Files of src/ and packages of which not one byte may be in the bundle. */
  readonly never: readonly string[];
  /** What the text of the bundle may not contain: data has no file of its own. */
  readonly neverText: readonly string[];
}

const CHOICE = ["src/choose-variant.ts", "src/connect.ts", "src/connector.ts", "src/variants/detect.ts"];
const ONLY_A = [
  "src/auth/service-plugin.ts",
  "src/auth/client-assertion.ts",
  "src/auth/signing-key.ts",
  "src/auth/diagnosis.ts",
  "src/auth/user-interface-plugin.ts",
  "src/variants/variant-a.ts",
  "jose",
];
const ONLY_B = ["src/auth/service-account.ts", "src/auth/api-client.ts", "src/variants/variant-b.ts"];
const TEXT_OF_A = ["/api/v1/", "external-plugin/oauth/token", "client-assertion-type"];
const TEXT_OF_B = ["/v1/auth/token"];

const BUNDLES: readonly Bundle[] = [
  {
    app: `export { createAuth, servicePlugin } from "bivariant"`,
    never: [...ONLY_B, ...CHOICE],
    neverText: TEXT_OF_B,
  },
  {
    app: `export { createAuth, serviceAccount } from "bivariant"`,
    never: [...ONLY_A, ...CHOICE],
    neverText: TEXT_OF_A,
  },
  { app: `export * from "bivariant/variant-a"`, never: [...ONLY_B, ...CHOICE], neverText: TEXT_OF_B },
  { app: `export * from "bivariant/variant-b"`, never: [...ONLY_A, ...CHOICE], neverText: TEXT_OF_A },
];

/** Holds everything that the others may not, so that a name above that is out of date is noticed. */
const CONTROL = `export * from "bivariant"`;

interface Bundled {
  readonly parts: readonly string[];
  readonly text: string;
}

/** What package.json points into dist/ for, read from the sources that it is built from. */
function entriesFromSources(root: string): Plugin {
  const { name, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return {
    name: "entries-from-sources",
    setup({ onResolve }) {
      onResolve({ filter: new RegExp(`^${name}(/|$)`) }, ({ path }) => {
        const file: string | undefined = exports[`.${path.slice(name.length)}`]?.default;
        if (file === undefined) return { errors: [{ text: `package.json exports no "${path}"` }] };
        return { path: join(root, file.replace("/dist/", "/").replace(/\.js$/, ".ts")) };
      });
    },
  };
}

/** For browsers, so that a builtin of Node anywhere below an entry point is an error too. */
async function bundle(root: string, app: string): Promise<Bundled> {
  const { metafile, outputFiles } = await build({
    stdin: { contents: app, resolveDir: root, loader: "ts" },
    absWorkingDir: root,
    plugins: [entriesFromSources(root)],
    bundle: true,
    format: "esm",
    platform: "browser",
    // Not minifySyntax: it copies constants into the modules that use them, and their own module then looks absent.
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

/** One line for everything in a bundle that may not be there. */
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
    for (const { app, never, neverText } of bundles) {
      const bundled = await bundle(root, app);
      report(`${app}: ${bundled.text.length} bytes, ${gzipSync(bundled.text).length} gzipped`);
      for (const part of never) {
        if (holds(bundled, part)) findings.push(`${app} contains ${part}`);
      }
      for (const text of neverText) {
        if (bundled.text.includes(text)) findings.push(`${app} contains the text "${text}"`);
      }
    }
    return findings;
  } catch (error) {
    return [`cannot be bundled: ${error instanceof Error ? error.message : error}`];
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const findings = await checkBundles(process.cwd(), BUNDLES, CONTROL, console.log);
  for (const finding of findings) console.error(finding);
  process.exitCode = findings.length === 0 ? 0 : 1;
}
