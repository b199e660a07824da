/** Finds an operation of a generated module by its id, or by method and path. */
import type { OperationEntry } from "../../generated/operations.js";
import { ConfigurationError, type Variant } from "../errors.js";
import { mostAlike } from "../option-names.js";
import type { LookupTypes } from "./outcome.js";

/** A generated module as `connect({ api })` accepts it; `types` exists for the compiler only. */
export interface Api<T extends LookupTypes> {
  readonly operations: { readonly A: object; readonly B: object; readonly types?: T };
}

/** An error names at most this many operations, since a document may have more than a thousand. */
const mostNames = 20;

/** Looks up the operations of one variant. The index of paths is built at the first call by path. */
export class OperationIndex {
  readonly #table: Readonly<Record<string, OperationEntry>>;
  readonly #variant: Variant;
  #ids: Map<string, string> | undefined;

  constructor(table: object, variant: Variant) {
    this.#table = table as Readonly<Record<string, OperationEntry>>;
    this.#variant = variant;
  }

  byId(operationId: string): OperationEntry {
    // Only own keys count, because an inherited name such as "constructor" is not an operation.
    const entry = Object.hasOwn(this.#table, operationId) ? this.#table[operationId] : undefined;
    if (entry !== undefined) return entry;
    // What does not look like a name may be a secret in the wrong place.
    const asked = typeof operationId === "string" && /^[\w.$/{}-]{1,60}$/.test(operationId);
    const named = asked ? `operation with the id "${operationId}"` : "operation with that id";
    throw this.#unknown(named, Object.keys(this.#table), asked ? operationId : undefined);
  }

  idOf(method: string, path: string): string {
    this.#ids ??= new Map(
      Object.entries(this.#table).map(([id, { method, path }]) => [`${method} ${path}`, id]),
    );
    const operationId = this.#ids.get(`${method} ${path}`);
    if (operationId !== undefined) return operationId;
    throw this.#unknown(`${method} operation at that path`, this.#ids.keys());
  }

  #unknown(missing: string, known: Iterable<string>, asked?: string): ConfigurationError {
    const all = [...known];
    const meant = asked && mostAlike(asked, all);
    const more = all.length > mostNames ? ` and ${all.length - mostNames} more` : "";
    const advice = meant ? `Use ${meant}. ` : "";
    const message = `Variant ${this.#variant} has no ${missing}. ${advice}It has: ${all.slice(0, mostNames).join(", ")}${more}.`;
    return new ConfigurationError("operation_unknown", message, { variant: this.#variant });
  }
}
