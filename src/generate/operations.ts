/** Lists the operations of a document for the emitters, with all references followed. */
import { atPointer, type Document, documentError, follow, METHODS } from "./document.js";
import { mergedSchema } from "./emit/sample.js";
import {
  type Body,
  type Parameter,
  type Response,
  readBody,
  readParameters,
  readResponses,
} from "./messages.js";
import { isObject, type JsonObject, pointerTo } from "./source-file.js";

export interface Operation {
  /** The Operation Object of the document. */
  readonly source: JsonObject;
  readonly id: string;
  readonly method: (typeof METHODS)[number];
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body?: Body | undefined;
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
        responses: readResponses(document, method, source.responses, pointerTo(pointer, "responses")),
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
