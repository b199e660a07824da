// Compares new processes that check one answer of each of 200 operations of a public document: with
// the generated schemas, and with Ajv, which compiles the schema of each answer from the same
// document.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build as bundle } from "esbuild";
import { type Build, compareProcesses, type Program, type Row } from "../measure.js";
import { type ApiDocument, DOCUMENTS, writeGenerated } from "./generator.js";

const MOST = 200;
const CHECKS = "checks.json";

interface Answer {
  readonly status: number;
  readonly body?: unknown;
}

const OURS = `
  import { readFileSync } from "node:fs";
  import { schemas } from "./built/schemas.js";
  for (const { id, status, body } of JSON.parse(readFileSync("${CHECKS}", "utf8")))
    if (!schemas.A.operations[id].responses[status]().safeParse(body).success) throw new Error(id);
`;
const THEIRS = `
  import { readFileSync } from "node:fs";
  import { Ajv2020 } from "ajv/dist/2020.js";
  import addFormats from "ajv-formats";
  const ajv = addFormats.default(new Ajv2020({ strict: false, logger: false }));
  ajv.addSchema(JSON.parse(readFileSync("${DOCUMENTS.A}", "utf8")), "document");
  for (const { id, reference, body } of JSON.parse(readFileSync("${CHECKS}", "utf8")))
    if (!ajv.compile({ $ref: "document" + reference })(body)) throw new Error(id);
`;

/**
 * The operations whose answer in JSON is described at their place, each with the answer of the
 * emulator.
 */
function checksOf({ paths }: ApiDocument, answers: Readonly<Record<string, Answer>>): object[] {
  const escaped = (key: string) =>
    encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"));
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, { operationId, responses }]) => {
      const { status, body } = answers[String(operationId)] ?? { status: 0 };
      const content = Object(Object(responses)[status]).content;
      if (body === undefined || Object(content)["application/json"] === undefined) return [];
      const keys = [
        "paths",
        path,
        method,
        "responses",
        `${status}`,
        "content",
        "application/json",
        "schema",
      ];
      return [{ id: operationId, status, body, reference: `#/${keys.map(escaped).join("/")}` }];
    }),
  );
}

async function writeChecks(build: Build): Promise<void> {
  const document = await writeGenerated(build);
  const generated = join(build.folder, "ours/generated");
  await bundle({
    entryPoints: ["schemas.ts", "emulation.ts"].map((name) => join(generated, name)),
    outdir: join(build.folder, "built"),
    format: "esm",
  });
  const { emulation } = await import(pathToFileURL(join(build.folder, "built/emulation.js")).href);
  writeFileSync(
    join(build.folder, CHECKS),
    JSON.stringify(checksOf(document, emulation.A).slice(0, MOST)),
  );
}

export const firstChecks: Row = {
  name: "first-checks",
  title:
    "the first check of 200 answers of a large document against Ajv's compile and check of the " +
    "same schemas",
  unit: "times",
  aim: 5,
  seconds: 8,
  async measure(build, limit) {
    await writeChecks(build);
    const program = (code: string): Program => ({
      args: ["--input-type=module", "--eval", code],
      cwd: build.folder,
    });
    const programs = { ours: program(OURS), theirs: program(THEIRS), bare: program("") };
    return compareProcesses({ ...programs, by: "cpuMs", aim: limit.aim, seconds: limit.seconds });
  },
};
