/**
 * Makes an example value from a JSON Schema (2020-12): always the same one, of bounded size, and
 * allowed by the schema.
 */
import { format } from "@cfworker/json-schema";
import { SchemaCompiler } from "../../json-schema/compiler.js";
import { patternOf } from "../../json-schema/formats.js";
import type { Check } from "../../json-schema/run.js";
import { type Document, referred } from "../document/document.js";
import { isObject, type JsonObject, listOf } from "../document/source-file.js";
import { alternatives, mergedSchema } from "./alternatives.js";
import { UNCHECKED } from "./checked-schema.js";
import { numbers, strings } from "./sample-scalars.js";

/** Of the values that a schema may leave out, so many are in a sample at most. */
const MOST_OPTIONAL = 1000;
/** So many schemas are entered for one sample at most. */
const MOST_STEPS = 20_000;
const MOST_LEVELS = 60;
const MOST_FIRST = 12;
const MOST_TRIES = 200;
const MOST_ITEMS = 1000;

/** No value is found. `undefined` means that the schema allows any. */
export const NOT_FOUND: unique symbol = Symbol("not found");

/** A value where any is allowed. */
const orAny = (value: unknown) => (value === undefined ? {} : value);

const compilers = new WeakMap<Document, SchemaCompiler>();
const checks = new WeakMap<object, Check>();
const samples = new WeakMap<object, { readonly value: unknown; readonly size: number }>();

/** Whether a schema allows a value, by the validator, and by the emulator's formats. */
export function isAllowed(document: Document, schema: unknown, value: unknown): boolean {
  if (!isObject(schema)) return schema !== false;
  if (typeof value === "string" && format[String(schema.format)]?.(value) === false) return false;
  const compiler =
    compilers.get(document) ?? new SchemaCompiler((reference) => referred(document, reference));
  compilers.set(document, compiler);
  const check = checks.get(schema) ?? compiler.compile(schema);
  checks.set(schema, check);
  return check(value, { issues: undefined, path: [], shown: [], verdicts: new Map() });
}

/** Returns a value that the schema allows, undefined if it allows any, or `NOT_FOUND`. */
export function sampleOf(document: Document, schema: unknown): unknown {
  return new Sampler(document).sample(schema, []);
}

class Sampler {
  readonly #document: Document;
  #optional = MOST_OPTIONAL;
  #steps = MOST_STEPS;
  /**
   * How often a schema was left because it is open already, or because the sample is large enough.
   */
  #cuts = 0;

  constructor(document: Document) {
    this.#document = document;
  }

  /**
   * `open` has the schemas around this one; where one of them comes again, another way must end the
   * recursion.
   */
  sample(source: unknown, open: readonly unknown[], optional = false): unknown {
    const at = this.#referred(source);
    const known = samples.get(Object(at));
    if (known !== undefined) return this.#taken(known, optional);
    this.#steps -= 1;
    this.#optional -= 1;
    const isLeftOut = open.includes(at) || open.length > MOST_LEVELS || this.#steps < 0;
    if (isLeftOut || (optional && this.#optional < 0)) {
      this.#cuts += 1;
      return NOT_FOUND;
    }
    const cuts = this.#cuts;
    const left = this.#optional;
    let value: unknown = NOT_FOUND;
    for (const candidate of first(MOST_TRIES, this.#candidates(at, [...open, at]))) {
      if (candidate === undefined || isAllowed(this.#document, source, candidate))
        value = candidate;
      if (value !== NOT_FOUND) break;
    }
    // A value that was cut is not what another place would get.
    if (isObject(at) && this.#cuts === cuts)
      samples.set(at, { value, size: left - this.#optional });
    return value;
  }

  #taken({ value, size }: { value: unknown; size: number }, optional: boolean): unknown {
    this.#steps -= size;
    this.#optional -= size;
    const isTooLarge = this.#steps < 0 || (optional && this.#optional < 0);
    if (isTooLarge) this.#cuts += 1;
    return isTooLarge ? NOT_FOUND : value;
  }

  #referred(source: unknown): unknown {
    let at = source;
    while (isObject(at) && typeof at.$ref === "string" && Object.keys(at).length === 1)
      at = referred(this.#document, at.$ref);
    return at;
  }

  *#candidates(source: unknown, open: readonly unknown[]): Generator<unknown> {
    const all = alternatives(this.#document, source);
    const ordered = nullLast(all, ({ type }) => type);
    // A few of each first: the last ones of the first alternative are many.
    for (const schema of ordered) yield* first(MOST_FIRST, this.#ofAlternative(schema, open));
    if (all.length > 1) yield* this.#ofOneOnly(ordered, open);
    for (const schema of ordered) yield* this.#ofAlternative(schema, open);
  }

  *#ofAlternative(schema: JsonObject, open: readonly unknown[]): Generator<unknown> {
    yield* listOf(schema.examples);
    if (schema.enum !== undefined) yield* listOf(schema.enum);
    else for (const type of typesOf(schema)) yield* this.#ofType(type, schema, open);
  }

  /**
   * Open objects allow each other's values, so the members of the others get a value that they
   * refuse.
   */
  *#ofOneOnly(all: readonly JsonObject[], open: readonly unknown[]): Generator<unknown> {
    const described = all.flatMap(({ properties }) => Object.keys(Object(properties)));
    for (const schema of all) {
      const own = Object.keys(Object(schema.properties));
      const names = described.filter((name) => !own.includes(name));
      if (names.length === 0 || schema.properties === undefined) continue;
      for (const value of first(2, this.#objects(schema, open)))
        for (const refused of [null, false, []])
          yield { ...value, ...Object.fromEntries(names.map((name) => [name, refused])) };
    }
  }

  *#ofType(type: unknown, schema: JsonObject, open: readonly unknown[]): Generator<unknown> {
    if (type === "object") yield* this.#objects(schema, open);
    else if (type === "array") yield* this.#arrays(schema, open);
    else if (type === "string") yield* strings(schema);
    else if (type === "integer" || type === "number") yield* numbers(schema, type === "integer");
    else if (type === "boolean") yield* [true, false];
    else if (type === "null") yield null;
    else if (
      Object.keys(schema).every(
        (key) => UNCHECKED.has(key) || key === "nullable" || key.startsWith("x-"),
      )
    )
      yield undefined;
    else
      for (const any of ["object", "string", "number", "array", "boolean", "null"])
        yield* this.#ofType(any, schema, open);
  }

  *#objects(schema: JsonObject, open: readonly unknown[]): Generator<JsonObject> {
    const full = this.#object(schema, open, true);
    if (full !== undefined) yield full;
    const bare = this.#object(schema, open, false);
    if (bare === undefined) return;
    yield bare;
    if (full === undefined) return;
    // Others for `uniqueItems`, and each member alone for keywords that allow only some of them
    // together.
    for (const name of Object.keys(full)) yield { ...bare, [name]: full[name] };
    for (const name of Object.keys(full)) {
      const member = memberOf(schema, name);
      for (const other of first(MOST_TRIES, this.#candidates(member, [...open, member]))) {
        if (other !== undefined && isAllowed(this.#document, member, other))
          yield { ...full, [name]: other };
      }
    }
  }

  /** Undefined if no value is found for a member that is required. */
  #object(schema: JsonObject, open: readonly unknown[], isFull: boolean): JsonObject | undefined {
    const required = new Set(listOf(schema.required).map(String));
    const described = isFull ? Object.keys(Object(schema.properties)) : [];
    const object = new Map<string, unknown>();
    for (const name of new Set([...described, ...required])) {
      const member = memberOf(schema, name);
      const isNeeded = required.has(name);
      if (!isNeeded && isObject(member) && member.writeOnly === true) continue;
      const value = this.sample(member, open, !isNeeded);
      if (value === NOT_FOUND && isNeeded) return undefined;
      if (isNeeded || (value !== undefined && value !== NOT_FOUND)) object.set(name, orAny(value));
    }
    const least = Math.min(Number(schema.minProperties ?? 0), MOST_ITEMS);
    for (const name of this.#names(schema)) {
      if (object.size >= least) break;
      const value = this.sample(memberOf(schema, name), open);
      if (value !== NOT_FOUND) object.set(name, orAny(value));
    }
    return Object.fromEntries(object);
  }

  /** Names for members that the schema does not name. */
  *#names(schema: JsonObject): Generator<string> {
    yield* Object.keys(Object(schema.properties));
    const sources = Object.keys(Object(schema.patternProperties)).map((pattern) => ({ pattern }));
    for (const source of [schema.propertyNames, ...sources, {}]) {
      if (source === undefined) continue;
      const { enum: values, ...rest } = mergedSchema(this.#document, source);
      for (const name of Array.isArray(values) ? values : strings(rest)) {
        if (isAllowed(this.#document, source, name)) yield String(name);
      }
    }
  }

  *#arrays(schema: JsonObject, open: readonly unknown[]): Generator<readonly unknown[]> {
    const {
      minItems = 0,
      maxItems = MOST_ITEMS,
      minContains = 1,
    } = schema as Partial<Record<string, number>>;
    const count = Math.min(minItems, MOST_ITEMS);
    const wanted =
      schema.contains === undefined
        ? []
        : this.#several(schema.contains, minContains, schema, open);
    const first = listOf(schema.prefixItems).map((item) => this.sample(item, open));
    const start = first.slice(0, first.includes(NOT_FOUND) ? first.indexOf(NOT_FOUND) : undefined);
    const head = [...start, ...wanted].map(orAny);
    const more = this.#several(
      schema.items ?? true,
      Math.max(count, 1) - head.length,
      schema,
      open,
      count === 0,
    );
    const whole = [...head, ...more];
    if (whole.length >= count) yield whole.slice(0, Math.max(Math.min(maxItems, whole.length), 0));
    if (count === 0) yield [];
    if (head.length >= count) yield head;
  }

  /** So many items, different ones for `uniqueItems`; fewer if there are not so many. */
  #several(
    source: unknown,
    count: number,
    { uniqueItems }: JsonObject,
    open: readonly unknown[],
    optional = false,
  ) {
    if (count <= 0) return [];
    const item = this.sample(source, open, optional);
    if (item === NOT_FOUND || (item === undefined && optional)) return [];
    if (count === 1) return [orAny(item)];
    if (uniqueItems !== true) return Array.from({ length: count }, () => orAny(item));
    const found = new Map<string, unknown>([[JSON.stringify(orAny(item)), orAny(item)]]);
    const at: unknown = item === undefined ? { type: "integer" } : this.#referred(source);
    for (const candidate of first(count + MOST_TRIES, this.#candidates(at, [...open, at]))) {
      if (found.size === count) break;
      if (isAllowed(this.#document, source, candidate))
        found.set(JSON.stringify(candidate), candidate);
    }
    return [...found.values()];
  }
}

const BY_KEYWORD: readonly (readonly [type: string, keywords: readonly string[]])[] = [
  [
    "object",
    [
      "properties",
      "required",
      "additionalProperties",
      "patternProperties",
      "minProperties",
      "propertyNames",
    ],
  ],
  ["array", ["items", "prefixItems", "minItems", "contains", "uniqueItems"]],
  ["string", ["pattern", "format", "minLength", "maxLength"]],
  ["number", ["minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"]],
];

/** The types in the order in which they are tried, null last; undefined stands for any. */
function typesOf(schema: JsonObject): readonly unknown[] {
  const types = [schema.type ?? []].flat();
  if (types.length > 0) return nullLast(types, (name) => name);
  const implied = BY_KEYWORD.filter(([, keywords]) =>
    keywords.some((key) => schema[key] !== undefined),
  );
  return implied.length > 0 ? implied.map(([type]) => type) : [undefined];
}

function nullLast<T>(list: readonly T[], typeOf: (one: T) => unknown): readonly T[] {
  const isNull = (one: T) => Number(typeOf(one) === "null");
  return list.toSorted((a, b) => isNull(a) - isNull(b));
}

function* first<T>(count: number, values: Iterable<T>): Generator<T> {
  let left = count;
  for (const value of values) {
    if (left <= 0) return;
    left -= 1;
    yield value;
  }
}

function memberOf(schema: JsonObject, name: string): unknown {
  const properties = new Map(Object.entries(Object(schema.properties)));
  if (properties.has(name)) return properties.get(name);
  const matching = Object.entries(Object(schema.patternProperties)).find(([pattern]) =>
    patternOf(pattern)?.test(name),
  );
  return matching === undefined ? (schema.additionalProperties ?? true) : matching[1];
}
