// Measures what this package adds to two apps, bundled, minified and compressed with all
// dependencies: in one file, and in the files that are loaded up to the first token and call when
// the bundler splits at `import()`.
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { type BuildResult, build, type Metafile } from "esbuild";
import type { Figures, Row } from "../measure.js";

type Bundled = BuildResult<{ write: false; metafile: true }>;
type Package = typeof import("../../../src/index.js");
type Servant = Parameters<Package["servicePlugin"]>[0];

interface App {
  readonly name: string;
  readonly uses: string;
  /** Does the same with the libraries that this package is built on. */
  readonly peer: string;
  readonly aim: number;
  /** Does what the app is for, once. */
  readonly run: (bundled: Package, settings: Servant) => Promise<unknown>;
}

const OAUTH = "clientCredentialsGrantRequest, PrivateKeyJwt, processClientCredentialsResponse";
const TARGET = { baseUrl: "https://service.example", tenantId: "acme" };
const ANSWER = { access_token: "token", token_type: "Bearer", expires_in: 3600 };
const fetch = async () => Response.json(ANSWER);

const APPS: readonly App[] = [
  {
    name: "bundle-size",
    uses: "connect, servicePlugin",
    peer: `export { default } from "openapi-fetch"; export { ${OAUTH} } from "oauth4webapi"`,
    aim: 22,
    run: async ({ connect, servicePlugin }, settings) => {
      const service = await connect({ ...TARGET, fetch, credentials: [servicePlugin(settings)] });
      const { ok } = await service.call("listDevices");
      if (!ok) throw new Error("The call must succeed, so that nothing is loaded for a refusal.");
    },
  },
  {
    name: "bundle-size-auth",
    uses: "createAuth, servicePlugin",
    peer: `export { ${OAUTH} } from "oauth4webapi"`,
    aim: 15,
    run: ({ createAuth, servicePlugin }, settings) =>
      createAuth({ ...TARGET, fetch, credential: servicePlugin(settings) }).getAccessToken(),
  },
];

export const bundleSizes: readonly Row[] = APPS.flatMap((app): Row[] => [
  {
    name: app.name,
    title: `{ ${app.uses} } bundled with everything below in one file, minified, gzip`,
    unit: "kB",
    aim: app.aim,
    seconds: 2,
    async measure({ folder }) {
      const { outputFiles, metafile } = await bundle(folder, ours(app), false);
      const peer = await bundle(folder, app.peer, false);
      return figures(
        kBOf(outputFiles),
        kBOf(peer.outputFiles),
        `minified ${shares(metafile.outputs)}`,
      );
    },
  },
  {
    name: `${app.name}-loaded`,
    title:
      `{ ${app.uses} } in several files: what is loaded until the first ` +
      `${app.aim === 22 ? "call" : "token"}, gzip`,
    unit: "kB",
    aim: app.aim,
    seconds: 3,
    async measure({ folder }) {
      const { outputFiles } = await bundle(folder, ours(app), true);
      const loaded = await filesLoadedBy(app, outputFiles, join(folder, app.name));
      const isLoaded = ({ path }: { path: string }) => loaded.includes(basename(path));
      const later = outputFiles
        .filter((file) => !isLoaded(file))
        .map(
          (file) =>
            `${basename(file.path).replace(/(-[A-Z0-9]{8})+\.js$/, "")} ${kBOf([file]).toFixed(1)}`,
        );
      const peer = await bundle(folder, app.peer, false);
      const detail = `loaded when it is needed: ${later.join(", ")}`;
      return figures(kBOf(outputFiles.filter(isLoaded)), kBOf(peer.outputFiles), detail);
    },
  },
]);

function figures(kB: number, peerKB: number, detail: string): Figures {
  const [ours, theirs] = [kB, peerKB].map((one) => `${one.toFixed(1)} kB`);
  return { value: kB, low: kB, high: kB, ours: ours ?? "", theirs, detail };
}

function ours({ uses }: App): string {
  return `export { ${uses} } from "./dist/src/index.js"`;
}

function bundle(folder: string, contents: string, splitting: boolean): Promise<Bundled> {
  return build({
    stdin: { contents, resolveDir: folder, sourcefile: "app" },
    outdir: join(folder, "app"),
    entryNames: "app",
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

function kBOf(files: Bundled["outputFiles"]): number {
  return (
    files.reduce((sum, { contents }) => sum + gzipSync(contents, { level: 9 }).length, 0) / 1000
  );
}

/** Runs the app. Each of its files reports its name before it runs. */
async function filesLoadedBy(
  app: App,
  files: Bundled["outputFiles"],
  folder: string,
): Promise<string[]> {
  const loaded: string[] = [];
  Object.assign(globalThis, { filesLoaded: loaded });
  mkdirSync(folder, { recursive: true });
  for (const { path, text } of files) {
    const name = basename(path);
    writeFileSync(
      join(folder, name),
      `globalThis.filesLoaded.push(${JSON.stringify(name)});${text}`,
    );
  }
  const bundled = (await import(pathToFileURL(join(folder, "app.js")).href)) as Package;
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  await app.run(bundled, { clientId: "reports", privateKey: pem });
  return loaded;
}

/** Bytes before compression, by package. */
function shares(outputs: Metafile["outputs"]): string {
  const bytes = new Map<string, number>();
  let total = 0;
  for (const { bytes: whole, inputs } of Object.values(outputs)) {
    total += whole;
    for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
      const owner =
        /node_modules\/((?!\.cache)[^/]+)\/(?!.*node_modules\/)/.exec(path)?.[1] ?? "own code";
      bytes.set(owner, (bytes.get(owner) ?? 0) + bytesInOutput);
    }
  }
  const parts = [...bytes]
    .filter(([, count]) => count > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([owner, count]) => `${owner} ${(count / 1000).toFixed(1)}`);
  return `${(total / 1000).toFixed(1)} kB: ${parts.join(", ")}`;
}
