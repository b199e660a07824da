/** The generated table of operations as the client looks them up: by operationId, or by method and path. */
import type { OperationEntry } from "../../generated/operations.js";
import { ConfigurationError, type Variant } from "../errors.js";
import type { LookupTypes } from "./outcome.js";

/** A generated module as `connect({ api })` accepts it; `types` exists for the compiler only. */
export interface Api<T extends LookupTypes> {
  readonly operations: {
    readonly A: object;
    readonly B: object;
    readonly types?: T;
  };
}

export interface Operation extends OperationEntry {
  readonly operationId: string;
}

export interface OperationIndex {
  /** @throws ConfigurationError `operation_unknown` */
  byId(operationId: string): Operation;
  /** @throws ConfigurationError `operation_unknown` */
  byPath(method: string, path: string): Operation;
}

/** Looks operations of one variant up. Costs nothing until a path is asked for, however many operations there are. */
export function indexOperations(entries: object, variant: Variant): OperationIndex {
  const table = entries as Readonly<Record<string, OperationEntry>>;
  let paths: Map<string, string> | undefined;

  const operationOf = (operationId: string | undefined): Operation | undefined => {
    // Own keys only: an operation may be called "constructor".
    if (operationId === undefined || !Object.hasOwn(table, operationId)) return undefined;
    return { ...(table[operationId] as OperationEntry), operationId };
  };

  const unknownOperation = (looked: string, known: Iterable<string>) =>
    new ConfigurationError(
      "operation_unknown",
      `Variant ${variant} has no ${looked}. It has: ${[...known].join(", ")}.`,
      { variant },
    );

  return {
    byId(operationId) {
      const operation = operationOf(operationId);
      if (operation !== undefined) return operation;
      throw unknownOperation("operation with that id", Object.keys(table));
    },
    byPath(method, path) {
      paths ??= new Map(Object.entries(table).map(([id, entry]) => [`${entry.method} ${entry.path}`, id]));
      const operation = operationOf(paths.get(`${method} ${path}`));
      if (operation !== undefined) return operation;
      throw unknownOperation(`${method} operation at that path`, paths.keys());
    },
  };
}
