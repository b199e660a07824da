/** Lists the operations of a document for the emitters, with all references followed. */
import { atPointer, type Document, documentError, follow, METHODS } from "./document.js";
import { checkType } from "./emit/rewrite-schema.js";
import { mergedSchema } from "./emit/sample.js";
import { isObject, type JsonObject, pointerTo } from "./source-file.js";

export const PLACES = ["path", "query", "header", "cookie"] as const;

export interface Parameter {
  readonly name: string;
  readonly in: (typeof PLACES)[number];
  readonly required: boolean;
  /** The value of `x-device`. */
  readonly device?: unknown;
  /** The TypeScript keyword for a simple schema, which an editor shows instead of a lookup. */
  readonly keyword?: "string" | "number" | "boolean" | undefined;
}

export interface Content {
  readonly mediaType: string;
  readonly media: JsonObject;
  /** JSON pointer of the schema; undefined when the media type has none. */
  readonly schema?: string | undefined;
}

export interface Response {
  /** The key in the document: `200`, `4XX`, `default`. */
  readonly key: string;
  /** The statuses that the key stands for; empty for `default`. */
  readonly statuses: readonly number[];
  readonly content?: Content | undefined;
}

export interface Operation {
  /** The Operation Object of the document. */
  readonly source: JsonObject;
  readonly id: string;
  readonly method: (typeof METHODS)[number];
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body?: (Content & { readonly required: boolean }) | undefined;
  readonly responses: readonly Response[];
  readonly anonymous: boolean;
  /** The first scope in `security` of the form area:read, area:write or area:execute (description, section 5.6). */
  readonly scope?: string | undefined;
  /** The path or query parameter, or the member of the body, with `x-device: true` or else with the name `deviceId`. */
  readonly deviceParameter?: string | { readonly in: "body"; readonly name: string } | undefined;
  /** `x-plugin-enabled: false`: the route accepts no plugin token (description, section 5.5). */
  readonly takesPluginTokens: boolean;
}

export type OperationLists = Readonly<Record<Document["variant"], readonly Operation[]>>;

export function listOperations(document: Document): Operation[] {
  const operations = new Map<string, Operation>();
  const pointers = new Map<string, string>();
  const paths = isObject(document.root.paths) ? document.root.paths : {};
  for (const [path, value] of Object.entries(paths)) {
    if (!path.startsWith("/")) continue;
    const item = follow(document, value, pointerTo("/paths", path));
    if (!isObject(item.value)) continue;
    // The operation's parameters come second because they replace those of the path (OpenAPI 3.1, Operation Object).
    const shared = [item.value.parameters, pointerTo(item.pointer, "parameters")] as const;
    for (const method of METHODS) {
      const source = item.value[method.toLowerCase()];
      if (!isObject(source)) continue;
      const pointer = pointerTo(item.pointer, method.toLowerCase());
      const { operationId: id, security = document.root.security } = source;
      if (typeof id !== "string" || id === "") {
        const message = `${method} ${path} has no operationId`;
        throw documentError(document, "operation_id_missing", pointer, message);
      }
      const earlier = operations.get(id);
      if (earlier !== undefined) {
        const message = `${method} ${path} has the operationId ${JSON.stringify(id)} of ${earlier.method} ${earlier.path}`;
        const places = [pointer, pointers.get(id) ?? ""].map((place) => pointerTo(place, "operationId"));
        const { root, origins } = document;
        const written = places.find((place) => origins.trace(root, place).action !== undefined);
        throw documentError(document, "operation_id_duplicate", written ?? places[0] ?? "", message);
      }
      const own = [source.parameters, pointerTo(pointer, "parameters")] as const;
      const parameters = readParameters(document, [shared, own]);
      checkPathParameters(document, pointer, path, parameters);
      const body = readBody(document, source.requestBody, pointerTo(pointer, "requestBody"));
      if (body?.required && (method === "GET" || method === "HEAD")) {
        const message = `${method} ${path} requires a body, but fetch sends none with ${method}. Remove the requestBody with an overlay`;
        throw documentError(document, "document_invalid", pointerTo(pointer, "requestBody"), message);
      }
      pointers.set(id, pointer);
      operations.set(id, {
        source,
        id,
        method,
        path,
        parameters,
        body,
        responses: readResponses(document, source.responses, pointerTo(pointer, "responses")),
        anonymous: Array.isArray(security) && security.length === 0,
        scope: scopeIn(document, security, pointerTo(source.security ? pointer : "", "security")),
        deviceParameter: deviceParameterOf(document, parameters, body),
        takesPluginTokens: source["x-plugin-enabled"] !== false,
      });
    }
  }
  checkOtherIds(document, pointers);
  return [...operations.values()];
}

/** Operations of webhooks and callbacks are not called, but the generated types hold them by their ids too. */
function checkOtherIds(document: Document, pointers: ReadonlyMap<unknown, string>): void {
  const known = new Map([...pointers].map(([id, at]) => [id, atPointer(document.root, at)]));
  const seen = new Set<unknown>();
  const eachOf = (
    map: unknown,
    pointer: string,
    check: (value: unknown, at: string, key: string) => void,
  ) => {
    const place = follow(document, map, pointer);
    if (!isObject(place.value) || seen.has(place.value)) return;
    seen.add(place.value);
    for (const [key, value] of Object.entries(place.value)) check(value, pointerTo(place.pointer, key), key);
  };
  const checkItem = (item: unknown, pointer: string) =>
    eachOf(item, pointer, (operation, at, key) => {
      if (!METHODS.some((method) => method.toLowerCase() === key)) return;
      if (!isObject(operation)) throw documentError(document, "document_invalid", at, "it must be an object");
      const { operationId: id, callbacks } = operation;
      const message = `another operation has the operationId ${JSON.stringify(id)} too`;
      if (id && (known.get(id) ?? operation) !== operation)
        throw documentError(document, "operation_id_duplicate", at, message);
      known.set(id, operation);
      checkCallbacks(callbacks, `${at}/callbacks`);
    });
  const checkCallbacks = (callbacks: unknown, pointer: string) =>
    eachOf(callbacks, pointer, (callback, at) => eachOf(callback, at, checkItem));
  const { paths, webhooks, components } = document.root;
  eachOf(paths, "/paths", checkItem);
  eachOf(webhooks, "/webhooks", checkItem);
  checkCallbacks(Object(components).callbacks, "/components/callbacks");
  eachOf(Object(components).pathItems, "/components/pathItems", checkItem);
}

/** The client fills in `tenantId` itself, so a document may leave that one undescribed. */
function checkPathParameters(document: Document, at: string, path: string, all: readonly Parameter[]): void {
  const named = [...path.matchAll(/\{[.;]?([^{}*]+)/g)].map(([, name = ""]) => name);
  const described = all.flatMap((parameter) => (parameter.in === "path" ? parameter.name : []));
  const needed = named.filter((name) => name !== "tenantId" || described.includes(name));
  if (needed.every((name) => described.includes(name)) && described.every((name) => named.includes(name)))
    return;
  const found = `${path} names ${needed.join(", ") || "none"}, \`parameters\` describes ${described.join(", ") || "none"}`;
  const message = `the path parameters must have the same names: ${found}`;
  throw documentError(document, "document_invalid", at, message);
}

function readParameters(
  document: Document,
  lists: readonly (readonly [list: unknown, pointer: string])[],
): Parameter[] {
  const found = new Map<string, Parameter>();
  for (const [list, pointer] of lists) {
    if (!Array.isArray(list)) continue;
    for (const [index, entry] of list.entries()) {
      const { value } = follow(document, entry, pointerTo(pointer, index));
      const source: JsonObject = isObject(value) ? value : {};
      const { name, required } = source;
      const place = PLACES.find((known) => known === source.in);
      if (typeof name !== "string" || place === undefined) {
        const message = `a parameter needs a name and a place (\`in\`: ${PLACES.join(", ")})`;
        throw documentError(document, "document_invalid", pointerTo(pointer, index), message);
      }
      const isRequired = place === "path" || required === true;
      const schema = follow(document, source.schema, pointerTo(pointer, index, "schema"));
      if (isObject(schema.value)) checkType(document, schema.value, schema.pointer);
      const keyword = keywordOf(schema.value);
      const device = source["x-device"];
      found.set(`${place} ${name}`, { name, in: place, required: isRequired, keyword, device });
    }
  }
  return [...found.values()];
}

/**
 * OpenAPI 3.1 (Security Requirement Object) lists scopes for OAuth, and names of roles for every other scheme. In Variant
 * A a plugin-enabled route requires a scope (description, section 5.6), so names without one among them are a mistake.
 */
function scopeIn(document: Document, security: unknown, pointer: string): string | undefined {
  const requirements = Array.isArray(security) ? security.filter(isObject) : [];
  const names = requirements
    .flatMap((requirement) => Object.values(requirement))
    .flat()
    .map(String);
  const scope = names.find((name) => /^[A-Za-z0-9._-]+:(read|write|execute)$/.test(name));
  if (document.variant === "B" || names.length === 0 || scope !== undefined) return scope;
  const message = `${names[0]} is not a scope. It must have the form area:read, area:write or area:execute`;
  throw documentError(document, "scope_invalid", pointer, message);
}

function deviceParameterOf(
  document: Document,
  parameters: readonly Parameter[],
  body: Operation["body"],
): Operation["deviceParameter"] {
  const { properties } = mergedSchema(document, body?.media.schema);
  const members = Object.entries(properties ?? {}).map(([name, schema]) => ({
    name,
    device: schema?.["x-device"],
  }));
  const named = [...parameters, ...members];
  const found = named.find(({ device }) => device === true) ?? named.find(({ name }) => name === "deviceId");
  return found === undefined || "in" in found ? found?.name : { in: "body", name: found.name };
}

function keywordOf(schema: unknown): Parameter["keyword"] {
  if (!isObject(schema) || schema.enum !== undefined || schema.const !== undefined) return undefined;
  if (schema.type === "integer") return "number";
  return (["string", "number", "boolean"] as const).find((keyword) => keyword === schema.type);
}

function readBody(document: Document, source: unknown, pointer: string): Operation["body"] {
  const place = follow(document, source, pointer);
  if (!isObject(place.value)) return undefined;
  const content = readContent(place.value.content, place.pointer);
  return content && { ...content, required: place.value.required === true };
}

function readResponses(document: Document, source: unknown, pointer: string): Response[] {
  if (!isObject(source)) return [];
  const keys = Object.keys(source).filter((key) => !key.startsWith("x-"));
  const single = new Set(keys.filter((key) => /^\d+$/.test(key)).map(Number));
  return keys.map((key) => {
    const place = follow(document, source[key], pointerTo(pointer, key));
    const content = isObject(place.value) ? readContent(place.value.content, place.pointer) : undefined;
    const statuses = statusesOf(key, single);
    if (statuses === undefined) {
      const message = "a response must be keyed by a status, a range from 1XX to 5XX, or default";
      throw documentError(document, "status_invalid", pointerTo(pointer, key), message);
    }
    return { key, statuses, content };
  });
}

/** The statuses that a response key stands for. A range excludes statuses that have a response of their own. */
function statusesOf(key: string, single: ReadonlySet<number>): number[] | undefined {
  if (key === "default") return [];
  if (/^[1-5]\d\d$/.test(key)) return [Number(key)];
  if (!/^[1-5]XX$/i.test(key)) return undefined;
  return REGISTERED_STATUSES.filter((status) => String(status)[0] === key[0] && !single.has(status));
}

/** Chooses one media type of a body: JSON if it is there, otherwise a form, otherwise the first. */
function readContent(source: unknown, pointer: string): Content | undefined {
  if (!isObject(source)) return undefined;
  const mediaTypes = Object.keys(source);
  const mediaType =
    mediaTypes.find((name) => name === "application/json") ??
    mediaTypes.find((name) => /^application\/[^;]*\+json\b|^application\/json\b/.test(name)) ??
    mediaTypes.find((name) => name === "application/x-www-form-urlencoded") ??
    mediaTypes[0];
  if (mediaType === undefined) return undefined;
  const media = isObject(source[mediaType]) ? source[mediaType] : {};
  const schema = media.schema === undefined ? undefined : pointerTo(pointer, "content", mediaType, "schema");
  return { mediaType, media, schema };
}

/** Every status code of the IANA HTTP Status Code Registry, with the unused 306 and 418. */
export const REGISTERED_STATUSES: readonly number[] = [
  ...range(100, 104),
  ...range(200, 208),
  226,
  ...range(300, 308),
  ...range(400, 418),
  ...range(421, 426),
  ...[428, 429, 431, 451],
  ...range(500, 508),
  ...[510, 511],
];

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
