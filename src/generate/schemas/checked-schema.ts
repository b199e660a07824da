/**
 * The part of a schema that the validator checks. What it cannot check does not stop the generator:
 * it is left out, with a warning that says what was meant. So are unknown keywords, since one of
 * them may be a misspelt one.
 */
import { unescape as percentDecoded } from "node:querystring";
import { FORMATS, patternOf } from "../../json-schema/formats.js";
import { mostAlike } from "../../option-names.js";
import {
  atPointer,
  type Document,
  follow,
  referenceTarget,
  walkDocument,
  warnAt,
} from "../document/document.js";
import {
  entriesOf,
  isObject,
  type JsonObject,
  keysOf,
  listOf,
  pointerTo,
} from "../document/source-file.js";

export type Schema = JsonObject | boolean;

export interface Naming {
  readonly document: Document;
  /** Name among the definitions of the schema at a pointer of the document. */
  readonly nameOf: (pointer: string) => string;
}

const TYPES: ReadonlySet<unknown> = new Set([
  ...["object", "array", "string", "number", "integer", "boolean", "null"],
]);

/** Keywords that say something about values, and allow all of them. */
export const ANNOTATIONS: ReadonlySet<string> = new Set([
  ...["title", "description", "default", "readOnly", "writeOnly", "deprecated", "example"],
  ...["examples", "contentEncoding", "contentMediaType", "contentSchema", "discriminator"],
  ...["externalDocs", "xml", "$comment"],
]);

/** Keywords without a check. Definitions are read where a reference leads to them. */
export const UNCHECKED: ReadonlySet<string> = new Set([
  ...ANNOTATIONS,
  ...["$schema", "$vocabulary", "$id", "$anchor", "$dynamicAnchor", "$defs", "definitions"],
]);

/** Of other specifications, and what to write instead. */
const FOREIGN: Readonly<Record<string, string>> = {
  nullable: 'null is not allowed here. Write "null" into `type`',
  dependencies: "Write `dependentRequired` or `dependentSchemas`",
  additionalItems: "Write `prefixItems`, and `items` for what comes after them",
  divisibleBy: "Write `multipleOf`",
  $dynamicRef: "The validator does not follow it. Write `$ref`",
  $recursiveRef: "Write `$ref`",
};

/** Returns what is checked, or undefined after a warning, or if the value is wrong. */
type Reader = (value: unknown, pointer: string, naming: Naming) => unknown;

const only =
  (isRight: (value: unknown) => boolean): Reader =>
  (value) =>
    isRight(value) ? value : undefined;
const ofType = (type: string): Reader => only((value) => typeof value === type);
const count = only((value) => Number.isInteger(value) && Number(value) >= 0);
const names = only(
  (value) => Array.isArray(value) && value.every((name) => typeof name === "string"),
);
const schema: Reader = (value, pointer, naming) =>
  isObject(value) || typeof value === "boolean" ? checkedSchema(value, pointer, naming) : undefined;
const schemas: Reader = (value, pointer, naming) =>
  Array.isArray(value) && value.length > 0
    ? value.map((one, index) => checkedSchema(one, pointerTo(pointer, index), naming))
    : undefined;
const mapOf =
  (reader: Reader): Reader =>
  (value, pointer, naming) => {
    if (!isObject(value)) return undefined;
    const entries = Object.entries(value).map(([name, one]) => [
      name,
      reader(one, pointerTo(pointer, name), naming),
    ]);
    return Object.fromEntries(entries.filter(([, one]) => one !== undefined));
  };

/** Each keyword with its reader, and what its value must be. */
const READERS = new Map<string, readonly [Reader, must: string]>([
  ...each(
    [
      ...["items", "contains", "additionalProperties", "propertyNames", "not", "if", "then"],
      ...["else", "unevaluatedItems", "unevaluatedProperties"],
    ],
    schema,
    "a schema",
  ),
  ...each(["allOf", "anyOf", "oneOf", "prefixItems"], schemas, "a list of schemas"),
  ...each(
    ["properties", "patternProperties", "dependentSchemas"],
    mapOf(checkedSchema),
    "an object of schemas",
  ),
  ...each(
    ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
    ofType("number"),
    "a number",
  ),
  ["multipleOf", [only((value) => typeof value === "number" && value > 0), "a number above 0"]],
  ...each(
    [
      ...["minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains"],
      ...["minProperties", "maxProperties"],
    ],
    count,
    "a count",
  ),
  ["uniqueItems", [ofType("boolean"), "true or false"]],
  ["required", [names, "a list of names"]],
  ["dependentRequired", [mapOf(names), "an object of lists of names"]],
  ["enum", [only((value) => Array.isArray(value) && value.length > 0), "a list of values"]],
  ["const", [(value) => value, "a value"]],
  ["pattern", [ofType("string"), "a regular expression"]],
  ["format", [ofType("string"), "a name"]],
  ["type", [(value) => value, "a type"]],
  ["$ref", [referenceTo, "a reference"]],
]);

/** The keywords that check something. */
export const KEYWORDS: ReadonlySet<string> = new Set(READERS.keys());

function each(keywords: readonly string[], reader: Reader, must: string) {
  return keywords.map((keyword) => [keyword, [reader, must]] as const);
}

export function checkedSchema(source: unknown, pointer: string, naming: Naming): Schema {
  if (typeof source === "boolean") return source;
  const { document } = naming;
  const warn = (at: string, message: string) => {
    const end = /[.?]$/.test(message) ? "" : ".";
    warnAt(document, "schema_unsupported", at, `${message}${end} It is not checked`);
  };
  if (!isObject(source)) {
    warn(pointer, "a schema must be an object, true or false");
    const parent = pointer.slice(0, pointer.lastIndexOf("/"));
    Object.assign(Object(atPointer(document.root, parent)), { [keysOf(pointer).at(-1) ?? ""]: {} });
    return true;
  }
  const found: [keyword: string, value: unknown][] = [];
  for (const [keyword, value] of Object.entries(source)) {
    const at = pointerTo(pointer, keyword);
    const isSilent = UNCHECKED.has(keyword) || keyword.startsWith("x-");
    const isWithoutEffect =
      (keyword === "nullable" && value === false) ||
      (keyword === "format" && typeof value === "string" && !FORMATS.has(value));
    if (isSilent || isWithoutEffect) continue;
    const [reader, must] = READERS.get(keyword) ?? [];
    if (reader === undefined) {
      warn(
        at,
        `${JSON.stringify(keyword)} is not a keyword of JSON Schema 2020-12. ${adviceFor(keyword)}`,
      );
      continue;
    }
    // What is wrong goes from the document too, because openapi-typescript would fail, or no sample
    // would be allowed.
    const refuse = (message: string) => {
      warn(at, message);
      Reflect.deleteProperty(source, keyword);
    };
    const wrong = keyword === "type" ? [value].flat().find((name) => !TYPES.has(name)) : undefined;
    if (wrong !== undefined) {
      refuse(`${JSON.stringify(wrong)} is not a type; use one of ${[...TYPES].join(", ")}`);
      continue;
    }
    const patterns =
      keyword === "pattern"
        ? [value]
        : keyword === "patternProperties"
          ? Object.keys(Object(value))
          : [];
    const unusable = patterns.find(
      (one) => typeof one === "string" && patternOf(one) === undefined,
    );
    if (unusable !== undefined) {
      const message = `${JSON.stringify(unusable)} is not a regular expression of ECMAScript`;
      if (keyword === "pattern") {
        refuse(message);
        continue;
      }
      warn(at, message);
    }
    const read = reader(value, at, naming);
    if (read === undefined)
      refuse(`${JSON.stringify(keyword)} must be ${must}${hintFor(keyword, value)}`);
    else
      found.push([
        keyword,
        keyword === "required" ? requiredOf(document, source, "writeOnly") : read,
      ]);
  }
  const discriminator = discriminatorOf(source, pointer, naming);
  return { ...Object.fromEntries(found), ...(discriminator && { discriminator }) };
}

/** What requests lack and what answers lack, each with the name of the namespace of its types. */
export const DIRECTIONS = { readOnly: "requests", writeOnly: "answers" } as const;
export type Exception = keyof typeof DIRECTIONS;

/**
 * The required members of an answer, which lacks what is only written, or of a request, which lacks
 * what is only read (OpenAPI 3.0.3, Schema Object).
 */
export function requiredOf(
  document: Document,
  { properties, required }: JsonObject,
  except: Exception,
): unknown[] {
  const members = new Map(entriesOf(properties));
  return listOf(required).filter((name) => {
    const member = members.get(String(name));
    const { value } = follow(document, member);
    return ![member, value].some((one) => isObject(one) && one[except] === true);
  });
}

const found = {
  readOnly: new WeakMap<Document, ReadonlySet<unknown>>(),
  writeOnly: new WeakMap<Document, ReadonlySet<unknown>>(),
};

/**
 * The schemas of bodies and answers that require, themselves or in what they refer to, a member
 * that may be missing in this direction.
 */
export function schemasRequiringLess(document: Document, except: Exception): ReadonlySet<unknown> {
  const known = found[except].get(document);
  if (known !== undefined) return known;
  const less = new Set<unknown>();
  const all = new Set<unknown>();
  const users = new Map<unknown, Set<unknown>>();
  walkDocument(document.root, ({ schema }) => void all.add(schema));
  // Both sets grow while they are read.
  for (const source of all)
    walkDocument(source, (value) => {
      const { $ref, required } = value;
      if (listOf(required).length > requiredOf(document, value, except).length) less.add(source);
      if (typeof $ref !== "string") return;
      const target = atPointer(document.root, percentDecoded($ref.slice(1)));
      all.add(target);
      users.set(target, (users.get(target) ?? new Set()).add(source));
    });
  for (const one of less) for (const user of users.get(one) ?? []) less.add(user);
  found[except].set(document, less);
  return less;
}

function adviceFor(keyword: string): string {
  if (Object.hasOwn(FOREIGN, keyword)) return `${FOREIGN[keyword]}.`;
  const meant = mostAlike(keyword, [...KEYWORDS, ...UNCHECKED]);
  return meant === undefined
    ? "Remove it, or start its name with x-."
    : `Did you mean ${JSON.stringify(meant)}?`;
}

function hintFor(keyword: string, value: unknown): string {
  if (keyword === "items" && Array.isArray(value)) return "; write the list as `prefixItems`";
  if (keyword.startsWith("exclusive") && typeof value === "boolean")
    return "; it takes the place of the other limit";
  if (keyword === "required" && typeof value === "boolean") return " in the schema of the object";
  return "";
}

function referenceTo(
  reference: unknown,
  pointer: string,
  { document, nameOf }: Naming,
): string | undefined {
  if (typeof reference !== "string") return undefined;
  return pointerTo("#/$defs", nameOf(referenceTarget(document, reference, pointer)));
}

/** It checks nothing, but by it an error can name the branch that is meant. */
function discriminatorOf(
  source: JsonObject,
  pointer: string,
  naming: Naming,
): JsonObject | undefined {
  const { propertyName, mapping } = Object(source.discriminator) as JsonObject;
  if (typeof propertyName !== "string" || (source.oneOf ?? source.anyOf) === undefined)
    return undefined;
  const entries = entriesOf(mapping).map(([kind, reference]) => [
    kind,
    referenceTo(reference, pointer, naming),
  ]);
  return { propertyName, ...(entries.length > 0 && { mapping: Object.fromEntries(entries) }) };
}
