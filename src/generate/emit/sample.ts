/** Makes an example value from a JSON Schema (2020-12): always the same one, and of bounded size. */
import { atPointer, type Document, referenceTarget } from "../document.js";
import { isObject, type JsonObject } from "../source-file.js";

const MOST_VALUES = 1000;
const MOST_ITEMS = 20;
const MOST_PADDING = 1000;

const BY_FORMAT: Readonly<Record<string, string>> = {
  "date-time": "2026-01-01T12:00:00Z",
  date: "2026-01-01",
  uuid: "7f6f2a1e-6c0f-4f2b-9d0b-0e3c4d1a2b3c",
  email: "ada@service.example",
  uri: "https://service.example/",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
};

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const isNotNull = (schema: unknown) => !isObject(schema) || schema.type !== "null";

/** Merges the reference, the `allOf` and the first alternative of `oneOf` and `anyOf` into a schema. */
export function mergedSchema(document: Document, source: unknown): JsonObject {
  if (!isObject(source)) return {};
  const known = document.mergedSchemas.get(source);
  if (known !== undefined) return known;
  const { $ref, allOf, oneOf, anyOf, ...own } = source;
  const target = typeof $ref === "string" && atPointer(document.root, referenceTarget(document, $ref, ""));
  const choices = [oneOf, anyOf].map((list) => listOf(list).find(isNotNull));
  const parts = [target, ...listOf(allOf), ...choices].filter(isObject);
  // The example of one of several parts is not an example of the whole.
  const isPart = parts.length > 1 || own.properties !== undefined;
  const merged = parts.map((part) => {
    const { example, examples, default: preset, ...rest } = mergedSchema(document, part);
    return isPart ? rest : { example, examples, default: preset, ...rest };
  });
  const properties: Record<string, unknown> = {};
  const required = new Set<unknown>();
  const whole: Record<string, unknown> = {};
  // One by one: as arguments of one call, the parts of a long `allOf` would overflow the stack.
  for (const part of [...merged, own]) {
    Object.assign(properties, part.properties);
    for (const name of listOf(part.required)) required.add(name);
    Object.assign(whole, part);
  }
  Object.assign(whole, { properties, required: [...required] });
  document.mergedSchemas.set(source, whole);
  return whole;
}

/** Returns undefined if the schema allows anything, or if no bounded value is found. Ignores patterns and tuples. */
export function sampleOf(document: Document, whole: unknown): unknown {
  let left = MOST_VALUES;
  const sample = (source: unknown, references: readonly unknown[]): unknown => {
    const { $ref } = isObject(source) ? source : {};
    if (references.includes($ref) || left-- <= 0) return undefined;
    const below = (part: unknown) => sample(part, $ref === undefined ? references : [...references, $ref]);
    const schema = mergedSchema(document, source);
    const { example, examples, const: only, default: preset, enum: values } = schema;
    const given = [example, listOf(examples)[0], only, preset, listOf(values)[0]];
    const first = given.find((value) => value !== undefined);
    if (first !== undefined) return first;
    const limits = schema as Partial<Record<string, number>>;
    switch (typeOf(schema)) {
      case "object": {
        const members = new Map(Object.entries(schema.properties ?? {}));
        const required = new Set(listOf(schema.required).map(String));
        const names = [...new Set([...members.keys(), ...required])];
        const entries = names.map((name) => {
          const member = members.get(name) ?? schema.additionalProperties;
          if (required.has(name)) return [name, below(member) ?? {}] as const;
          return [name, member?.writeOnly === true ? undefined : below(member)] as const;
        });
        return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
      }
      case "array": {
        const { minItems = 0, maxItems = MOST_ITEMS } = limits;
        const item = below(schema.items);
        const length = Math.min(Math.max(minItems, item === undefined ? 0 : 1), maxItems, MOST_ITEMS);
        return Array.from({ length }, () => item ?? {});
      }
      case "string": {
        const { minLength = 0, maxLength } = limits;
        const text = BY_FORMAT[String(schema.format)] ?? "text";
        return text.padEnd(Math.min(minLength, MOST_PADDING), "x").slice(0, maxLength);
      }
      case "integer":
      case "number": {
        const { multipleOf, minimum, exclusiveMinimum, maximum, exclusiveMaximum } = limits;
        const step = multipleOf ?? 1;
        const least = minimum ?? (exclusiveMinimum ?? -step) + step;
        const value = Math.min(least, maximum ?? (exclusiveMaximum ?? Number.POSITIVE_INFINITY) - step);
        const isWhole = multipleOf !== undefined || schema.type === "integer";
        return isWhole ? Math.ceil(value / step) * step : value;
      }
      case "boolean":
        return true;
      case "null":
        return null;
      default:
        return undefined;
    }
  };
  return sample(whole, []);
}

function typeOf({ type, properties, required, items }: JsonObject): unknown {
  const types = [type ?? []].flat();
  if (types.length > 0) return types.find((name) => name !== "null") ?? "null";
  if (Object.keys(properties ?? {}).length > 0 || listOf(required).length > 0) return "object";
  return items === undefined ? undefined : "array";
}
