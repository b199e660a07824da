/**
 * Makes OpenAPI 3.1 of Swagger 2.0 and OpenAPI 3.0, in place: so the lines of errors, and what
 * overlays wrote, stay known. A value that only looks like a part of the description, such as an
 * example, is left alone.
 *
 * Of 62 published documents @scalar/openapi-upgrader 0.1.11 leaves 50 `nullable`, in three, gives
 * the answers of two others media types that their operations do not have, and loses properties
 * named `example`, the schemas of application/octet-stream and of lists in forms, and bodies by
 * reference. It copies every object, so the lines of errors and what overlays wrote would be lost
 * too.
 */
import { ANNOTATIONS, KEYWORDS } from "../schemas/checked-schema.js";
import {
  type Document,
  follow,
  operationsOf,
  refuseAt,
  type Writable,
  walkDocument,
  warnAt,
} from "./document.js";
import {
  entriesOf,
  isObject,
  type JsonObject,
  listOf,
  objectOf,
  pointerTo,
} from "./source-file.js";

/** Returns whether the document was of an older version. */
export function upgrade(document: Document): boolean {
  const root = document.root as Writable;
  const isSwagger = root.swagger !== undefined;
  if (!isSwagger && !String(root.openapi).startsWith("3.0")) return false;
  if (isSwagger) upgradeSwagger(document, root);
  root.openapi = "3.1.1";
  walkDocument(root, (value, place) => upgradeSchema(document, value, place));
  return true;
}

/** What only a schema has is recognised by its keywords. */
function upgradeSchema(document: Document, schema: Writable, place: () => string): void {
  for (const [bound, limit] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const) {
    if (typeof schema[bound] !== "boolean") continue;
    const isExclusive = schema[bound] && schema[limit] !== undefined;
    if (isExclusive) schema[bound] = schema[limit];
    else delete schema[bound];
    if (isExclusive) delete schema[limit];
  }
  // OpenAPI 3.0 ignores everything beside `$ref`, 3.1 does not. What checks nothing may stay.
  // There has been a warning about `required: true`, which is of a parameter or a body.
  const isIgnored = (key: string) =>
    key !== "$ref" && KEYWORDS.has(key) && !(key === "required" && schema[key] === true);
  const ignored = typeof schema.$ref === "string" ? Object.keys(schema).filter(isIgnored) : [];
  if (ignored.length > 0) {
    const message =
      `before OpenAPI 3.1 what stands beside $ref is ignored: ${ignored.join(", ")}. ` +
      "Write the reference and this into allOf";
    warnAt(document, "part_ignored", place(), message);
  }
  for (const key of ignored) delete schema[key];
  if (typeof schema.nullable !== "boolean") return;
  const { nullable } = schema;
  delete schema.nullable;
  if (nullable) allowNull(schema);
}

/**
 * Where `nullable` has no effect by the letter of OpenAPI 3.0, as beside `$ref` or `enum`, it says
 * what was meant.
 */
function allowNull(schema: Writable): void {
  const isCombined = ["$ref", "allOf", "anyOf", "oneOf", "not"].some(
    (key) => schema[key] !== undefined,
  );
  if (isCombined) {
    const checks = Object.entries(schema).filter(
      ([key]) => key === "discriminator" || !(ANNOTATIONS.has(key) || key.startsWith("x-")),
    );
    for (const [key] of checks) delete schema[key];
    schema.anyOf = [Object.fromEntries(checks), { type: "null" }];
    return;
  }
  if (schema.type !== undefined) schema.type = [...new Set([schema.type, "null"].flat())];
  if (Array.isArray(schema.enum) && !schema.enum.includes(null))
    schema.enum = [...schema.enum, null];
}

/** Where the parts of Swagger 2.0 are in OpenAPI 3, and back. */
const MOVED = [
  ["/definitions", "/components/schemas"],
  ["/parameters", "/components/parameters"],
  ["/responses", "/components/responses"],
  ["/securityDefinitions", "/components/securitySchemes"],
] as const;

function upgradeSwagger(document: Document, root: Writable): void {
  const { consumes, produces, definitions, parameters, responses, host, basePath } = root;
  const media: Media = { consumes: textsOf(consumes), produces: textsOf(produces) };
  const shared = Object(parameters) as Writable;
  const schemes = entriesOf(root.securityDefinitions).map(
    ([name, scheme]) =>
      [name, Object(scheme).type === "basic" ? { type: "http", scheme: "basic" } : scheme] as const,
  );
  root.components = {
    ...Object(root.components),
    schemas: definitions ?? {},
    parameters: shared,
    responses: responses ?? {},
    securitySchemes: Object.fromEntries(schemes),
  };
  if (host !== undefined || basePath !== undefined)
    root.servers = [{ url: `${host === undefined ? "" : `https://${host}`}${basePath ?? ""}` }];
  const gone = ["swagger", "definitions", "parameters", "responses", "securityDefinitions"];
  const unused = ["host", "basePath", "schemes", "consumes", "produces"];
  for (const key of [...gone, ...unused]) delete root[key];
  walkDocument(root, upgradeReferences);
  for (const [path, value] of entriesOf(root.paths)) {
    const item = targetOf(document, value);
    for (const { key, operation } of operationsOf(item)) {
      const own: Media = {
        consumes: textsOf(operation.consumes ?? media.consumes),
        produces: textsOf(operation.produces ?? media.produces),
      };
      const at = pointerTo("/paths", path, key);
      const body = bodyOf(document, [item.parameters, operation.parameters], own, at);
      if (body !== undefined) operation.requestBody = body;
      upgradeResponses(operation.responses, own);
      delete operation.consumes;
      delete operation.produces;
      delete operation.schemes;
    }
  }
  upgradeResponses(responses, media);
  for (const [path, value] of Object.entries(Object(root.paths))) {
    const place = pointerTo("/paths", path);
    const item = targetOf(document, value);
    upgradeParameters(document, item, place);
    for (const { key, operation } of operationsOf(item))
      upgradeParameters(document, operation, pointerTo(place, key));
  }
  for (const [name, parameter] of Object.entries(shared)) {
    if (isBody(parameter)) delete shared[name];
    else
      upgradeParameter(document, parameter as Writable, pointerTo("/components/parameters", name));
  }
  document.origins.before = swaggerPointer;
}

interface Media {
  readonly consumes: readonly string[];
  readonly produces: readonly string[];
}

function textsOf(value: unknown): readonly string[] {
  return listOf(value).filter((one) => typeof one === "string");
}

/** The place of a value before it was upgraded. */
function swaggerPointer(pointer: string): string {
  const moved = MOVED.find(([, now]) => `${pointer}/`.startsWith(`${now}/`));
  const before = moved === undefined ? pointer : moved[0] + pointer.slice(moved[1].length);
  return before
    .replace(/^\/servers(?:\/.*)?$/, "/basePath")
    .replace(/^(\/paths\/[^/]+\/[^/]+)\/requestBody(?:\/.*)?$/, "$1/parameters")
    .replace(/^((?:\/paths\/[^/]+\/[^/]+)?\/responses\/[^/]+)\/content\/[^/]+\/schema/, "$1/schema")
    .replace(/^(.*\/parameters\/[^/]+)\/schema/, "$1");
}

function upgradeReferences(value: Writable): void {
  if (typeof value.$ref === "string") value.$ref = movedReference(value.$ref);
  if (typeof value["x-nullable"] === "boolean") value.nullable = value["x-nullable"];
  if (value.type === "file") Object.assign(value, { type: "string", format: "binary" });
  // A parameter or a header may have a member of this name, but in a schema it names the member
  // that tells the type.
  if (typeof value.discriminator === "string")
    value.discriminator = { propertyName: value.discriminator };
}

function movedReference(reference: string): string {
  const moved = MOVED.find(([then]) => reference.startsWith(`#${then}/`));
  return moved === undefined ? reference : `#${moved[1]}${reference.slice(moved[0].length + 1)}`;
}

/** The keywords of a schema that a parameter, a header or a list in one has beside its own. */
const SCHEMA_KEYS = [
  ...[
    "type",
    "format",
    "items",
    "default",
    "enum",
    "pattern",
    "uniqueItems",
    "multipleOf",
    "nullable",
  ],
  ...["maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"],
  ...["maxLength", "minLength", "maxItems", "minItems"],
];

/** Moves the keywords of a schema out of a parameter, a header or a member of a form. */
function takeSchema(source: Writable): Writable {
  const schema: Writable = {};
  for (const key of SCHEMA_KEYS) {
    if (source[key] !== undefined) schema[key] = source[key];
    delete source[key];
  }
  return schema;
}

const STYLES: Readonly<Record<string, { readonly style?: string; readonly explode: boolean }>> = {
  csv: { explode: false },
  multi: { explode: true },
  ssv: { style: "spaceDelimited", explode: false },
  pipes: { style: "pipeDelimited", explode: false },
};

/** How the items of a list are written (`collectionFormat`). */
function formOf(
  document: Document,
  { type, collectionFormat = "csv" }: Writable,
  pointer: string,
): object {
  if (type !== "array") return {};
  const form = STYLES[String(collectionFormat)];
  if (form !== undefined) return form;
  const message =
    `the collectionFormat ${JSON.stringify(collectionFormat)} has no counterpart ` +
    `in OpenAPI 3; use ${Object.keys(STYLES).join(", ")}`;
  refuseAt(document, "style_invalid", pointerTo(pointer, "collectionFormat"), message);
  return {};
}

function isBody(parameter: unknown): boolean {
  return isObject(parameter) && (parameter.in === "body" || parameter.in === "formData");
}

function upgradeParameters(document: Document, holder: unknown, pointer: string): void {
  if (!isObject(holder) || !Array.isArray(holder.parameters)) return;
  const items: unknown[] = holder.parameters;
  const kept = [...items.keys()].filter((index) => !isBody(targetOf(document, items[index])));
  const list = kept.map((index) => items[index]);
  document.origins.pick(list, items, kept);
  (holder as Writable).parameters = list;
  for (const [index, parameter] of list.entries())
    if (isObject(parameter))
      upgradeParameter(document, parameter as Writable, pointerTo(pointer, "parameters", index));
}

/** What a reference leads to. One that leads nowhere is reported later, with its place. */
function targetOf(document: Document, value: unknown): JsonObject {
  try {
    return objectOf(follow(document, value).value);
  } catch {
    return {};
  }
}

function upgradeParameter(document: Document, parameter: Writable, pointer: string): void {
  if (parameter.$ref !== undefined || parameter.schema !== undefined) return;
  Object.assign(parameter, formOf(document, parameter, pointer));
  parameter.schema = takeSchema(parameter);
  delete parameter.collectionFormat;
}

/**
 * The parameters that are a body or the members of a form. Those of the operation replace those of
 * the path.
 */
function bodyOf(
  document: Document,
  lists: readonly unknown[],
  { consumes }: Media,
  pointer: string,
): JsonObject | undefined {
  const all = lists.flatMap(listOf).map((one) => targetOf(document, one));
  const bodies = new Map(
    all.filter(isBody).map((one) => [`${one.in} ${one.in === "body" ? "" : one.name}`, one]),
  );
  const body = bodies.get("body ");
  if (body !== undefined) {
    const { name, in: place, schema = {}, ...rest } = body;
    const types = consumes.length === 0 ? ["application/json"] : consumes;
    return { ...rest, content: Object.fromEntries(types.map((type) => [type, { schema }])) };
  }
  if (bodies.size === 0) return undefined;
  const members = [...bodies.values()].map((one) => ({ ...one }) as Writable);
  const hasFile = members.some(({ format }) => format === "binary");
  const forms = consumes.filter((type) =>
    /^multipart\/|^application\/x-www-form-urlencoded/.test(type),
  );
  const usual = hasFile ? "multipart/form-data" : "application/x-www-form-urlencoded";
  const encoding = Object.fromEntries(
    members.flatMap((member) => {
      const form = formOf(document, member, pointer);
      return Object.keys(form).length === 0 ? [] : [[String(member.name), form] as const];
    }),
  );
  const properties = members.map((member) => {
    const { description } = member;
    return [
      String(member.name),
      { ...takeSchema(member), ...(description !== undefined && { description }) },
    ] as const;
  });
  const required = members
    .filter((member) => member.required === true)
    .map(({ name }) => String(name));
  const schema = {
    type: "object",
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
  };
  const types = forms.length === 0 ? [usual] : forms;
  return {
    required: required.length > 0,
    content: Object.fromEntries(types.map((type) => [type, { schema, encoding }])),
  };
}

function upgradeResponses(responses: unknown, { produces }: Media): void {
  for (const response of Object.values(Object(responses)) as Writable[]) {
    if (!isObject(response)) continue;
    const { schema, examples } = response;
    for (const header of Object.values(Object(response.headers)) as Writable[])
      if (isObject(header) && header.schema === undefined) header.schema = takeSchema(header);
    delete response.schema;
    delete response.examples;
    // A response without a schema has no body, unless an example shows one.
    const shown = Object.keys(Object(examples)).filter((type) => type.includes("/"));
    if (schema === undefined && shown.length === 0) continue;
    const isFile = isObject(schema) && schema.format === "binary";
    const usual =
      produces.length > 0 ? produces : [isFile ? "application/octet-stream" : "application/json"];
    const content = (schema === undefined ? shown : usual).map((type) => {
      const example = new Map(entriesOf(examples)).get(type);
      const media = {
        ...(schema !== undefined && { schema }),
        ...(example !== undefined && { example }),
      };
      return [type, media] as const;
    });
    response.content = Object.fromEntries(content);
  }
}
