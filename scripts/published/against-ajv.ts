// Holds the validator against Ajv 2020 over every schema of published documents, with samples and
// with changed samples.
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { readDocument } from "../../src/generate/document/read-document.js";
import { isObject, pointerTo } from "../../src/generate/document/source-file.js";
import { schemaTable } from "../../src/generate/emit/schemas.js";
import { withOperations } from "../../src/generate/operations/list-operations.js";
import { NOT_FOUND, sampleOf } from "../../src/generate/schemas/sample.js";
import { jsonChecker } from "../../src/json-schema/index.js";
import type { PublishedDocument } from "./documents.js";

export interface Comparison {
  readonly document: string;
  readonly schemas: number;
  /** Samples, and values made of them by changing one member. */
  readonly values: number;
  /** Of these, so many are allowed by both. */
  readonly allowed: number;
  /** Schemas without a sample. */
  readonly withoutSample: number;
  /** Schemas that Ajv does not compile, and documents of which nothing is generated. */
  readonly notCompared: readonly string[];
  readonly differences: readonly Difference[];
}

export interface Difference {
  readonly schema: string;
  readonly value: unknown;
  readonly allowedBy: "ajv" | "validator";
  readonly isSample: boolean;
}

/** What the validator checks; every other format is an annotation. */
const FORMATS = ["date", "date-time", "email", "ipv4", "ipv6", "uri", "uuid"] as const;
const OTHERS: readonly unknown[] = [null, "text", "", 0, -1.5, true, [], {}, [null], { a: null }];
const MOST_VALUES = 200;

export async function againstAjv({ name, path }: PublishedDocument): Promise<Comparison> {
  const none = { document: name, schemas: 0, values: 0, allowed: 0, withoutSample: 0 };
  try {
    const document = withOperations(await readDocument("B", path));
    document.findings.refuse();
    const { definitions } = schemaTable(document);
    const check = jsonChecker(Object.fromEntries(definitions));
    const compile = ajvOf(document.root);
    const found = { ...none, notCompared: [] as string[], differences: [] as Difference[] };
    for (const schema of definitions.keys()) {
      found.schemas += 1;
      const pointer = schema.startsWith("/") ? schema : pointerTo("/components/schemas", schema);
      const allows = compile(pointer);
      if (typeof allows === "string") {
        found.notCompared.push(`${schema}: ${allows}`);
        continue;
      }
      const issuesOf = check(schema);
      const sample = sampleOf(document, { $ref: `#${pointer}` });
      if (sample === NOT_FOUND) found.withoutSample += 1;
      for (const [index, value] of valuesOf(sample).entries()) {
        found.values += 1;
        const verdicts = [allows(value), issuesOf(value).length === 0];
        if (verdicts[0] && verdicts[1]) found.allowed += 1;
        const isSample = index === 0 && sample !== NOT_FOUND;
        if (verdicts[0] === verdicts[1] && (verdicts[0] || !isSample)) continue;
        const allowedBy = verdicts[0] ? "ajv" : "validator";
        found.differences.push({ schema, value, allowedBy, isSample });
      }
    }
    return found;
  } catch (error) {
    return { ...none, notCompared: [(error as Error).message.slice(0, 300)], differences: [] };
  }
}

/** Compiles the schema at a pointer of a document, or says why not. */
function ajvOf(root: object): (pointer: string) => ((value: unknown) => boolean) | string {
  // Ajv knows `nullable` of OpenAPI 3.0, which has no meaning here any more, and reads `$schema` of
  // a whole document.
  const own = JSON.parse(
    JSON.stringify(root, (key, value) =>
      key === "nullable" && value === true ? undefined : value,
    ),
  );
  delete own.$schema;
  const options = {
    strict: false,
    logger: false,
    validateSchema: false,
    ownProperties: true,
  } as const;
  const ajv = new Ajv2020({ ...options, code: { regExp: patternOf } });
  addFormats.default(ajv, { formats: [...FORMATS] });
  ajv.addSchema(own, "document");
  return (pointer) => {
    try {
      const fragment = pointer.split("/").map(encodeURIComponent).join("/");
      const validate = ajv.compile({ $ref: `document#${fragment}` });
      return (value) => validate(value) === true;
    } catch (error) {
      return (error as Error).message.slice(0, 200);
    }
  };
}

/**
 * As documented: with the flag `u` if that is legal, else without it; one that is none of
 * ECMAScript is not checked.
 */
function patternOf(pattern: string, flags: string): RegExp {
  for (const one of [flags, flags.replace("u", "")]) {
    try {
      return new RegExp(pattern, one);
    } catch {
      // The next way.
    }
  }
  return /(?:)/;
}
patternOf.code = "patternOf";

/** The sample first, then values that differ from it in one place, down to two levels. */
function valuesOf(sample: unknown): readonly unknown[] {
  if (sample === NOT_FOUND || sample === undefined) return OTHERS;
  return [sample, ...changed(sample, 2), ...OTHERS].slice(0, MOST_VALUES);
}

function* changed(value: unknown, levels: number): Generator<unknown> {
  if (typeof value !== "object" || value === null || levels === 0) return;
  if (Array.isArray(value)) {
    yield [...value, ...value];
    for (const other of OTHERS) yield [...value, other];
    for (const first of changed(value[0], levels - 1)) yield [first, ...value.slice(1)];
    return;
  }
  const object = isObject(value) ? value : {};
  for (const [name, member] of Object.entries(object)) {
    const { [name]: _, ...others } = object;
    yield others;
    for (const other of OTHERS) yield { ...object, [name]: other };
    if (typeof member === "string") yield { ...object, [name]: `${member} ` };
    if (typeof member === "number") yield { ...object, [name]: member + 0.5 };
    for (const inner of changed(member, levels - 1)) yield { ...object, [name]: inner };
  }
  yield { ...object, "not documented": 1 };
}
