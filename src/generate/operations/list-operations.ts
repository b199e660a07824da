/** Lists the operations of a document for the emitters, with all references followed. */
import {
  type Document,
  documentError,
  follow,
  operationsOf,
  refuseAt,
  warnAt,
} from "../document/document.js";
import { entriesOf, isObject, pointerTo } from "../document/source-file.js";
import { mergedSchema } from "../schemas/alternatives.js";
import {
  type Body,
  type Parameter,
  type Response,
  readBody,
  readParameters,
  readResponses,
} from "./messages.js";
import { type NamedOperation, nameOperations } from "./operation-names.js";

export interface Operation extends NamedOperation {
  readonly parameters: readonly Parameter[];
  readonly body?: Body | undefined;
  readonly responses: readonly Response[];
  readonly anonymous: boolean;
  /**
   * The first scope in `security` of the form area:read, area:write or area:execute (description,
   * section 5.6).
   */
  readonly scope?: string | undefined;
  /**
   * The path or query parameter, or the member of the body, with `x-device: true` or else with the
   * name `deviceId`.
   */
  readonly deviceParameter?: string | { readonly in: "body"; readonly name: string } | undefined;
  /** `x-plugin-enabled: false`: the route accepts no plugin token (description, section 5.5). */
  readonly takesPluginTokens: boolean;
}

/** A document with what {@link listOperations} finds in it. */
export interface ListedDocument extends Document {
  readonly operations: readonly Operation[];
}

export function withOperations(document: Document): ListedDocument {
  return { ...document, operations: listOperations(document) };
}

/** Lists what the document describes, and reports in its findings what cannot be called. */
export function listOperations(document: Document): Operation[] {
  const { findings } = document;
  const operations = new Map<string, Operation>();
  const templates = new Map<string, string>();
  const all = nameOperations(document);
  if (all.length === 0)
    warnAt(
      document,
      "document_invalid",
      "/paths",
      "the document has no operations, so there is nothing to call",
    );
  for (const named of all) {
    const { id, method, path, pointer } = named;
    const earlier = operations.get(id);
    if (earlier !== undefined) {
      const message =
        `${method} ${path} has the operationId ${JSON.stringify(id)} of ${earlier.method} ` +
        `${earlier.path}. Name one of them otherwise`;
      const places = [pointer, earlier.pointer].map((at) => pointerTo(at, "operationId"));
      const { root, origins } = document;
      const written = places.find((at) => origins.trace(root, at).action !== undefined);
      refuseAt(document, "operation_id_duplicate", written ?? places[0] ?? "", message);
      continue;
    }
    const name = `${method} ${path}`;
    const template = name.replace(/\{[^{}]*\}/g, "{}");
    const same = templates.get(template);
    if (same === undefined) templates.set(template, name);
    else {
      // OpenAPI 3.1 forbids this, but a client can call both.
      const message =
        `${name} is the same path as ${same} with other names, so no server can ` +
        "tell them apart";
      warnAt(document, "document_invalid", pointer, message);
    }
    const operation = findings.attempt(() => readOperation(document, named));
    if (operation !== undefined) operations.set(id, operation);
  }
  checkOtherIds(document, all);
  return [...operations.values()];
}

function readOperation(document: Document, named: NamedOperation): Operation {
  const { method, path, source, pointer, shared } = named;
  const { security = document.root.security } = source;
  const own = [source.parameters, pointerTo(pointer, "parameters")] as const;
  const all = readParameters(document, [shared, own]);
  const parameters = fittedToPath(document, pointer, path, shared, all);
  const described = readBody(document, source.requestBody, pointerTo(pointer, "requestBody"));
  const cannotSend = method === "GET" || method === "HEAD";
  if (described?.required && cannotSend) {
    const message =
      `${method} ${path} requires a body, but fetch sends none with ${method}, so ` +
      "calls have none";
    warnAt(document, "document_invalid", pointerTo(pointer, "requestBody"), message);
  }
  const body = cannotSend ? undefined : described;
  return {
    ...named,
    parameters,
    body,
    responses: readResponses(document, method, source.responses, pointerTo(pointer, "responses")),
    anonymous: Array.isArray(security) && security.length === 0,
    scope: scopeIn(document, security, pointerTo(source.security ? pointer : "", "security")),
    deviceParameter: deviceParameterOf(document, parameters, body),
    takesPluginTokens: source["x-plugin-enabled"] !== false,
  };
}

/**
 * Operations of webhooks and callbacks are not called, but the generated types hold them by their
 * ids too.
 */
function checkOtherIds(document: Document, listed: readonly NamedOperation[]): void {
  const known = new Map<unknown, unknown>(listed.map(({ id, source }) => [id, source]));
  const seen = new Set<unknown>(listed.map(({ source }) => source));
  const eachIn = (map: unknown, at: string, check: (value: unknown, at: string) => void): void => {
    const place = follow(document, map, at);
    if (seen.has(place.value)) return;
    seen.add(place.value);
    for (const [key, value] of entriesOf(place.value))
      if (!key.startsWith("x-")) check(value, pointerTo(place.pointer, key));
  };
  const checkItem = (item: unknown, pointer: string) => {
    const place = follow(document, item, pointer);
    for (const { key, operation } of operationsOf(place.value)) {
      const { operationId: id, callbacks } = operation;
      const at = pointerTo(place.pointer, key);
      const message = `another operation has the operationId ${JSON.stringify(id)} too`;
      if (id && !seen.has(operation)) {
        if ((known.get(id) ?? operation) !== operation)
          throw documentError(document, "operation_id_duplicate", at, message);
        known.set(id, operation);
      }
      checkCallbacks(callbacks, `${at}/callbacks`);
    }
  };
  const checkCallbacks = (callbacks: unknown, pointer: string) =>
    eachIn(callbacks, pointer, (callback, at) => eachIn(callback, at, checkItem));
  const { paths, webhooks, components } = document.root;
  document.findings.attempt(() => {
    eachIn(paths, "/paths", checkItem);
    eachIn(webhooks, "/webhooks", checkItem);
    checkCallbacks(Object(components).callbacks, "/components/callbacks");
    eachIn(Object(components).pathItems, "/components/pathItems", checkItem);
  });
}

/** Adds what only the path names, as text, and leaves out what is not in it, with a warning. */
function fittedToPath(
  document: Document,
  pointer: string,
  path: string,
  [ofPath, place]: NamedOperation["shared"],
  all: readonly Parameter[],
): readonly Parameter[] {
  const names = [...path.matchAll(/\{[.;]?([^{}*]+)/g)].map(([, name = ""]) => name);
  const described = all.flatMap((parameter) => (parameter.in === "path" ? parameter.name : []));
  // The client fills in `tenantId` itself, so a document may leave that one undescribed.
  const missing = names.filter((name) => name !== "tenantId" && !described.includes(name));
  const unused = described.filter((name) => !names.includes(name));
  if (missing.length === 0 && unused.length === 0) return all;
  const found =
    `${path} names ${names.join(", ") || "none"}, \`parameters\` ` +
    `describes ${described.join(", ") || "none"}`;
  const [inPath, inItem] = [place, pointer].map(
    (one) => document.origins.trace(document.root, one).action,
  );
  const isMoved = inPath === undefined && inItem?.isReferenced;
  const isBeside = ofPath && (isMoved || !pointer.startsWith(place.replace(/parameters$/, "")));
  const reason = isBeside ? " (`parameters` beside $ref replace those of its target)" : "";
  const message = `the path parameters should have the same names: ${found}${reason}. Those of the path are sent`;
  warnAt(document, "document_invalid", pointer, message);
  const listed = { in: "path", required: true, isListed: true } as const;
  const added = [...new Set(missing)].map(
    (name): Parameter => ({ ...listed, name, form: {}, keyword: "string" }),
  );
  const kept = all.filter(
    (parameter) => parameter.in !== "path" || !unused.includes(parameter.name),
  );
  return [...kept.map((one) => (one.in === "path" ? { ...one, ...listed } : one)), ...added];
}

/**
 * OpenAPI 3.1 (Security Requirement Object) lists scopes for OAuth, and names of roles for every
 * other scheme. In Variant A a plugin-enabled route requires a scope (description, section 5.6), so
 * names without one among them are a mistake.
 */
function scopeIn(document: Document, security: unknown, pointer: string): string | undefined {
  const requirements = Array.isArray(security) ? security.filter(isObject) : [];
  const names = requirements
    .flatMap((requirement) => Object.values(requirement))
    .flat()
    .map(String);
  const scope = names.find((name) => /^[A-Za-z0-9._-]+:(read|write|execute)$/.test(name));
  if (document.variant === "B" || names.length === 0 || scope !== undefined) return scope;
  const message =
    `${names[0]} is not a scope of the form area:read, area:write or area:execute, ` +
    "so an emulator requires none here";
  warnAt(document, "scope_invalid", pointer, message);
  return undefined;
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
  const found =
    named.find(({ device }) => device === true) ?? named.find(({ name }) => name === "deviceId");
  return found === undefined || "in" in found ? found?.name : { in: "body", name: found.name };
}
