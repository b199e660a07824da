/** Where the values of a document come from: its text, an overlay, or a file that it refers to. */
import {
  GenerateError,
  type GenerateErrorCode,
  type JsonObject,
  keysOf,
  pointerTo,
  type SourceFile,
} from "./source-file.js";

/**
 * A place in another file that a value comes from: an action of an overlay, a value in its
 * `update`, or a reference.
 */
export interface Action {
  readonly overlay: SourceFile;
  /** JSON pointer in that file. */
  readonly pointer: string;
  /** The file is a part of the description, to which a reference leads, and no overlay. */
  readonly isReferenced?: true;
}

/**
 * What wrote each member of a container; for an array also the index that an item has in the text.
 */
type Writers = Record<string | number, Action | number | undefined>;

/**
 * Records which values of a document come from other files, and where the others are in its text.
 */
export class Origins {
  /** The overlays that changed the document, in the order of their first change. */
  readonly overlays: Set<SourceFile> = new Set<SourceFile>();
  /** The files to which references of the document lead. */
  readonly files: Set<SourceFile> = new Set<SourceFile>();
  /** Where a place was before the document was upgraded. */
  before: (pointer: string) => string = (pointer) => pointer;
  readonly #writers = new WeakMap<object, Writers>();
  readonly #removed: (readonly [pointer: string, action: Action])[] = [];

  /** Must be called before the value at `key` is set, or is appended where `key` is the length. */
  write(container: object, key: string | number, action: Action): void {
    (action.isReferenced ? this.files : this.overlays).add(action.overlay);
    this.#writersIn(container)[key] = action;
  }

  /** Must be called for a list that has some items of another one, with their indexes there. */
  pick(list: object, items: object, indexes: readonly number[]): void {
    const writers = this.#writers.get(items);
    this.#writers.set(
      list,
      indexes.map((index) => writers?.[index] ?? index) as unknown as Writers,
    );
  }

  /** Must be called before the value at `key` of `container` is removed. */
  remove(container: object, key: string | number, pointer: string, action: Action): void {
    this.overlays.add(action.overlay);
    this.#removed.push([pointer, action]);
    const writers = this.#writersIn(container);
    if (Array.isArray(writers)) writers.splice(Number(key), 1);
    else delete writers[key];
  }

  /** The action of an overlay that wrote this member itself, not one around it. */
  writerOf(container: object, key: string | number): Action | undefined {
    const writer = this.#writers.get(container)?.[key];
    return typeof writer === "number" || writer?.isReferenced ? undefined : writer;
  }

  /**
   * The last action that wrote the place or something around it, and the pointer of the place in
   * the text: in that of the other file if there is such an action.
   */
  trace(
    root: unknown,
    pointer: string,
  ): { readonly action: Action | undefined; readonly inText: string } {
    let value = root;
    let action: Action | undefined;
    let inText = "";
    for (const key of keysOf(pointer)) {
      const container: object = Object(value);
      const writer = this.#writers.get(container)?.[key];
      inText = pointerTo(inText, typeof writer === "number" ? writer : key);
      if (typeof writer === "object") {
        action = writer;
        inText = writer.pointer;
      }
      value = Object.hasOwn(container, key) ? (container as JsonObject)[key] : undefined;
    }
    return { action, inText: action === undefined ? this.before(inText) : inText };
  }

  /** The last action that removed the place or something around it. */
  removerOf(pointer: string): Action | undefined {
    return this.#removed.findLast(([removed]) => `${pointer}/`.startsWith(`${removed}/`))?.[1];
  }

  #writersIn(container: object): Writers {
    const known = this.#writers.get(container);
    if (known !== undefined) return known;
    const writers: Writers = Array.isArray(container) ? [...container.keys()] : Object.create(null);
    this.#writers.set(container, writers);
    return writers;
  }
}

export function actionError(
  { overlay, pointer }: Action,
  code: GenerateErrorCode,
  message: string,
  part?: "key",
): GenerateError {
  return new GenerateError(code, message, {
    document: overlay.file,
    position: overlay.positionOf(pointer, part),
    pointer,
  });
}
