// Measures generate with a public document of 1,223 operations for each variant.
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  type Build,
  compareProcesses,
  NotMeasured,
  type Program,
  type Row,
  runProgram,
} from "../measure.js";

/** It has 385 MB unpacked, of which one file is needed, so it is not a dependency. */
const PACKAGE = "@octokit/openapi@23.0.2";
const DOCUMENT = "package/generated/api.github.com.json";
/**
 * The two documents differ a little, so that what is kept of the one would not do for the other.
 */
export const DOCUMENTS = { A: "github-a.json", B: "github-b.json" };

const OURS = `
  import { generate } from "bivariant/generate";
  await generate({ documents: ${JSON.stringify(DOCUMENTS)}, out: "ours/generated" });
`;
const THEIRS = `
  import { readFileSync, writeFileSync } from "node:fs";
  import openapiTS, { astToString } from "openapi-typescript";
  for (const [variant, file] of Object.entries(${JSON.stringify(DOCUMENTS)})) {
    const nodes = await openapiTS(readFileSync(file, "utf8"), { silent: true });
    writeFileSync("theirs/" + variant + ".ts", astToString(nodes));
  }
`;

export function run(cwd: string, command: string, ...args: readonly string[]): void {
  const { status, error, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} failed: ${error?.message ?? `${stdout}${stderr}`}`);
}

/**
 * Downloads the package once, and returns the path of the document.
 * @throws NotMeasured without a network
 */
function downloadedDocument(): string {
  const cache = join(tmpdir(), "bivariant-bench", PACKAGE);
  const path = join(cache, DOCUMENT);
  if (existsSync(path)) return path;
  mkdirSync(cache, { recursive: true });
  try {
    // Without a network npm would try again for a minute, in each of the rows that need the
    // document.
    run(cache, "npm", "pack", PACKAGE, "--fetch-retries=0", "--fetch-timeout=20000");
    // It is unpacked into another folder first, because a process that is killed would leave a part
    // of the document.
    const unpacked = mkdtempSync(join(cache, "unpacked-"));
    run(cache, "tar", "-xzf", "octokit-openapi-23.0.2.tgz", "-C", unpacked, DOCUMENT);
    mkdirSync(dirname(path), { recursive: true });
    renameSync(join(unpacked, DOCUMENT), path);
    rmSync(unpacked, { recursive: true });
  } catch (error) {
    throw new NotMeasured(`${PACKAGE} cannot be downloaded. ${error}`);
  }
  return path;
}

/**
 * Converts OpenAPI 3.0 to 3.1. The document has nothing but `nullable` that 3.1 lacks, so nothing
 * else is changed.
 */
function convert(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(convert);
  if (typeof value !== "object" || value === null) return value;
  const { nullable, ...rest } = value as Record<string, unknown>;
  const schema = Object.fromEntries(
    Object.entries(rest).map(([key, member]) => [key, convert(member)]),
  );
  if (nullable !== true) return schema;
  if (schema.type === undefined) return { anyOf: [schema, { type: "null" }] };
  return { ...schema, type: [schema.type, "null"] };
}

/** The members of the document that the rows read. */
export interface ApiDocument {
  readonly info: { readonly title: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Record<string, unknown>>>>>;
  readonly components: Readonly<Record<"schemas" | "parameters", Readonly<Record<string, object>>>>;
}

/** Writes the documents of both variants into the folder, and returns that of Variant A. */
function writeDocuments({ folder }: Build): ApiDocument {
  const path = join(folder, DOCUMENTS.A);
  if (existsSync(path)) return JSON.parse(readFileSync(path, "utf8"));
  const document: ApiDocument = {
    ...Object(convert(JSON.parse(readFileSync(downloadedDocument(), "utf8")))),
    openapi: "3.1.0",
  };
  const { info, components } = document;
  const schemas = { ...components.schemas, "only-in-b": { type: "string" } };
  const other = {
    ...document,
    info: { ...info, title: "Of Variant B" },
    components: { ...components, schemas },
  };
  for (const side of ["ours", "theirs"]) mkdirSync(join(folder, side), { recursive: true });
  writeFileSync(join(folder, DOCUMENTS.B), JSON.stringify(other));
  writeFileSync(path, JSON.stringify(document));
  return document;
}

function programs({ folder }: Build): { readonly ours: Program; readonly theirs: Program } {
  const program = (code: string): Program => ({
    args: ["--input-type=module", "--eval", code],
    cwd: folder,
  });
  return { ours: program(OURS), theirs: program(THEIRS) };
}

/** Writes what `generate` makes of the documents: ours/generated/. */
export async function writeGenerated(build: Build): Promise<ApiDocument> {
  const document = writeDocuments(build);
  if (!existsSync(join(build.folder, "ours/generated/lock.json")))
    await runProgram(programs(build).ours);
  return document;
}

/**
 * Writes what both generators make of the documents: ours/generated/, theirs/A.ts and theirs/B.ts.
 */
export async function writeTypes(build: Build): Promise<ApiDocument> {
  const document = await writeGenerated(build);
  const { theirs } = programs(build);
  if (!existsSync(join(build.folder, "theirs/B.ts"))) await runProgram(theirs);
  return document;
}

export const generateTime: Row = {
  name: "generate-time",
  title:
    "generate with 1,223 operations in each variant against openapi-typescript alone, " +
    "processor time",
  unit: "times",
  aim: 1.15,
  seconds: 33,
  async measure(build, limit) {
    writeDocuments(build);
    return compareProcesses({
      ...programs(build),
      by: "cpuMs",
      aim: limit.aim,
      seconds: limit.seconds,
    });
  },
};

export const generateMemory: Row = {
  name: "generate-memory",
  title: "peak memory of that generate",
  unit: "MiB",
  aim: 300,
  seconds: 20,
  async measure(build, limit) {
    writeDocuments(build);
    const { ours, theirs } = programs(build);
    const { peakMiB } = await runProgram(theirs);
    const figures = await compareProcesses({
      ours,
      by: "peakMiB",
      aim: limit.aim,
      seconds: limit.seconds,
    });
    return { ...figures, detail: `openapi-typescript alone: ${peakMiB.toFixed(0)} MiB` };
  },
};
