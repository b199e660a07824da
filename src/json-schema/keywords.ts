/** The keywords that check a value and its members, each made into a check of its own. */
import { FORMATS, patternOf } from "./formats.js";
import { entriesOf, isObject, listOf } from "./json.js";
import { accept, type Check, every, fail, type Maker, or, reword, within } from "./run.js";

export function typeName(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

export function isOfType(type: unknown, value: unknown): boolean {
  if (type === "integer") return Number.isInteger(value);
  return type === "number" ? Number.isFinite(value) : typeName(value) === type;
}

/** The same text for equal values, so that equal values are found in linear time. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? "";
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join()}}`;
}

/** In characters, as JSON Schema counts; a JavaScript string counts some of them as two. */
function isLengthWithin(text: string, least: number, most: number): boolean {
  if (text.length < least || text.length > 2 * most) return false;
  if (text.length >= 2 * least && text.length <= most) return true;
  let count = 0;
  for (const _ of text) count += 1;
  return count >= least && count <= most;
}

/** Whether a quotient is whole, save for what rounding adds: 19.99 is a multiple of 0.01. */
function isMultiple(value: number, divisor: number): boolean {
  const quotient = value / divisor;
  return Math.abs(quotient - Math.round(quotient)) <= 2 * Number.EPSILON * Math.abs(quotient);
}

export const typeOf: Maker = ({ type }) => {
  const types = [type].flat();
  const expected = or(types.map(String));
  return (value, run) => types.some((one) => isOfType(one, value)) || fail(run, expected);
};

export const valuesOf: Maker = (schema) => {
  const lists = [schema.enum, "const" in schema ? [schema.const] : undefined];
  return every(
    lists.filter(Array.isArray).map((list: readonly unknown[]): Check => {
      const isComplex = (value: unknown) => typeof value === "object" && value !== null;
      const scalars = new Set(list.filter((one) => !isComplex(one)));
      const texts = new Set(list.filter(isComplex).map(canonical));
      const expected = or(list.map((one) => JSON.stringify(one)));
      const isAllowed = (value: unknown) =>
        isComplex(value) ? texts.size > 0 && texts.has(canonical(value)) : scalars.has(value);
      return (value, run) => isAllowed(value) || fail(run, expected);
    }),
  );
};

type Limit = readonly [words: string, holds: (value: number, limit: number) => boolean];
const LIMITS: Readonly<Record<string, Limit>> = {
  minimum: ["at least", (value, limit) => value >= limit],
  maximum: ["at most", (value, limit) => value <= limit],
  exclusiveMinimum: ["more than", (value, limit) => value > limit],
  exclusiveMaximum: ["less than", (value, limit) => value < limit],
  multipleOf: ["a multiple of", isMultiple],
};

export const numberOf: Maker = (schema) =>
  every(
    Object.entries(LIMITS).map(([keyword, [words, holds]]): Check | undefined => {
      const limit = schema[keyword];
      if (typeof limit !== "number") return undefined;
      return (value, run) =>
        typeof value !== "number" || holds(value, limit) || fail(run, `${words} ${limit}`);
    }),
  );

export const stringOf: Maker = ({ minLength, maxLength, pattern, format }) => {
  const least = typeof minLength === "number" ? minLength : 0;
  const most = typeof maxLength === "number" ? maxLength : Infinity;
  const expression = typeof pattern === "string" ? patternOf(pattern) : undefined;
  const isFormat = FORMATS.get(format);
  return (value, run) => {
    if (typeof value !== "string") return true;
    if (!isLengthWithin(value, least, Infinity)) return fail(run, `at least ${least} characters`);
    if (!isLengthWithin(value, 0, most)) return fail(run, `at most ${most} characters`);
    if (expression?.test(value) === false) return fail(run, `the format ${pattern}`);
    return isFormat?.(value) === false ? fail(run, `the format ${format}`) : true;
  };
};

export const arrayOf: Maker = (schema, compiler) => {
  const { minItems = 0, maxItems = Infinity, uniqueItems, items, prefixItems } = schema;
  const { contains, minContains = 1, maxContains = Infinity } = schema;
  const first = listOf(prefixItems).map((one) => compiler.compile(one));
  const rest = items === undefined ? undefined : compiler.compile(items);
  const wanted = contains === undefined ? undefined : compiler.compile(contains);
  return (value, run, seen) => {
    if (!Array.isArray(value)) return true;
    if (value.length < Number(minItems)) return fail(run, `at least ${minItems} entries`);
    if (value.length > Number(maxItems)) return fail(run, `at most ${maxItems} entries`);
    let isValid = true;
    let found = 0;
    for (const [index, item] of value.entries()) {
      const check = first[index] ?? rest;
      if (check !== undefined) {
        isValid = within(run, index, true, check, item) && isValid;
        seen?.add(index);
      }
      if (wanted?.(item, run.quiet ?? run)) {
        found += 1;
        seen?.add(index);
      }
      if (!isValid && run.issues === undefined) return false;
    }
    if (uniqueItems === true && new Set(value.map(canonical)).size < value.length)
      isValid = fail(run, "entries that all differ");
    if (wanted === undefined) return isValid;
    if (found < Number(minContains))
      return fail(run, `at least ${minContains} entries of a documented shape`);
    if (found > Number(maxContains))
      return fail(run, `at most ${maxContains} entries of a documented shape`);
    return isValid;
  };
};

export const objectOf: Maker = (schema, compiler) => {
  const { additionalProperties: more, propertyNames } = schema;
  const { minProperties = 0, maxProperties = Infinity } = schema;
  const compiled = ([name, one]: [string, unknown]) => [name, compiler.compile(one)] as const;
  const properties = new Map(entriesOf(schema.properties).map(compiled));
  const patterns = entriesOf(schema.patternProperties).map(
    ([pattern, one]) => [patternOf(pattern), compiler.compile(one)] as const,
  );
  const rest = more === undefined ? undefined : compiler.compile(more);
  const names = propertyNames === undefined ? undefined : compiler.compile(propertyNames);
  const required = listOf(schema.required).map(String);
  const dependent = entriesOf(schema.dependentRequired);
  return (value, run, seen) => {
    if (!isObject(value)) return true;
    const has = (name: string) => Object.hasOwn(value, name) && value[name] !== undefined;
    const triggered = dependent.flatMap(([name, list]) =>
      has(name) ? listOf(list).map(String) : [],
    );
    let isValid = true;
    for (const name of triggered.length > 0 ? new Set([...required, ...triggered]) : required) {
      if (has(name)) continue;
      if (run.issues === undefined) return false;
      isValid = within(run, name, true, missing(properties.get(name)), undefined);
    }
    let count = 0;
    let isClosed = false;
    for (const name of Object.keys(value)) {
      const member = value[name];
      if (member === undefined) continue;
      count += 1;
      const check = properties.get(name);
      let isKnown = check !== undefined;
      if (check !== undefined) isValid = within(run, name, true, check, member) && isValid;
      for (const [pattern, byPattern] of patterns) {
        if (pattern?.test(name) === false) continue;
        // A name may match a pattern that cannot be used, so nothing is known of it.
        if (pattern !== undefined)
          isValid = within(run, name, isKnown, byPattern, member) && isValid;
        isKnown = true;
      }
      if (!isKnown && more === false) isClosed = true;
      else if (!isKnown && rest !== undefined)
        isValid = within(run, name, false, rest, member) && isValid;
      if (isKnown || rest !== undefined) seen?.add(name);
      if (names?.(name, run.quiet ?? run) === false) isValid = fail(run, "other property names");
      if (!isValid && run.issues === undefined) return false;
    }
    if (isClosed) isValid = fail(run, "no other properties");
    if (count < Number(minProperties)) return fail(run, `at least ${minProperties} properties`);
    return count <= Number(maxProperties)
      ? isValid
      : fail(run, `at most ${maxProperties} properties`);
  };
};

/** What a required property must be that is not there. */
function missing(check: Check = accept): Check {
  return (_, run) => reword(run, () => check(undefined, run) && fail(run, "a value"), " (missing)");
}
