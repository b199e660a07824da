// Writes a module that calls every operation of a document, with arguments from the samples of the
// document.
import {
  atPointer,
  type Document,
  follow,
  walkDocument,
} from "../../src/generate/document/document.js";
import { isObject, type JsonObject } from "../../src/generate/document/source-file.js";
import {
  isFile as isFileSchema,
  isNeeded,
  isParameter,
} from "../../src/generate/emit/call-types.js";
import type { Operation } from "../../src/generate/operations/list-operations.js";
import {
  type Body,
  isBinary,
  isJson,
  isJsonSequence,
  isMultipart,
  isUrlencoded,
  mediaTypeSent,
  type Parameter,
} from "../../src/generate/operations/messages.js";
import { mergedSchema } from "../../src/generate/schemas/alternatives.js";
import { isAllowed, NOT_FOUND, sampleOf } from "../../src/generate/schemas/sample.js";

export interface TypedCalls {
  /**
   * The text of a module, for which `operations.ts` beside it has the types: a function for each
   * operation.
   */
  readonly module: string;
  /** Why an operation has no function, by its id. */
  readonly notCalled: ReadonlyMap<string, string>;
  /** The operations whose body no value has that both its schema and its type allow. */
  readonly untyped: readonly string[];
}

export function typedCalls(document: Document, operations: readonly Operation[]): TypedCalls {
  const notCalled = new Map<string, string>();
  const untyped: string[] = [];
  const open = withAnyOf(document);
  const calls = operations.flatMap(({ id, ...operation }) => {
    const init = initOf(document, open, { id, ...operation });
    if (typeof init !== "string") {
      notCalled.set(id, init.reason);
      return [];
    }
    if (init.includes(CAST)) untyped.push(id);
    return (
      `    ${JSON.stringify(id)}: () => ` +
      `service.call(${[JSON.stringify(id), init].filter(Boolean).join(", ")}),\n`
    );
  });
  const module = [
    `import type { Service } from "bivariant";\nimport type { OperationTypes } from ` +
      `"./operations.js";\n`,
    `type OwnService = Extract<Service<OperationTypes>, { readonly variant: "B" }>;\n`,
    "export function callsOf(service: OwnService): " +
      `object {\n  void service;\n  return {\n${calls.join("")}  };\n}\n`,
  ].join("\n");
  return { module, notCalled, untyped };
}

/**
 * Where of several open objects only one may allow a value, it needs members that the types of none
 * allow.
 */
function withAnyOf(document: Document): Document {
  const root = structuredClone(document.root);
  walkDocument(root, (value) => {
    const { oneOf, ...others } = value;
    if (oneOf === undefined || others.anyOf !== undefined) return;
    delete (value as { oneOf?: unknown }).oneOf;
    Object.assign(value, { anyOf: oneOf });
  });
  return { ...document, root };
}

/** The text of a value in a program. */
type Text = string;
const CAST: Text = " as never";
interface Missing {
  readonly reason: string;
}

function initOf(document: Document, open: Document, operation: Operation): Text | Missing {
  const places = new Map<string, Text[]>();
  let length = 0;
  for (const parameter of operation.parameters.filter(isParameter)) {
    const value = parameterValue(document, operation, parameter);
    length += parameter.name.length + encodeURIComponent(JSON.stringify(value) ?? "").length;
    const isLeftOut =
      value === undefined || !isWritable(parameter, value) || length > LONGEST_QUERY;
    if (isLeftOut && !isNeeded("B", parameter)) continue;
    if (value === undefined)
      return { reason: `no value is found for the parameter ${parameter.name}; give an example` };
    const member = `${JSON.stringify(parameter.name)}: ${JSON.stringify(value)}`;
    places.set(parameter.in, [...(places.get(parameter.in) ?? []), member]);
  }
  const params = [...places].map(([place, members]) => `${place}: { ${members.join(", ")} }`);
  const fields = params.length > 0 ? [`params: { ${params.join(", ")} }`] : [];
  const { body } = operation;
  if (body !== undefined) {
    const value = bodyValue(document, open, body);
    if (value === undefined && body.required)
      return { reason: "no value is found for the body; give an example" };
    if (value !== undefined) fields.push(`body: ${value}`);
    if (value !== undefined && mediaTypeSent(body) === undefined)
      fields.push(`headers: { "content-type": ${JSON.stringify(rangeMember(body.mediaType))} }`);
  }
  return fields.length === 0 ? "" : `{ ${fields.join(", ")} }`;
}

/** In characters. A server of Node reads a head of at most 16 KiB. */
const LONGEST_QUERY = 8000;

/** A value that OpenAPI leaves undefined in its style is not sent where it is optional. */
function isWritable({ form: { content, style } }: Parameter, value: unknown): boolean {
  if (content !== undefined) return true;
  const isPlain = (one: unknown) => typeof one !== "object" || one === null;
  if (isPlain(value)) return style !== "deepObject";
  return Object.values(Object(value)).every(isPlain);
}

/** A media type of a range such as `image/*`. */
function rangeMember(range: string): string {
  return range.replace(/\*.*$/, "x-any");
}

/**
 * An example of the parameter that its schema allows, else a sample. Undefined if nothing is found.
 */
function parameterValue(
  document: Document,
  { path, source }: Operation,
  wanted: Parameter,
): unknown {
  const item = follow(document, Object(document.root.paths)[path], "").value;
  for (const list of [source.parameters, Object(item).parameters]) {
    for (const entry of Array.isArray(list) ? list : []) {
      const { value } = follow(document, entry, "");
      if (!isObject(value) || value.name !== wanted.name || value.in !== wanted.in) continue;
      const [media = value] = Object.values(Object(value.content)).filter(isObject);
      const [example] = wanted.required ? examplesIn(document, media) : [];
      // What several schemas of a oneOf allow is refused by the validator, but a server may well
      // take the example.
      const found =
        exampleOf(document, media) ?? sampled(document, media.schema, "text") ?? example;
      // An empty list is a parameter that is not sent.
      if (!Array.isArray(found) || found.length > 0) return found;
      const item = sampled(document, mergedSchema(document, media.schema).items, "text");
      return item === undefined ? undefined : [item];
    }
  }
  return "text";
}

/** The first example of a parameter or a media type that its schema allows. */
function exampleOf(document: Document, media: JsonObject): unknown {
  return examplesIn(document, media).find((one) => isAllowed(document, media.schema ?? true, one));
}

function examplesIn(document: Document, { example, examples }: JsonObject): unknown[] {
  const others = Object.values(isObject(examples) ? examples : {}).map((one) => {
    const { value } = follow(document, one, "");
    return isObject(value) ? value.value : undefined;
  });
  return [example, ...others].filter((one) => one !== undefined);
}

/** Undefined if nothing is found. `any` is for a schema that allows any value. */
function sampled(document: Document, schema: unknown, any: unknown): unknown {
  const sample = sampleOf(document, schema);
  return sample === NOT_FOUND ? undefined : (sample ?? any);
}

/** The value without members that no schema describes, which the compiler refuses in a literal. */
function described(document: Document, schema: unknown, value: unknown): unknown {
  const parts = partsOf(document, schema);
  if (Array.isArray(value)) {
    const items = parts.find((part) => part.items !== undefined)?.items;
    return value.map((one) => described(document, items, one));
  }
  const tags = parts.map(
    ({ discriminator }) => [String(Object(discriminator).propertyName), {}] as const,
  );
  const properties = new Map([
    ...tags,
    ...parts.flatMap((part) => Object.entries(Object(part.properties))),
  ]);
  const isOpen = parts.some((part) => part.patternProperties || part.additionalProperties);
  if (!isObject(value) || parts.every((part) => part.properties === undefined)) return value;
  const members = Object.entries(value).filter(([name]) => isOpen || properties.has(name));
  return Object.fromEntries(
    members.map(([name, member]) => [name, described(document, properties.get(name), member)]),
  );
}

/** A schema and those that it applies to the same value. */
function partsOf(document: Document, schema: unknown): JsonObject[] {
  const { value } = follow(document, schema, "");
  if (!isObject(value)) return [];
  const others = [value.allOf, value.oneOf, value.anyOf].flatMap((list) =>
    Array.isArray(list) ? list : [],
  );
  return [value, ...others.flatMap((other) => partsOf(document, other))];
}

const blob: Text = 'new Blob(["bytes"])';

function bodyValue(document: Document, open: Document, body: Body): Text | undefined {
  const sent = mediaTypeSent(body) ?? rangeMember(body.mediaType);
  if (isBinary(sent) || isBinary(body.mediaType)) return blob;
  const { schema } = body.media;
  const example = exampleOf(document, body.media);
  const openSchema = body.schema === undefined ? undefined : atPointer(open.root, body.schema);
  const typed = [example, sampled(open, openSchema, {})]
    .map((one) => described(document, schema, one))
    .find((one) => one !== undefined && isAllowed(document, schema ?? true, one));
  const value = typed ?? example ?? sampled(document, schema, {});
  if (value === undefined) return undefined;
  const cast = typed === undefined ? CAST : "";
  if (isJson(sent)) return JSON.stringify(value) + cast;
  const form = isObject(value) ? withoutEmptyLists(document, schema, value) : {};
  if (isMultipart(sent))
    return typeof value === "string" ? "new FormData()" : formOf(document, body, form) + cast;
  if (isUrlencoded(sent)) return JSON.stringify(typeof value === "string" ? value : form) + cast;
  if (isJsonSequence(sent) && Array.isArray(value))
    return JSON.stringify(value.map((one) => `${JSON.stringify(one)}\n`).join(""));
  return JSON.stringify(typeof value === "object" ? JSON.stringify(value) : String(value));
}

/** An empty list is a member that a form does not have. */
function withoutEmptyLists(document: Document, schema: unknown, value: JsonObject): JsonObject {
  const { properties } = mergedSchema(document, schema);
  const members = Object.entries(value).map(([name, member]) => {
    if (!Array.isArray(member) || member.length > 0) return [name, member];
    return [
      name,
      [sampled(document, mergedSchema(document, Object(properties)[name]).items, "text")],
    ];
  });
  return Object.fromEntries(members);
}

/** Members that are binary are files, of the media type that the document names. */
function formOf(document: Document, { media, encoding }: Body, value: JsonObject): Text {
  const { properties } = mergedSchema(document, media.schema);
  const members = Object.entries(value).map(([name, member]) => {
    const own = mergedSchema(document, Object(properties)[name]);
    const isList = own.type === "array";
    const [type] = encoding[name]?.contentType?.split(",") ?? [];
    const file =
      type === undefined
        ? blob
        : `new Blob(["bytes"], { type: ${JSON.stringify(rangeMember(type))} })`;
    const isFile = isFileSchema(isList ? mergedSchema(document, own.items) : own, type);
    return (
      `${JSON.stringify(name)}: ` +
      `${isFile ? (isList ? `[${file}]` : file) : JSON.stringify(member)}`
    );
  });
  return `{ ${members.join(", ")} }`;
}
