/**
 * Reads overlays and applies them to the documents: Overlay Specification 1.0 and 1.1, JSONPath by
 * RFC 9535. Stricter than the specification in one point: an action that matches nothing is an
 * error.
 */
import { basename } from "node:path";
import { JSONPathEnvironment, JSONPathQuery, jsonpath } from "json-p3";
import { z } from "zod";
import { mostAlike } from "../../option-names.js";
import type { ByVariant, Document, Variant } from "./document.js";
import { type Action, actionError } from "./origins.js";
import { checkSwapped, openDocument, prepareDocument, type ReadOptions } from "./read-document.js";
import {
  isObject,
  type JsonObject,
  MOST_CHARACTERS,
  MOST_LEVELS,
  MOST_VALUES,
  pointerTo,
  readSourceFile,
  type SourceFile,
  TOO_DEEP,
  TOO_MANY,
  TOO_MUCH_TEXT,
} from "./source-file.js";

/** Members that start with x- are extensions, and any other unknown member is a mistake. */
function extensible<Shape extends z.ZodRawShape>(shape: Shape) {
  const strict = z.strictObject(shape);
  const isKnown = ([key]: [string, unknown]) => !key.startsWith("x-") || key in shape;
  const dropExtensions = (value: unknown) =>
    isObject(value) ? Object.fromEntries(Object.entries(value).filter(isKnown)) : value;
  return z.preprocess(dropExtensions, strict);
}

/** json-p3 has a lower limit, which it reports by an error while it evaluates. */
const JSONPATH = new JSONPathEnvironment({ maxRecursionDepth: MOST_LEVELS + 1 });

const JsonPath = z.string().transform((text, context) => {
  try {
    return JSONPATH.compile(text);
  } catch (error) {
    context.addIssue(`is not a JSONPath (RFC 9535): ${(error as Error).message}`);
    return z.NEVER;
  }
});

const VariantName = z.enum(["A", "B"], "`x-variant` must be A or B").optional();

const ActionObject = extensible({
  target: JsonPath,
  description: z.string().optional(),
  update: z.unknown().optional(),
  copy: JsonPath.optional(),
  remove: z.boolean().default(false),
  "x-variant": VariantName,
}).refine(
  ({ remove, update, copy }) => remove || (update === undefined) !== (copy === undefined),
  "an action needs `remove: true`, `update` or `copy`, one of them",
);

const VERSION = 'the version of the specification must be a string: write "1.1.0" or "1.0.0"';

/** Overlay Specification 1.1, section "Overlay Object". */
const OverlayObject = extensible({
  overlay: z.string(VERSION).regex(/^1\.[01]\.\d+$/, VERSION),
  info: extensible({ title: z.string(), version: z.string(), description: z.string().optional() }),
  extends: z.string().optional(),
  actions: z.array(ActionObject).min(1, "at least one action is needed"),
  "x-variant": VariantName,
});

interface ActionMembers {
  readonly target: JSONPathQuery;
  readonly update?: unknown;
  readonly copy?: JSONPathQuery | undefined;
  readonly remove: boolean;
  readonly "x-variant"?: Variant | undefined;
}

type OverlayAction = Action & ActionMembers;

interface Overlay {
  readonly source: SourceFile;
  /** Overlay 1.0: no single values as targets, and an array is appended to an array as one item. */
  readonly isFirstVersion: boolean;
  readonly info: { readonly title: string };
  readonly extends?: string | undefined;
  readonly actions: readonly ActionMembers[];
  readonly "x-variant"?: Variant | undefined;
}

/**
 * Reads both documents, applies the overlays one after the other, and checks the result.
 *
 * @throws {GenerateError} for a document that cannot be read any further
 */
export async function readDocuments(
  paths: ByVariant<string>,
  overlayPaths: readonly string[],
  options: ReadOptions,
): Promise<ByVariant<Document>> {
  const { findings, onFile, signal } = options;
  const read = <T>(work: Promise<T>) => work.catch((cause) => findings.error(cause));
  const [A, B, ...overlays] = await Promise.all([
    read(openDocument("A", paths.A, options)),
    read(openDocument("B", paths.B, options)),
    ...overlayPaths.map((path) => {
      onFile?.(path);
      return read(readOverlay(path, signal));
    }),
  ]);
  findings.refuse();
  const documents = { A: A as Document, B: B as Document };
  applyOverlays(overlays as readonly Overlay[], Object.values(documents));
  for (const document of Object.values(documents))
    findings.attempt(() => prepareDocument(document));
  checkSwapped(documents);
  findings.refuseEndless();
  return documents;
}

/** @throws GenerateError `overlay_invalid`, and as `readSourceFile` does */
export async function readOverlay(path: string, signal?: AbortSignal): Promise<Overlay> {
  const source = await readSourceFile(path, signal);
  const invalid = (pointer: string, message: string) =>
    actionError({ overlay: source, pointer }, "overlay_invalid", message);
  const { data, error } = OverlayObject.safeParse(source.root);
  const [issue] = error?.issues ?? [];
  if (data === undefined) {
    const [unknown = []] = issue?.code === "unrecognized_keys" ? issue.keys : [];
    throw invalid(
      pointerTo("", ...((issue?.path ?? []) as string[]).concat(unknown)),
      issue?.message ?? "",
    );
  }
  const isFirstVersion = data.overlay.startsWith("1.0.");
  const copy = data.actions.findIndex((action) => action.copy !== undefined);
  if (!isFirstVersion || copy === -1) return { ...data, source, isFirstVersion };
  throw invalid(pointerTo("/actions", copy, "copy"), "`copy` needs `overlay: 1.1.0`");
}

/**
 * What several overlays remove may be the same: `remove` may match nothing where it matches in the
 * document before the overlays.
 *
 * @throws GenerateError `overlay_unmatched`, `overlay_conflict`, `document_too_large`
 */
export function applyOverlays(overlays: readonly Overlay[], documents: readonly Document[]): void {
  // The actions `copy` of a small overlay could double the document again and again.
  const budget = { values: MOST_VALUES, characters: MOST_CHARACTERS };
  const removes = overlays.some(({ actions }) => actions.some(({ remove }) => remove));
  const before = new Map(removes ? documents.map((one) => [one, structuredClone(one.root)]) : []);
  for (const overlay of overlays) {
    for (const [index, object] of overlay.actions.entries()) {
      const action = { ...object, overlay: overlay.source, pointer: pointerTo("/actions", index) };
      const candidates = documentsFor(overlay, action, documents);
      const matched = candidates.filter((document) => {
        const targets = select(document.root, action.target);
        const change = changesOf(document, action, overlay.isFirstVersion, budget);
        if (action.remove) change.remove(targets);
        else if (targets.length > 0) change.update(targets);
        if (targets.length > 0 || !action.remove) return targets.length > 0;
        return select(before.get(document) ?? {}, action.target).length > 0;
      });
      if (matched.length > 0) continue;
      const names = candidates.map(({ file }) => file).join(" and in ");
      // `contract --learn` writes it.
      const isLearnt = overlay.info.title === "What a contract test observed";
      const remedy = isLearnt
        ? ". A learnt overlay fits the documents of bivariant (its folder openapi): add your " +
          "paths to copies of those, or generate without it and use the learnt settings"
        : "";
      const message =
        `${action.target} matches nothing in ` +
        `${names}${nearestName(action.target, candidates)}${remedy}`;
      throw actionError(action, "overlay_unmatched", message);
    }
  }
}

/** Says which existing name is most like the first name of a target that matches nothing. */
function nearestName({ segments }: JSONPathQuery, documents: readonly Document[]): string {
  const valuesAt = (length: number) => {
    const query = new JSONPathQuery(JSONPATH, segments.slice(0, length));
    return documents.flatMap(({ root }) => select(root, query).map(({ value }) => value));
  };
  const at = segments.findIndex((_, index) => valuesAt(index + 1).length === 0);
  const [selector] = segments[at]?.selectors ?? [];
  if (!(selector instanceof jsonpath.selectors.NameSelector)) return "";
  const names = valuesAt(at).flatMap((value) => (isObject(value) ? Object.keys(value) : []));
  const meant = mostAlike(selector.name, names);
  return meant === undefined ? "" : `. Use ${meant} instead of ${selector.name}`;
}

/** By `x-variant`, else by `extends`, else both. */
function documentsFor(
  overlay: Overlay,
  action: OverlayAction,
  documents: readonly Document[],
): readonly Document[] {
  const { "x-variant": variant = overlay["x-variant"] } = action;
  if (variant !== undefined) return documents.filter((document) => document.variant === variant);
  // A URI reference, of which a user renames or moves the folders.
  const base = overlay.extends && basename(overlay.extends.replace(/[?#].*/, ""));
  const extended = documents.filter(({ file }) => base === undefined || file === base);
  if (extended.length > 0) return extended;
  const names = documents.map(({ file }) => file).join(" and ");
  const message =
    `\`extends\` names ${base}, but the documents are ${names}. ` +
    `Leave it out, or name a variant: \`x-variant: A\``;
  throw actionError({ overlay: overlay.source, pointer: "/extends" }, "overlay_unmatched", message);
}

type Container = Record<string | number, unknown>;

/** A value that `target` selects, and where it is. The document itself has no container. */
interface Target {
  readonly value: unknown;
  readonly container: Container | undefined;
  readonly key: string | number;
  readonly pointer: string;
}

function kindOf(value: unknown): "an array" | "an object" | "a single value" {
  if (Array.isArray(value)) return "an array";
  return isObject(value) ? "an object" : "a single value";
}

/** Each place once: a query such as `$.tags[0,0]` selects one twice. */
function select(document: JsonObject, query: JSONPathQuery): readonly Target[] {
  const root: Container = document;
  const found = new Map<string, Target>();
  for (const { location, value } of query.query(root as never)) {
    const pointer = pointerTo("", ...location);
    const above = location.slice(0, -1).reduce((parent, key) => parent[key] as Container, root);
    const container = location.length === 0 ? undefined : above;
    found.set(pointer, { value, container, key: location.at(-1) ?? "", pointer });
  }
  return [...found.values()];
}

/**
 * What one action does with its targets in one document. `budget` is how much may still be written.
 */
function changesOf(
  document: Document,
  action: OverlayAction,
  isFirstVersion: boolean,
  budget: { values: number; characters: number },
) {
  const { overlay } = action;
  /** Where the value that is written stands in the overlay. */
  const source = pointerTo(action.pointer, action.copy === undefined ? "update" : "copy");
  const below = (from: string, key: string | number) =>
    action.copy === undefined ? pointerTo(from, key) : from;

  const conflict = (pointer: string, message: string, from = action.pointer): Error => {
    const place = pointer === "" ? document.file : `${document.file}#${pointer}`;
    return actionError({ overlay, pointer: from }, "overlay_conflict", `${message} (${place})`);
  };

  const remove = (targets: readonly Target[]): void => {
    // From the back, because an index changes when an item before it is removed.
    const fromBack = [...targets].sort((a, b) => (Number(b.key) || 0) - (Number(a.key) || 0));
    for (const { container, key, pointer } of fromBack) {
      if (container === undefined) throw conflict(pointer, "the whole document cannot be removed");
      document.origins.remove(container, key, pointer, action);
      if (Array.isArray(container)) container.splice(Number(key), 1);
      else delete container[key];
    }
  };

  const refusePrototype = (value: unknown): void => {
    if (isObject(value) && Object.hasOwn(value, "__proto__")) {
      throw conflict("", "a member named __proto__ is refused");
    }
  };

  /** Each target gets a value of its own, which later actions can change alone. */
  const clone = (value: unknown, level: number): unknown => {
    const tooLarge = (message: string) => actionError(action, "document_too_large", message);
    budget.values -= 1;
    if (typeof value === "string") budget.characters -= value.length;
    if (level > MOST_LEVELS) throw tooLarge(TOO_DEEP);
    if (budget.values < 0) throw tooLarge(TOO_MANY);
    if (budget.characters < 0) throw tooLarge(TOO_MUCH_TEXT);
    refusePrototype(value);
    if (Array.isArray(value)) return value.map((item) => clone(item, level + 1));
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, clone(item, level + 1)]),
    );
  };

  const write = (
    container: object,
    key: string | number,
    value: unknown,
    pointer: string,
    from: string,
  ): void => {
    const copy = clone(value, pointer.split("/").length);
    document.origins.write(container, key, { overlay, pointer: from });
    (container as Container)[key] = copy;
  };

  const append = (
    list: unknown[],
    items: readonly unknown[],
    pointer: string,
    from: string,
  ): void => {
    for (const [index, item] of items.entries()) {
      write(list, list.length, item, pointer, below(from, index));
    }
  };

  /** The pairs of kinds of section "Action Object"; every other one is an error. */
  const merge = (target: Container, update: JsonObject, pointer: string, from: string): void => {
    refusePrototype(update);
    for (const [key, value] of Object.entries(update)) {
      const place = pointerTo(pointer, key);
      const at = below(from, key);
      const old = Object.hasOwn(target, key) ? target[key] : undefined;
      const kind = kindOf(value);
      if (old === undefined) write(target, key, value, place, at);
      else if (kind !== kindOf(old))
        throw conflict(place, `${kind} cannot be written onto ${kindOf(old)}`, at);
      else if (kind === "an object") merge(old as Container, value as JsonObject, place, at);
      else if (kind === "an array") append(old as unknown[], value as unknown[], place, at);
      else write(target, key, value, place, at);
    }
  };

  const valueToWrite = (): unknown => {
    if (action.copy === undefined) return action.update;
    const [found, other] = select(document.root, action.copy);
    if (found === undefined) {
      const message = `\`copy\` matches nothing in ${document.file}: ${action.copy}`;
      throw actionError(action, "overlay_unmatched", message);
    }
    if (other === undefined) return clone(found.value, 0);
    throw conflict("", `\`copy\` must select one value, but ${action.copy} selects several`);
  };

  const update = (targets: readonly Target[]): void => {
    const value = valueToWrite();
    const [kind, ...others] = new Set(targets.map((target) => kindOf(target.value)));
    if (others.length > 0) {
      const kinds = [kind, ...others].join(" and ");
      throw conflict("", `the target must select values of one kind, but selects ${kinds}`);
    }
    for (const { value: old, container, key, pointer } of targets) {
      if (kind === "an array") {
        const list = old as unknown[];
        if (Array.isArray(value) && !isFirstVersion) append(list, value, pointer, source);
        else write(list, list.length, value, pointer, source);
      } else if (kindOf(value) !== kind) {
        throw conflict(pointer, `${kindOf(value)} cannot be written onto ${kind}`);
      } else if (kind === "an object") {
        merge(old as Container, value as JsonObject, pointer, source);
      } else if (isFirstVersion) {
        const message =
          "a single value as target needs `overlay: 1.1.0`; or update the object that holds it";
        throw conflict(pointer, message);
      } else if (container !== undefined) write(container, key, value, pointer, source);
    }
  };

  return { remove, update };
}
