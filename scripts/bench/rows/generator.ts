// Measures generate with a public document of 1,223 operations, and TypeScript with one call of that API.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Build, intervalOf, inWords, medianOf, NotMeasured, type Row } from "../measure.js";

/** It has 385 MB unpacked, of which one file is needed, so it is not a dependency. */
const PACKAGE = "@octokit/openapi@23.0.2";
const DOCUMENT = "package/generated/api.github.com.json";
const ROUNDS = 3;

/** The document describes Variant B alone. */
const OURS_OF_ONE = `
  import { generate } from "bivariant/generate";
  const A = ${JSON.stringify(fileURLToPath(new URL("../../../openapi/variant-a.yaml", import.meta.url)))};
  await generate({ documents: { A, B: "github.json" }, out: "generated-of-one" });
`;
/** The document is passed for both variants, so openapi-typescript alone gets it twice too. */
const OURS = `
  import { generate } from "bivariant/generate";
  await generate({ documents: { A: "github.json", B: "github.json" }, out: "generated" });
`;
const THEIRS = `
  import { readFileSync, writeFileSync } from "node:fs";
  import openapiTS, { astToString } from "openapi-typescript";
  for (const file of ["alone-a.ts", "alone-b.ts"])
    writeFileSync(file, astToString(await openapiTS(readFileSync("github.json", "utf8"), { silent: true })));
`;
/** The expected error proves that the types are there. */
const oneCall = (generated: string): string => `
  import { connect, serviceAccount } from "bivariant";
  import * as api from "./${generated}/operations.js";
  const credentials = [serviceAccount({ clientId: "bench", clientSecret: "secret" })];
  const service = await connect({ baseUrl: "https://service.example", tenantId: "t", credentials, api });
  if (service.variant !== "B") throw new Error("Only Variant B has the operation.");
  const { data } = await service.call("repos/get", { params: { path: { owner: "o", repo: "r" } } });
  export const name: string | undefined = data?.full_name;
  // @ts-expect-error
  export const wrong: number | undefined = data?.full_name;
`;
const COMPILER_OPTIONS = { strict: true, skipLibCheck: true, noEmit: true, module: "nodenext", types: [] };

/** Of a whole process. Other processes affect the processor time less than the wall time. */
interface Cost {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly peakMiB: number;
}

const REPORT = `data:text/javascript,${encodeURIComponent(`
  import { writeFileSync } from "node:fs";
  process.on("exit", () => {
    const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
    const cpuMs = (userCPUTime + systemCPUTime) / 1000;
    writeFileSync("cost.json", JSON.stringify({ wallMs: performance.now(), cpuMs, peakMiB: maxRSS / 1024 }));
  });
`)}`;

function costOf(folder: string, ...args: readonly string[]): Cost {
  run(folder, process.execPath, "--import", REPORT, ...args);
  return JSON.parse(readFileSync(join(folder, "cost.json"), "utf8"));
}

function run(cwd: string, command: string, ...args: readonly string[]): void {
  const { status, error, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} failed: ${error?.message ?? `${stdout}${stderr}`}`);
}

/** Downloads the package at the first time. @throws NotMeasured without a network */
function downloadedDocument(): string {
  const cache = join(tmpdir(), "bivariant-bench", PACKAGE);
  const path = join(cache, DOCUMENT);
  if (existsSync(path)) return path;
  mkdirSync(cache, { recursive: true });
  try {
    run(cache, "npm", "pack", PACKAGE);
    run(cache, "tar", "-xzf", "octokit-openapi-23.0.2.tgz", DOCUMENT);
  } catch (error) {
    throw new NotMeasured(`${PACKAGE} cannot be downloaded. ${error}`);
  }
  return path;
}

/** OpenAPI 3.0 to 3.1. Of what 3.1 lacks, the document has only `nullable`, so nothing else is changed. */
function convert(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(convert);
  if (typeof value !== "object" || value === null) return value;
  const { nullable, ...rest } = value as Record<string, unknown>;
  const schema = Object.fromEntries(Object.entries(rest).map(([key, member]) => [key, convert(member)]));
  if (nullable !== true) return schema;
  if (schema.type === undefined) return { anyOf: [schema, { type: "null" }] };
  return { ...schema, type: [schema.type, "null"] };
}

/** One for each round. Several rows need what these processes cost and write. */
type Costs = readonly { readonly ours: Cost; readonly theirs: Cost }[];

function generateCosts({ folder }: Build): Costs {
  // Each row runs in a process of its own.
  const kept = join(folder, "generate-costs.json");
  if (existsSync(kept)) return JSON.parse(readFileSync(kept, "utf8"));
  const document = Object(convert(JSON.parse(readFileSync(downloadedDocument(), "utf8"))));
  writeFileSync(join(folder, "github.json"), JSON.stringify({ ...document, openapi: "3.1.0" }));
  const costOfCode = (code: string) => costOf(folder, "--input-type=module", "--eval", code);
  const costs = Array.from({ length: ROUNDS }, () => ({
    theirs: costOfCode(THEIRS),
    ours: costOfCode(OURS),
  }));
  writeFileSync(kept, JSON.stringify(costs));
  return costs;
}

function shown(all: readonly Cost[]): string {
  const median = (key: keyof Cost) => medianOf(all.map((cost) => cost[key]));
  return inWords({ cpuMs: median("cpuMs"), wallMs: median("wallMs"), peakMiB: median("peakMiB") });
}

export const generateTime: Row = {
  name: "generate-time",
  title: "generate with 1,223 operations in each variant against openapi-typescript alone, processor time",
  unit: "times",
  aim: 1.3,
  seconds: 100,
  async measure(build) {
    const rounds = generateCosts(build);
    const [ours, theirs] = [rounds.map((round) => round.ours), rounds.map((round) => round.theirs)];
    const ratios = rounds.map((round) => round.ours.cpuMs / round.theirs.cpuMs);
    return { ...intervalOf(ratios), ours: shown(ours), theirs: shown(theirs) };
  },
};

export const generateMemory: Row = {
  name: "generate-memory",
  title: "peak memory of that generate",
  unit: "MiB",
  aim: 1024,
  seconds: 5,
  async measure(build) {
    const rounds = generateCosts(build);
    const peaks = rounds.map(({ ours }) => ours.peakMiB);
    const detail = `openapi-typescript alone: ${shown(rounds.map(({ theirs }) => theirs))}`;
    return { ...intervalOf(peaks), ours: shown(rounds.map(({ ours }) => ours)), detail };
  },
};

export const callTypeCheck: Row = {
  name: "call-type-check",
  title: "TypeScript 5.9 checks a program with one call of that document, processor time",
  unit: "ms",
  aim: 2500,
  seconds: 60,
  async measure(build) {
    generateCosts(build);
    const { folder } = build;
    const root = fileURLToPath(new URL("../../..", import.meta.url));
    const compiler = (name: string) => join(root, "node_modules", name, "bin/tsc");
    const outDir = ["--outDir", join(folder, "dist")];
    run(root, process.execPath, compiler("typescript-7"), "-p", "tsconfig.build.json", ...outDir);
    costOf(folder, "--input-type=module", "--eval", OURS_OF_ONE);
    const costsOf = (generated: string) => {
      writeFileSync(join(folder, "one-call.ts"), oneCall(generated));
      const project = { compilerOptions: COMPILER_OPTIONS, files: ["one-call.ts"] };
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(project));
      return Array.from({ length: ROUNDS }, () => costOf(folder, compiler("typescript"), "-p", "."));
    };
    const one = costsOf("generated-of-one");
    const both = costsOf("generated");
    const detail = `with the document in both variants ${shown(both)}`;
    return { ...intervalOf(one.map(({ cpuMs }) => cpuMs)), ours: shown(one), detail };
  },
};
