// Counts how many modules of src/ execute a function during one job: the files that a reader enters
// to follow it. Uses V8's precise coverage. Loading a module does not count. `--list` prints the
// names, `--json` the same as data.
import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";

interface Count {
  readonly job: string;
  /** Paths below src/, sorted. */
  readonly files: readonly string[];
}

/**
 * Compiles every module by itself, without bundling and without the helper functions that tsx adds.
 */
async function compile(root: string): Promise<string> {
  const cache = join(root, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const outdir = realpathSync(mkdtempSync(join(cache, "files-entered-")));
  const entryPoints = ["src", "generated"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => join(root, folder, name)),
  );
  await build({
    entryPoints,
    outdir,
    outbase: root,
    format: "esm",
    target: "es2022",
    logLevel: "warning",
  });
  writeFileSync(join(outdir, "package.json"), `{ "type": "module" }\n`);
  return outdir;
}

/** Runs each job twice and counts the second time, when no module is loaded any more. */
async function countJobs(folder: string): Promise<readonly Count[]> {
  const load = (name: string) => import(pathToFileURL(join(folder, "src", name)).href);
  const { connect, redeemLaunch, servicePlugin, userInterfacePlugin } = (await load(
    "index.js",
  )) as typeof import("../src/index.js");
  const { createEmulator } = (await load(
    "emulator/index.js",
  )) as typeof import("../src/emulator/index.js");

  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  const entered = async (): Promise<string[]> => {
    const { result } = await session.post("Profiler.takePreciseCoverage");
    const below = pathToFileURL(join(folder, "src/")).href;
    return result
      .filter(({ url }) => url.startsWith(below))
      .filter(({ functions }) =>
        functions.some(
          // A function without a name that starts at 0 is the module itself.
          ({ functionName, ranges: [{ startOffset, count } = { startOffset: 0, count: 0 }] }) =>
            count > 0 && (functionName !== "" || startOffset > 0),
        ),
      )
      .map(({ url }) => url.slice(below.length).replace(/\?.*/, "").replace(/\.js$/, ".ts"))
      .sort();
  };

  const counts: Count[] = [];
  for (const isCounted of [false, true]) {
    const emulator = createEmulator({ variants: ["A"] });
    const { url: baseUrl, close } = await emulator.listen();
    const worker = { tenantId: "acme", clientId: "worker" };
    const planner = { tenantId: "acme", clientId: "planner" };
    const scopes = ["devices:read"];
    emulator.registerPlugin({ ...worker, type: "service", scopes });
    emulator.registerPlugin({
      ...planner,
      type: "user_interface",
      scopes,
      pageUrl: "https://planner.example/",
    });
    emulator.registerOperator({ tenantId: "acme", userId: "ada", capabilities: scopes });
    const target = { baseUrl, tenantId: "acme" };
    const workerKey = emulator.testKey(worker);
    const plannerKey = emulator.testKey(planner);
    const codeVerifier = randomBytes(32).toString("base64url");
    const codeChallenge = createHash("sha256").update(codeVerifier).digest("base64url");
    const { code } = emulator.launch({ ...planner, userId: "ada" }).authorize({ codeChallenge });

    const count = async <T>(job: string, run: () => Promise<T>): Promise<T> => {
      await entered();
      const result = await run();
      const isOfEmulator = job.startsWith("emulator");
      const files = (await entered()).filter(
        (file) => file.startsWith("emulator/") === isOfEmulator,
      );
      if (isCounted) counts.push({ job, files });
      return result;
    };
    const service = await count("connect", () => {
      const credentials = [servicePlugin({ clientId: "worker", privateKey: workerKey })];
      return connect({ ...target, credentials });
    });
    await count("first token (getAccessToken after connect)", () => service.auth.getAccessToken());
    await service.call("listDevices");
    await count("warm call", () => service.call("listDevices"));
    await count("launch (redeemLaunch, with its token)", () => {
      const credential = userInterfacePlugin({ clientId: "planner", privateKey: plannerKey });
      return redeemLaunch({ ...target, credential, code, codeVerifier });
    });
    service.auth.invalidate(await service.auth.getAccessToken());
    await count("emulator: one token request", () => service.auth.getAccessToken());
    await close();
  }
  session.disconnect();
  const both = new Set(counts.slice(0, 2).flatMap(({ files }) => files));
  return [...counts, { job: "connect and first token together", files: [...both].sort() }];
}

const { values } = parseArgs({
  options: { list: { type: "boolean", default: false }, json: { type: "boolean", default: false } },
});
const folder = await compile(process.cwd());
try {
  const counts = await countJobs(folder);
  if (values.json) console.log(JSON.stringify(counts, null, 2));
  else {
    for (const { job, files } of counts) {
      console.log(`${String(files.length).padStart(3)}  ${job}`);
      if (values.list) for (const file of files) console.log(`       ${file}`);
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
