// Holds values against the schemas of a document, and makes values of texts by the types that a
// schema names.
import { type OutputUnit, validate } from "@cfworker/json-schema";
import { ownMember } from "../http/messages.js";
import type { Finding } from "../rules/checks.js";
import { isQuotable, shownKind } from "../rules/shown.js";

type Schema = boolean | Readonly<Record<string, unknown>>;
type Members = Readonly<Record<string, unknown>>;

/**
 * A text that is not written as documented. The message goes to the customer log, so it quotes
 * nothing.
 */
export class Malformed extends Error {}

/**
 * The checker compares every two items of a list with `uniqueItems`, and its stack holds neither
 * values of any depth nor the findings about values of any size.
 */
const MOST_CHECKED = { members: 1000, depth: 200 };

/** The schemas of one document. */
export class Schemas {
  readonly #byReference: Readonly<Record<string, Schema>>;
  #withoutUnique: Readonly<Record<string, Schema>> | undefined;

  constructor(byReference: Readonly<Record<string, unknown>> = {}) {
    this.#byReference = byReference as Readonly<Record<string, Schema>>;
  }

  /**
   * Returns what is wrong with a value. A schema that is absent or cannot be checked, such as one
   * with an unknown kind of pattern, allows all.
   */
  check(name: string, schema: unknown, value: unknown): Finding | undefined {
    if (schema === undefined) return undefined;
    const isLarge = exceeds(value);
    if (isLarge) this.#withoutUnique ??= withoutUnique(this.#byReference);
    const lookup = (isLarge ? this.#withoutUnique : this.#byReference) ?? {};
    const checked = (isLarge ? withoutUnique(schema) : schema) as Schema;
    try {
      const { valid, errors } = validate(value, checked, "2020-12", lookup, true);
      return valid ? undefined : this.#finding(name, checked, value, errors);
    } catch (error) {
      if (!(error instanceof RangeError && isLarge)) return undefined;
      return { expected: `${name} of a size that can be checked`, actual: "larger or deeper" };
    }
  }

  referred(reference: unknown): Schema | undefined {
    return this.#byReference[String(reference)];
  }

  /** Names the keyword with its documented value, and what stood there, but not the value. */
  #finding(name: string, schema: Schema, value: unknown, errors: readonly OutputUnit[]): Finding {
    const index = errors.findIndex(({ keyword }) => !APPLICATORS.has(keyword));
    // A schema that is false has no keyword of its own.
    const found =
      errors[index]?.keyword === "false" && index > 0 ? errors[index - 1] : errors[index];
    const { keywordLocation = "#", instanceLocation = "#" } = found ?? {};
    const keys = keysOf(keywordLocation);
    const documented = keys.reduce<unknown>((at, key) => {
      return key === "$ref" ? this.referred(memberOf(at, key)) : memberOf(at, key);
    }, schema);
    const rule = JSON.stringify({ [keys.at(-1) ?? "schema"]: documented });
    const place = keysOf(instanceLocation).map((key) => (isQuotable(key) ? key : "…"));
    const there = keysOf(instanceLocation).reduce<unknown>(memberOf, value);
    return {
      expected:
        `${[name, ...place].join("/").slice(0, 200)} with ` +
        `${rule.length > 300 ? `${rule.slice(0, 300)}…` : rule}`,
      actual: shownKind(there),
    };
  }
}

/**
 * What the schemas say that hold for one value: what it is made of, and which value a text stands
 * for.
 */
export class Described {
  readonly #sources: readonly unknown[];
  readonly #schemas: Schemas;
  readonly #parts: readonly Members[];
  /** The types that the schemas name or imply; none if they allow any. */
  readonly types: ReadonlySet<string>;

  constructor(schemas: Schemas, sources: readonly unknown[]) {
    this.#schemas = schemas;
    this.#sources = sources;
    this.#parts = partsOf(schemas, sources);
    this.types = new Set(this.#parts.flatMap(typesOf));
  }

  get items(): Described {
    const items = this.#parts.flatMap(({ items, prefixItems }) =>
      [items ?? [], prefixItems ?? []].flat(),
    );
    return new Described(this.#schemas, items);
  }

  get names(): readonly string[] {
    return this.#parts.flatMap(({ properties }) => Object.keys(properties ?? {}));
  }

  member(name: string): Described {
    const described = this.#parts.flatMap(({ properties }) => memberOf(properties, name) ?? []);
    const others = this.#parts.flatMap(({ additionalProperties }) => additionalProperties ?? []);
    return new Described(this.#schemas, described.length > 0 ? described : others);
  }

  /** Whether objects may have members that the schemas do not name. */
  get isOpen(): boolean {
    return this.#parts.every(({ additionalProperties }) => additionalProperties !== false);
  }

  #allowedBy(source: unknown, value: unknown): boolean {
    return this.#schemas.check("", source, value) === undefined;
  }

  /** The first of the values that every schema allows, else the first. */
  firstAllowed(values: readonly unknown[]): unknown {
    if (values.length === 1) return values[0];
    const isAllowed = (value: unknown) =>
      this.#sources.every((source) => this.#allowedBy(source, value));
    return values[Math.max(values.findIndex(isAllowed), 0)];
  }

  /** A text as a value of a documented type; as it is if it fits none. */
  valueOf(text: string): unknown {
    const { types } = this;
    const isNumber = (types.has("number") || types.has("integer")) && JSON_NUMBER.test(text);
    const values: unknown[] = [
      ...(isNumber ? [Number(text)] : []),
      ...(types.has("boolean") && (text === "true" || text === "false") ? [text === "true"] : []),
      ...(types.has("null") && text === "null" ? [null] : []),
      text,
    ];
    // Of several types the first counts whose other keywords, such as a pattern, hold too.
    const isEither = values.length > 1 && types.has("string");
    const isAllowed = (value: unknown) =>
      this.#sources.some((source) => this.#allowedBy(source, value));
    return values[isEither ? Math.max(values.findIndex(isAllowed), 0) : 0];
  }

  /** A text that holds an object or a list as JSON, and any other as it is. */
  jsonOrValueOf(text: string): unknown {
    if (!this.types.has("object") && !this.types.has("array")) return this.valueOf(text);
    try {
      return parseJsonText(text);
    } catch (error) {
      if (this.types.has("string")) return text;
      throw error;
    }
  }
}

/** The schemas that hold for a value, with those that they refer to and join. */
function partsOf(schemas: Schemas, sources: readonly unknown[]): readonly Members[] {
  const found = new Set<Members>();
  const add = (source: unknown): void => {
    if (typeof source !== "object" || source === null || found.has(source as Members)) return;
    const schema = source as Members;
    found.add(schema);
    const { $ref, allOf, anyOf, oneOf, then, else: otherwise } = schema;
    if (typeof $ref === "string") add(schemas.referred($ref));
    for (const list of [allOf, anyOf, oneOf, [then, otherwise]])
      if (Array.isArray(list)) for (const one of list) add(one);
  };
  for (const source of sources) add(source);
  return [...found];
}

function typesOf(part: Members): string[] {
  if (part.type !== undefined) return [part.type].flat().map(String);
  const values = "const" in part ? [part.const] : Array.isArray(part.enum) ? part.enum : [];
  if (values.length > 0) return values.map(typeName);
  if (part.properties !== undefined || part.additionalProperties !== undefined) return ["object"];
  return part.items !== undefined || part.prefixItems !== undefined ? ["array"] : [];
}

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The findings of these are followed by that of a part. */
const APPLICATORS: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "additionalProperties",
  "items",
  "prefixItems",
  "$ref",
  "allOf",
  "if",
]);

export function parseJsonText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Malformed("text that is not JSON");
  }
}

function memberOf(at: unknown, key: string): unknown {
  return typeof at === "object" && at !== null ? ownMember(at as Members, key) : undefined;
}

function keysOf(location: string): string[] {
  const keys = location.split("/").slice(1);
  return keys.map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function withoutUnique<T>(schema: T): T {
  return JSON.parse(
    JSON.stringify(schema, (key, value) => (key === "uniqueItems" ? undefined : value)),
  );
}

/** Whether a value is too large for the checker as it is. */
function exceeds(value: unknown): boolean {
  let level: unknown[] = [value];
  let members = 0;
  for (let depth = 0; level.length > 0; depth++) {
    members += level.length;
    if (members > MOST_CHECKED.members || depth > MOST_CHECKED.depth) return true;
    level = level.flatMap((one) =>
      typeof one === "object" && one !== null ? Object.values(one) : [],
    );
  }
  return false;
}
