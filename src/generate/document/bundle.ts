/** Brings what references of a document have in other files into its components. */
import { realpath } from "node:fs/promises";
import { dirname, isAbsolute, relative, resolve, sep } from "node:path";
import { unescape as percentDecoded } from "node:querystring";
import { realPath } from "../../input-file.js";
import {
  atPointer,
  type Document,
  documentError,
  NAMED_BY_AUTHOR,
  operationsOf,
  reportReference,
  type Writable,
  walkDocument,
} from "./document.js";
import { actionError } from "./origins.js";
import {
  GenerateError,
  isObject,
  type JsonObject,
  keysOf,
  MOST_VALUES,
  objectOf,
  pointerTo,
  readSourceFile,
  type SourceFile,
  TOO_MANY,
} from "./source-file.js";

const KINDS = [
  "schemas",
  "parameters",
  "responses",
  "requestBodies",
  "headers",
  "examples",
  "links",
  "callbacks",
  "pathItems",
  "securitySchemes",
] as const;
/** What a reference leads to: the name of the part of the components that holds such values. */
type Kind = (typeof KINDS)[number];

/**
 * What the values of a key are, or the items or the members of its value. Everything else is a
 * schema.
 */
const KIND_OF: ReadonlyMap<string, Kind> = new Map([
  ...KINDS.map((kind) => [kind, kind] as const),
  ["requestBody", "requestBodies"],
  ["paths", "pathItems"],
  ["webhooks", "pathItems"],
]);

/** Swagger 2.0 has these in other places, where the upgrade finds them. */
const SWAGGER_PLACES: Partial<Record<Kind, string>> = {
  schemas: "definitions",
  parameters: "parameters",
  responses: "responses",
};

interface File {
  readonly path: string;
  readonly source: SourceFile;
  readonly isMain: boolean;
}

export interface BundleOptions {
  /** The folder that references to other files may reach. Default: that of the document. */
  readonly refs?: string | undefined;
  /** Receives the path of each file before it is read. */
  readonly onFile?: ((path: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

type Budget = { values: number };

interface Reference {
  readonly holder: Writable;
  readonly key: string;
  readonly kind: Kind;
  readonly from: File;
  /** JSON pointer of the holder in its file. */
  readonly pointer: string;
}

/**
 * Files must be in `folder`, by default that of the document, so that a document from elsewhere
 * reads nothing else.
 *
 * @throws GenerateError `reference_external`, `reference_missing`, and as `readSourceFile` does
 */
export async function bundleFiles(
  document: Document,
  path: string,
  { refs: folder, onFile, signal }: BundleOptions,
): Promise<void> {
  const main: File = { path: realPath(path), source: document, isMain: true };
  const allowed = folder === undefined ? dirname(main.path) : await realFolder(folder);
  const files = new Map<string, File>([[main.path, main]]);
  const names = new Map<string, string>();
  const items = new Set<string>();
  /** The path items of other files that a path item has been replaced by. */
  const chains = new WeakMap<object, Set<string>>();
  const budget = { values: MOST_VALUES };
  const pending = referencesIn(document.root, main, "", "schemas", budget);
  const failure = (
    { from, pointer }: Reference,
    code: "reference_external" | "reference_missing" | "reference_circular",
    message: string,
  ) => {
    if (from === main) return documentError(document, code, pointer, message);
    return actionError({ overlay: from.source, pointer }, code, message);
  };

  const fileOf = async (reference: Reference, target: string): Promise<File> => {
    const { holder, key, from } = reference;
    if (/^[a-z][a-z0-9+.-]+:/i.test(target)) {
      const message =
        `${holder[key]} is at another address, and nothing is fetched. ` +
        "Make one file of all, and pass that: " +
        `npx @redocly/cli bundle ${path} --output bundled.yaml`;
      throw failure(reference, "reference_external", message);
    }
    const wanted = resolve(dirname(from.path), percentDecoded(target));
    onFile?.(wanted);
    const real = await realpath(wanted).catch(() => undefined);
    const hint = target.includes("\\") ? "; a reference is a URL, so write / between folders" : "";
    if (real === undefined)
      throw failure(reference, "reference_missing", `there is no file ${target}${hint}`);
    const below = relative(allowed, real);
    if (below.startsWith("..") || isAbsolute(below)) {
      const message =
        `${target} is outside of ${folder ?? "the folder of the document"}. ` +
        "To allow it, name a folder that holds both: --refs <folder>, or the option refs";
      throw failure(reference, "reference_external", message);
    }
    const known = files.get(real);
    if (known !== undefined) return known;
    const source = await readSourceFile(real, signal).catch((cause) => {
      const isUnreadable = cause instanceof GenerateError && cause.code === "document_unreadable";
      if (!isUnreadable) throw cause;
      const { code } = Object(cause.cause) as NodeJS.ErrnoException;
      throw failure(reference, "reference_missing", `${target} cannot be read: ${code}`);
    });
    const file = relative(dirname(main.path), real).split(sep).join("/");
    const loaded: File = { path: real, source: { ...source, file }, isMain: false };
    files.set(real, loaded);
    return loaded;
  };

  const resolveOne = async (reference: Reference): Promise<void> => {
    const { holder, key, kind, from } = reference;
    const text = String(holder[key]);
    const [target = "", fragment = ""] = text.split("#", 2);
    const file = target === "" ? from : await fileOf(reference, target);
    const pointer = percentDecoded(fragment);
    if (file === main) {
      holder[key] = `#${fragment}`;
      return;
    }
    const value = /^(?:\/|$)/.test(pointer) ? atPointer(file.source.root, pointer) : undefined;
    if (value === undefined)
      throw failure(reference, "reference_missing", `${text} does not exist`);
    const origin = { overlay: file.source, pointer, isReferenced: true } as const;
    const copy = structuredClone(value);
    if (!isObject(copy) && typeof copy !== "boolean") {
      throw failure(reference, "reference_missing", `${text} leads to a value that is no object`);
    }
    if (kind === "pathItems" && isObject(copy)) {
      // Each path has a copy of its own, since it makes operations of its own. The first has their
      // names.
      const item = `${file.path}#${pointer}`;
      const chain = chains.get(holder) ?? new Set();
      if (chain.has(item))
        throw failure(reference, "reference_circular", `${text} leads back to itself`);
      chains.set(holder, chain.add(item));
      for (const { operation } of items.has(item) ? operationsOf(copy) : [])
        delete operation.operationId;
      items.add(item);
      // The copy itself may have been a reference.
      for (const one of referencesIn(copy, file, pointer, kind, budget))
        pending.push(one.holder === copy ? { ...one, holder } : one);
      delete holder.$ref;
      for (const [member, item] of Object.entries(copy)) {
        if (Object.hasOwn(holder, member)) continue;
        document.origins.write(holder, member, { ...origin, pointer: pointerTo(pointer, member) });
        holder[member] = item;
      }
      return;
    }
    const id = `${kind} ${file.path}#${pointer}`;
    const known = names.get(id);
    const place = placeOf(document, kind);
    const name = known ?? freeName(place.holder, plainName(pointer, file.source.file));
    names.set(id, name);
    holder[key] = `#${pointerTo(place.pointer, name)}`;
    if (known !== undefined) return;
    document.origins.write(place.holder, name, origin);
    place.holder[name] = copy;
    for (const one of referencesIn(copy, file, pointer, kind, budget)) pending.push(one);
  };

  // The list grows meanwhile.
  for (const reference of pending)
    await resolveOne(reference).catch((cause) => reportReference(document, cause));
}

async function realFolder(folder: string): Promise<string> {
  return realpath(folder).catch((cause) => {
    const message = `\`refs\` must be an existing folder: ${folder}`;
    throw new GenerateError("option_invalid", message, { cause });
  });
}

/** Where values of the kind belong in the document. */
function placeOf({ root }: Document, kind: Kind) {
  const isSwagger = root.swagger !== undefined;
  const keys =
    isSwagger && SWAGGER_PLACES[kind] !== undefined ? [SWAGGER_PLACES[kind]] : ["components", kind];
  let holder = root as Writable;
  for (const key of keys) {
    if (!isObject(holder[key])) holder[key] = {};
    holder = holder[key] as Writable;
  }
  return { holder, pointer: pointerTo("", ...keys) };
}

/** The last key of the pointer, or the name of the file. */
function plainName(pointer: string, file: string): string {
  const last = pointer.split("/").at(-1) || (file.split("/").at(-1) ?? "").replace(/\.[^.]*$/, "");
  return last.replace(/~[01]|[^A-Za-z0-9._-]+/g, "-");
}

/** The name, with a number if another value has it. */
export function freeName(holder: JsonObject, plain: string): string {
  let name = plain;
  for (let count = 2; Object.hasOwn(holder, name); count += 1) name = `${plain}-${count}`;
  return name;
}

/** The references in a value of another file, or of the document those to other files. */
function referencesIn(
  root: unknown,
  from: File,
  at: string,
  kind: Kind,
  budget: Budget,
): Reference[] {
  const found: Reference[] = [];
  const add = (holder: unknown, key: string, place: () => string, own?: Kind): void => {
    const text = isObject(holder) ? holder[key] : undefined;
    if (typeof text !== "string" || (from.isMain && text.startsWith("#"))) return;
    const pointer = place();
    const reached = own ?? kindAt(kind, keysOf(pointer));
    found.push({ holder: holder as Writable, key, kind: reached, from, pointer: at + pointer });
  };
  walkDocument(root, (value, place) => {
    budget.values -= 1;
    if (budget.values < 0)
      throw new GenerateError("document_too_large", TOO_MANY, { document: from.source.file });
    add(value, "$ref", place);
    if (isObject(value.examples))
      for (const name of Object.keys(value.examples))
        add(value.examples[name], "$ref", () => pointerTo(place(), "examples", name), "examples");
    const { mapping } = Object(value.discriminator);
    // Without the sign of a path or of a file it is the name of a schema.
    for (const name of Object.keys(objectOf(mapping)))
      if (/[#/]|\.(?:ya?ml|json)$/.test(String(mapping[name])))
        add(mapping, name, () => pointerTo(place(), "discriminator", "mapping", name), "schemas");
  });
  return found;
}

/**
 * The kind of the value at these keys, below a value of the first kind. The top of a document may
 * be any.
 */
export function kindAt(root: Kind, keys: readonly string[]): Kind {
  let kind = root;
  let isMap = false;
  for (const key of keys) {
    const known = KIND_OF.get(key);
    if (isMap) isMap = false;
    else if (known !== undefined) {
      kind = known;
      isMap = NAMED_BY_AUTHOR.has(key);
    } else if (kind === "callbacks") kind = "pathItems";
    else if (!/^\d+$/.test(key)) {
      kind = "schemas";
      isMap = NAMED_BY_AUTHOR.has(key);
    }
  }
  return kind;
}
