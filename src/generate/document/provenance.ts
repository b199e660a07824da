/**
 * Says of each field and operation where it comes from, unless the document itself describes it.
 */
import { type Document, INSTANCE_KEYS, NAMED_BY_AUTHOR } from "./document.js";
import { isObject, type JsonObject, listOf } from "./source-file.js";

/**
 * The sentence for an operation, a parameter, a body, a response, a named schema or a property, by
 * that object.
 */
export type ProvenanceNotes = ReadonlyMap<unknown, string>;

/** What is in these maps and lists has a comment of its own in the generated types. */
const FIELDS: ReadonlySet<string> = new Set([
  ...["properties", "schemas", "parameters", "requestBodies", "responses", "headers"],
]);

interface Field {
  /** The overlays that wrote the field, or a part of it that is not a field itself. */
  readonly files: Set<string>;
  /** Ids of `x-not-shown`. */
  readonly unknowns: Set<string>;
}

interface Context {
  readonly field: Field;
  /** The overlay that wrote the value or something around it. */
  readonly file?: string | undefined;
  /** By `x-observed: true` or `x-assumed: true` at the value or around it. */
  readonly word?: "observed" | "assumed" | undefined;
  /** The overlay that wrote this mark. It says nothing about what the document describes itself. */
  readonly markedBy?: string | undefined;
}

export function provenanceNotes({ root, text, origins }: Document): ProvenanceNotes {
  const notes = new Map<unknown, string>();
  if (origins.overlays.size === 0 && !/x-(?:observed|assumed|not-shown)/.test(text)) return notes;
  const walk = (value: unknown, parentKey: string, isField: boolean, around: Context): void => {
    if (typeof value !== "object" || value === null) return;
    const isNamed = NAMED_BY_AUTHOR.has(parentKey);
    const writerOf = (key: string) => origins.writerOf(value, key)?.overlay.file;
    const field: Field = isField
      ? { files: new Set(around.file === undefined ? [] : [around.file]), unknowns: new Set() }
      : around.field;
    const here: Context = { ...(isNamed ? around : marked(value, around, writerOf)), field };
    for (const [key, child] of Object.entries(value)) {
      const writer = writerOf(key);
      const isFieldBelow = FIELDS.has(parentKey) || (!isNamed && isFieldKey(key, child));
      if (writer !== undefined && !isFieldBelow) field.files.add(writer);
      if (key === "x-not-shown" && !isNamed) addUnknowns(field, child);
      if (INSTANCE_KEYS.has(key) && !isNamed) continue;
      walk(child, isNamed || Array.isArray(value) ? "" : key, isFieldBelow, {
        ...here,
        file: writer ?? around.file,
      });
    }
    const note = isField ? sentence(field, here) : undefined;
    if (note !== undefined) notes.set(value, note);
  };
  walk(root, "", false, { field: { files: new Set(), unknowns: new Set() } });
  return notes;
}

function isFieldKey(key: string, value: unknown): boolean {
  return key === "requestBody" || (isObject(value) && typeof value.operationId === "string");
}

function marked(
  value: object,
  around: Context,
  writerOf: (key: string) => string | undefined,
): Context {
  const source = value as JsonObject;
  const word = (["observed", "assumed"] as const).find((name) => source[`x-${name}`] === true);
  if (word !== undefined)
    return { ...around, word, markedBy: writerOf(`x-${word}`) ?? around.file };
  const isDescribed = around.markedBy !== undefined && around.file === undefined;
  return isDescribed ? { ...around, word: undefined, markedBy: undefined } : around;
}

function addUnknowns(field: Field, marks: unknown): void {
  for (const mark of listOf(marks)) {
    const { id, untilTold } = Object(mark);
    if (untilTold) field.unknowns.add(id);
  }
}

function sentence({ files, unknowns }: Field, { word }: Context): string | undefined {
  const by = files.size === 0 ? "" : ` (${[...files].join(", ")})`;
  const assumed =
    unknowns.size === 0 ? "" : `; assumed until told: ${[...unknowns].join(", ")} (unknowns.ts)`;
  const origin = word ?? (files.size === 0 ? "described" : "overlaid");
  return origin === "described" && assumed === ""
    ? undefined
    : `Provenance: ${origin}${by}${assumed}.`;
}
