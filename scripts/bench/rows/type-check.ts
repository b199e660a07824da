// Compares what TypeScript 5.9 needs for programs that call a public API of 1,223 operations in
// each variant.
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Build, compareProcesses, type Limit, type Program, type Row } from "../measure.js";
import { type ApiDocument, run, writeTypes } from "./generator.js";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

export const CALLS = 200;

const OURS = `import { connect, servicePlugin, serviceAccount } from "bivariant";
import * as api from "./generated/operations.js";
declare const privateKey: string;
const credentials = [
  servicePlugin({ clientId: "plugin", privateKey }),
  serviceAccount({ clientId: "account", clientSecret: "secret" }),
];
const service = await connect({ baseUrl: "https://service.example", tenantId: "t", credentials, api });
`;
const THEIRS = `import createClient from "openapi-fetch";
import type { paths as PathsA } from "./A.js";
import type { paths as PathsB } from "./B.js";
const clients = {
  A: createClient<PathsA>({ baseUrl: "https://service.example" }),
  B: createClient<PathsB>({ baseUrl: "https://service.example" }),
};
`;
/** The expected error proves that the types are there. */
const PROOF = `export const name: string | undefined = data?.full_name;
// @ts-expect-error
export const wrong: number | undefined = data?.full_name;
`;
const COMPILER_OPTIONS = {
  strict: true,
  skipLibCheck: true,
  noEmit: true,
  module: "nodenext",
  types: [],
};

interface Operation {
  readonly id: string;
  readonly path: string;
  readonly names: readonly string[];
}

/**
 * Returns the operations that need only names of owners, repositories and the like, all of them in
 * the path.
 */
function readsOf({ paths, components }: ApiDocument): Operation[] {
  const known = ["owner", "repo", "org", "username", "enterprise"];
  const isGiven = (parameter: {
    $ref?: string;
    in?: string;
    name?: string;
    required?: boolean;
  }): boolean => {
    const { $ref = "" } = parameter;
    const target =
      $ref === "" ? parameter : components.parameters[$ref.slice($ref.lastIndexOf("/") + 1)];
    const { required, in: place, name }: typeof parameter = target ?? {};
    return place === "path" ? known.includes(name ?? "") : required !== true;
  };
  return Object.entries(paths).flatMap(([path, { get }]) => {
    const names = [...path.matchAll(/\{([^}]+)\}/g)].map(([, name = ""]) => name);
    const parameters = Array.isArray(get?.parameters) ? get.parameters : [];
    const isKnown =
      get !== undefined && parameters.every(isGiven) && names.every((name) => known.includes(name));
    return isKnown ? { id: String(get.operationId), path, names } : [];
  });
}

function initOf({ names }: Operation): string {
  const members = names.map((name) => `${name}: "x"`).join(", ");
  return names.length === 0 ? "" : `, { params: { path: { ${members} } } }`;
}

/** Writes projects with one call and with 200, and the declarations of this package. */
export async function writePrograms(build: Build): Promise<void> {
  const { folder } = build;
  const document = await writeTypes(build);
  if (existsSync(join(folder, "theirs/calls.ts"))) return;
  const compiler = join(ROOT, "node_modules/typescript-7/bin/tsc");
  run(
    ROOT,
    process.execPath,
    compiler,
    "-p",
    "tsconfig.build.json",
    "--outDir",
    join(folder, "dist"),
  );
  const reads = readsOf(document);
  const one = reads.find(({ id }) => id === "repos/get");
  const all = Array.from(
    { length: CALLS },
    (_, index) => reads[Math.floor((index * reads.length) / CALLS)],
  );
  if (one === undefined) throw new Error("The document has no repos/get.");
  const write = (side: string, name: string, lines: readonly string[]): void => {
    writeFileSync(join(folder, side, `${name}.ts`), lines.join("\n"));
    const project = {
      compilerOptions: COMPILER_OPTIONS,
      include: ["generated", "A.ts", "B.ts", `${name}.ts`],
    };
    writeFileSync(join(folder, side, `tsconfig.${name}.json`), JSON.stringify(project));
    writeFileSync(join(folder, side, "tsconfig.json"), JSON.stringify(project));
  };
  const narrowed = `if (service.variant !== "B") throw new Error("Variant A");`;
  const ourCall = (operation: Operation) =>
    `await service.call("${operation.id}"${initOf(operation)})`;
  const theirCall = (variant: string, operation: Operation) =>
    `await clients.${variant}.GET("${operation.path}"${initOf(operation)})`;
  write("ours", "one", [OURS, narrowed, `const { data } = ${ourCall(one)};`, PROOF]);
  write("theirs", "one", [THEIRS, `const { data } = ${theirCall("B", one)};`, PROOF]);
  const rest = "if (error) throw error; return data; }";
  const functions = (call: (variant: string, operation: Operation) => string) =>
    all.flatMap((operation, index) => {
      if (operation === undefined) return [];
      return (
        `export async function call${index}() { ` +
        `${call(index % 2 === 0 ? "A" : "B", operation)}; ${rest}`
      );
    });
  const ours = functions((variant, operation) => {
    const isOther = `if (service.variant !== "${variant}") return undefined;`;
    return `${isOther} const { data, error } = ${ourCall(operation)}`;
  });
  const theirs = functions(
    (variant, operation) => `const { data, error } = ${theirCall(variant, operation)}`,
  );
  write("ours", "calls", [OURS, ...ours]);
  write("theirs", "calls", [THEIRS, ...theirs]);
}

async function measure(build: Build, limit: Limit, name: string) {
  await writePrograms(build);
  const args = [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", `tsconfig.${name}.json`];
  const program = (side: string): Program => ({ args, cwd: join(build.folder, side) });
  const sides = { ours: program("ours"), theirs: program("theirs") };
  return compareProcesses({ ...sides, by: "cpuMs", aim: limit.aim, seconds: limit.seconds });
}

/**
 * Both programs hold the types of both variants, ours also the other generated files, and make one
 * call of Variant B. A call of each variant would cost openapi-fetch more.
 */
export const typeCheckOneCall: Row = {
  name: "type-check-one-call",
  title:
    "TypeScript 5.9 checks one call of 1,223 operations in two variants against openapi-fetch, " +
    "processor time",
  unit: "times",
  aim: 1,
  seconds: 27,
  measure: (build, limit) => measure(build, limit, "one"),
};

export const typeCheck200Calls: Row = {
  name: "type-check-200-calls",
  title: "the same with 200 calls, half of each variant",
  unit: "times",
  aim: 1,
  seconds: 35,
  measure: (build, limit) => measure(build, limit, "calls"),
};
