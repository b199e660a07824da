/** The generated table as the client uses it: by operationId, and by method and path. */
import type { OperationEntry } from "../../generated/operations.js";
import { ConfigurationError, type Variant } from "../errors.js";
import type { LookupTypes } from "./outcome.js";

/** A generated module as `connect({ api })` takes it; `types` exists for the compiler only. */
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

/** Indexes the operations of one variant. */
export function indexOperations(entries: object, variant: Variant): OperationIndex {
  const ids = new Map<string, Operation>();
  const paths = new Map<string, Operation>();
  for (const [operationId, entry] of Object.entries(entries as Record<string, OperationEntry>)) {
    const operation = { ...entry, operationId };
    ids.set(operationId, operation);
    paths.set(`${entry.method} ${entry.path}`, operation);
  }
  return {
    byId(operationId) {
      const operation = ids.get(operationId);
      if (operation !== undefined) return operation;
      throw unknown(`Variant ${variant} has no operation of that id. It has: ${[...ids.keys()].join(", ")}.`);
    },
    byPath(method, path) {
      const operation = paths.get(`${method} ${path}`);
      if (operation !== undefined) return operation;
      throw unknown(
        `Variant ${variant} has no ${method} operation at that path. It has: ${[...paths.keys()].join(", ")}.`,
      );
    },
  };

  function unknown(message: string): ConfigurationError {
    return new ConfigurationError("operation_unknown", message, { variant });
  }
}
