/**
 * What requests look like, for emulation.ts: every parameter and body with its schema, without what
 * checks nothing.
 */
import { type Document, referred } from "../document/document.js";
import { isObject } from "../document/source-file.js";
import type { ListedDocument } from "../operations/list-operations.js";
import { isJsonSequence, type Parameter } from "../operations/messages.js";
import { ANNOTATIONS, requiredOf } from "../schemas/checked-schema.js";
import { isParameter } from "./call-types.js";

export interface DocumentedRequests {
  /** By operationId. */
  readonly operations: Readonly<Record<string, object>>;
  /** The schemas to which `$ref` leads from them, by the text of the reference. */
  readonly schemas: Readonly<Record<string, unknown>>;
}

export function documentedRequests(document: ListedDocument): DocumentedRequests {
  const schemas = new Map<string, unknown>();
  const bare = (source: unknown) => bareSchema(document, schemas, source);
  const operations = document.operations.flatMap(({ id, parameters, body }) => {
    const listed = parameters.filter(isParameter).map((one) => parameterOf(one, bare));
    const contents = (body?.all ?? []).map(({ mediaType, media, isItem, encoding }) => {
      const source = isItem && isJsonSequence(mediaType) ? { items: media.schema } : media.schema;
      const schema = source === undefined ? {} : { schema: bare(source) };
      return [
        mediaType,
        { ...schema, ...(Object.keys(encoding).length > 0 && { encoding }) },
      ] as const;
    });
    if (listed.length === 0 && contents.length === 0) return [];
    const entry = {
      ...(listed.length > 0 && { parameters: listed }),
      ...(contents.length > 0 && {
        body: { ...(body?.required && { required: true }), contents: Object.fromEntries(contents) },
      }),
    };
    return [[id, entry] as const];
  });
  return { operations: Object.fromEntries(operations), schemas: Object.fromEntries(schemas) };
}

function parameterOf(
  { in: place, name, required, form, source }: Parameter,
  bare: (source: unknown) => unknown,
): object {
  const { content, allowEmptyValue } = source ?? {};
  const media = form.content === undefined ? source : Object(content)[form.content];
  const schema =
    isObject(media) && media.schema !== undefined ? { schema: bare(media.schema) } : {};
  const isEmptyAllowed = allowEmptyValue === true && place === "query";
  return {
    in: place,
    name,
    ...(required && { required }),
    ...form,
    ...(isEmptyAllowed && { allowEmptyValue: true }),
    ...schema,
  };
}

/**
 * OpenAPI 3.0 says with two of them what 3.1 says with `contentMediaType` and `contentEncoding`.
 * `url` is no format of JSON Schema (`uri` is), and the pattern of the checker for it takes minutes
 * for some texts of 10,000 characters.
 */
const UNCHECKED_FORMATS: ReadonlySet<unknown> = new Set(["binary", "byte", "url"]);
const MAPS_OF_SCHEMAS: ReadonlySet<string> = new Set([
  ...["properties", "patternProperties", "dependentSchemas", "$defs"],
]);
const INSTANCES: ReadonlySet<string> = new Set(["enum", "const"]);

/**
 * Copies a schema without annotations, and adds those to which it refers to `schemas`. Alternatives
 * of `oneOf` are usually open objects that allow each other's values. A service picks one of them,
 * so that a value may fit several.
 */
function bareSchema(document: Document, schemas: Map<string, unknown>, source: unknown): unknown {
  const bare = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(bare);
    if (!isObject(value)) return value;
    if (typeof value.$ref === "string") refer(value.$ref);
    const kept = Object.entries(value).filter(
      ([key, member]) =>
        !(ANNOTATIONS.has(key) || key.startsWith("x-")) &&
        !(key === "format" && UNCHECKED_FORMATS.has(member)),
    );
    const members = kept.map(([key, member]) => {
      if (key === "required") return [key, requiredOf(document, value, "readOnly")];
      if (INSTANCES.has(key)) return [key, member];
      if (key === "oneOf" && value.anyOf === undefined) return ["anyOf", bare(member)];
      if (!MAPS_OF_SCHEMAS.has(key) || !isObject(member)) return [key, bare(member)];
      return [
        key,
        Object.fromEntries(Object.entries(member).map(([name, one]) => [name, bare(one)])),
      ];
    });
    return Object.fromEntries(members);
  };
  const refer = (reference: string) => {
    if (schemas.has(reference)) return;
    // A schema may refer to itself.
    schemas.set(reference, true);
    schemas.set(reference, bare(referred(document, reference)));
  };
  return bare(source);
}
