/** Finds the operations of a document, and gives each a name of its own. */
import {
  type Document,
  follow,
  type Method,
  operationsOf,
  refuseAt,
  type Writable,
} from "../document/document.js";
import { isObject, type JsonObject, objectOf, pointerTo } from "../document/source-file.js";

export interface NamedOperation {
  readonly id: string;
  readonly method: Method;
  readonly path: string;
  /** The Operation Object of the document. */
  readonly source: JsonObject;
  readonly pointer: string;
  /** The parameters of the path, with their JSON pointer. */
  readonly shared: readonly [list: unknown, pointer: string];
}

/**
 * An operation without `operationId` is named by its method and its path, so the name stays when
 * others come and go. A path item to which several paths refer makes operations of each, of which
 * the first keeps the `operationId`.
 */
export function nameOperations(document: Document): NamedOperation[] {
  const { root, findings, file } = document;
  const found: NamedOperation[] = [];
  const named: string[] = [];
  const taken = new Set<unknown>();
  const paths = objectOf(root.paths) as Writable;
  for (const [path, value] of Object.entries(paths)) {
    if (!path.startsWith("/")) continue;
    const at = pointerTo("/paths", path);
    const place = findings.attempt(() => follow(document, value, at));
    if (!isObject(place?.value)) continue;
    const isRepeated = taken.has(place.value);
    taken.add(place.value);
    // What a path item has beside its reference counts.
    const { $ref, ...beside } = isObject(value) && value !== place.value ? value : {};
    // The types of a path are those of its path item, so such a one and a repeated one need
    // operations of their own.
    const isCopied = isRepeated || Object.keys(beside).length > 0;
    const item = isCopied
      ? { ...(isRepeated ? unnamed(place.value) : place.value), ...beside }
      : place.value;
    if (isCopied) paths[path] = item;
    taken.add(item);
    if (isCopied && !isRepeated) Object.assign(place.value, unnamed(place.value));
    const pointerOf = (key: string) =>
      pointerTo(isRepeated || Object.hasOwn(beside, key) ? at : place.pointer, key);
    const shared = [item.parameters, pointerOf("parameters")] as const;
    for (const { method, key, operation: source } of operationsOf(item)) {
      const { operationId } = source;
      if (typeof operationId === "object" && operationId !== null) {
        const wrong = pointerTo(pointerOf(key), "operationId");
        refuseAt(document, "document_invalid", wrong, "it must be text");
        continue;
      }
      const id = String(operationId || nameOf(method, path));
      // The types are found by it, so it must be there, and be text.
      if (id !== operationId) source.operationId = id;
      if (!operationId) named.push(`${id} (${method} ${path})`);
      found.push({ id, method, path, source, pointer: pointerOf(key), shared });
    }
  }
  if (named.length > 0) {
    const message = `operations without an operationId are called by method and path: ${named.join(", ")}`;
    findings.note("operation_named", file, message);
  }
  return found;
}

/** A copy without the operationIds. */
function unnamed(item: JsonObject): JsonObject {
  const operations = operationsOf(item).map(({ key, operation: { operationId, ...rest } }) => [
    key,
    rest,
  ]);
  return { ...item, ...Object.fromEntries(operations) };
}

/** `GET /users/{id}/posts` is `getUsersByIdPosts`. */
function nameOf(method: string, path: string): string {
  const words = path.replace(/\{[.;]?([^{}*]*)\*?\}/g, " by $1 ").split(/[^A-Za-z0-9]+/);
  const parts = words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1));
  return method.toLowerCase() + (parts.join("") || "Root");
}
