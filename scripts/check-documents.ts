// Checks the OpenAPI documents of openapi/ (or of another folder): Redocly's rules, then each
// example against its schema. Exits with 1 and names each place where something is wrong.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { type Document, follow, walkDocument } from "../src/generate/document/document.js";
import { readDocument } from "../src/generate/document/read-document.js";
import { isObject, type JsonObject, pointerTo } from "../src/generate/document/source-file.js";

/** One line for each problem, with file and place. */
export async function checkFolder(folder: string): Promise<string[]> {
  const files = (await readdir(folder)).filter((name) => /^variant-[ab]\.yaml$/.test(name)).sort();
  if (files.length === 0) return [`${folder} must hold variant-a.yaml or variant-b.yaml`];
  const problems: string[] = [];
  for (const file of files) {
    const document = await readDocument(file === "variant-a.yaml" ? "A" : "B", join(folder, file));
    problems.push(...(await lintDocument(folder, file)), ...checkExamples(document));
  }
  return problems;
}

/** Without these variables Redocly asks the network for updates and reports how it is used. */
const OFFLINE = { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };

interface Report {
  readonly problems: readonly {
    readonly ruleId: string;
    readonly message: string;
    readonly location: readonly {
      readonly source: { readonly ref: string };
      readonly pointer?: string;
    }[];
  }[];
}

/** A `redocly.yaml` in the folder sets the rules. */
async function lintDocument(folder: string, file: string): Promise<string[]> {
  const require = createRequire(import.meta.url);
  const manifestPath = require.resolve("@redocly/cli/package.json");
  const { bin } = require(manifestPath) as { bin: Record<string, string> };
  const config = existsSync(join(folder, "redocly.yaml")) ? ["--config", "redocly.yaml"] : [];
  const args = [
    join(dirname(manifestPath), bin.redocly ?? ""),
    "lint",
    "--format",
    "json",
    ...config,
    file,
  ];
  const options = { cwd: folder, env: { ...process.env, ...OFFLINE }, maxBuffer: 64 * 1024 * 1024 };
  const { problems } = await new Promise<Report>((resolve, reject) => {
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      // With problems Redocly exits with 1 and prints a report; when it fails to run, there is no
      // report.
      if (!stdout.includes('"problems"'))
        reject(new Error(`Redocly printed no report: ${stderr || error}`));
      else resolve(JSON.parse(stdout.slice(stdout.indexOf("{"), stdout.lastIndexOf("}") + 1)));
    });
  });
  return problems.map(
    ({ ruleId, message, location: [place] }) =>
      `${place?.source.ref ?? folder}${place?.pointer ?? ""}: ${message} (${ruleId})`,
  );
}

/** Annotations that Ajv's strict mode would report as misspelt keywords of a schema. */
const ANNOTATIONS = ["example", "discriminator", "externalDocs", "xml", "x-not-shown", "x-limits"];

/** One line for each example that breaks its schema, and for each schema that does not compile. */
function checkExamples(document: Document): string[] {
  const ajv = new Ajv2020({ allErrors: true, strictTypes: false, strictRequired: false });
  addFormats.default(ajv);
  // Ajv reads the document's top level as a schema too: local references resolve against it.
  ajv.addVocabulary([...new Set([...ANNOTATIONS, ...Object.keys(document.root)])]);
  ajv.addSchema(document.root, document.file);
  const problems: string[] = [];
  const check = ({ schema, example, pointer }: Example): void => {
    try {
      const fragment = schema.split("/").map(encodeURIComponent).join("/");
      const validate = ajv.compile({ $ref: `${document.file}#${fragment}` });
      if (validate(example)) return;
      const reasons = (validate.errors ?? []).map((error) =>
        `${error.instancePath} ${error.message}`.trim(),
      );
      problems.push(`${document.file}#${pointer}: ${reasons.join("; ")}`);
    } catch (error) {
      problems.push(
        `${document.file}#${schema}: ${error instanceof Error ? error.message : error}`,
      );
    }
  };
  walkDocument(document.root, (value, place) => {
    for (const example of listExamples(document, value, place())) check(example);
  });
  return problems;
}

export interface Example {
  /** JSON pointer of the schema that the example must conform to. */
  readonly schema: string;
  readonly example: unknown;
  /** JSON pointer of the example. */
  readonly pointer: string;
}

/**
 * Next to `schema` (media type, parameter, header) examples are a map of Example Objects; inside a
 * schema a list.
 */
function listExamples(document: Document, value: JsonObject, pointer: string): Example[] {
  const schema = value.schema === undefined ? pointer : pointerTo(pointer, "schema");
  const found: Example[] = [];
  if (value.example !== undefined) {
    found.push({ schema, example: value.example, pointer: pointerTo(pointer, "example") });
  }
  if (Array.isArray(value.examples)) {
    for (const [index, example] of value.examples.entries()) {
      found.push({ schema, example, pointer: pointerTo(pointer, "examples", index) });
    }
  } else if (isObject(value.examples) && value.schema !== undefined) {
    for (const [name, entry] of Object.entries(value.examples)) {
      const place = follow(document, entry, pointerTo(pointer, "examples", name));
      if (!isObject(place.value) || place.value.value === undefined) continue;
      found.push({
        schema,
        example: place.value.value,
        pointer: pointerTo(place.pointer, "value"),
      });
    }
  }
  return found;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const problems = await checkFolder(
    process.argv[2] ?? fileURLToPath(new URL("../openapi", import.meta.url)),
  );
  for (const problem of problems) console.error(problem);
  if (problems.length === 0) console.log("openapi/: every rule and every example holds");
  process.exitCode = problems.length === 0 ? 0 : 1;
}
