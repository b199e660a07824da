/**
 * The keywords that apply several schemas to one value, and what is wrong with a value that no
 * branch of a union allows.
 */
import { entriesOf, isObject, type JsonObject, listOf } from "./json.js";
import { isOfType, typeName } from "./keywords.js";
import {
  accept,
  type Check,
  type Compiler,
  every,
  fail,
  isAllowed,
  type Maker,
  or,
  type Run,
  reword,
  within,
} from "./run.js";

export const unionOf =
  (keyword: "anyOf" | "oneOf"): Maker =>
  (schema, compiler) => {
    const list = listOf(schema[keyword]);
    const branches = list.map((one) => compiler.compile(one));
    return (value, run, seen) => {
      const matched: number[] = [];
      for (const [index, branch] of branches.entries()) {
        if (isAllowed(branch, value, run, seen)) matched.push(index);
        if (keyword === "anyOf" ? matched.length > 0 && seen === undefined : matched.length > 1)
          break;
      }
      if (keyword === "anyOf" ? matched.length > 0 : matched.length === 1) return true;
      if (run.issues === undefined) return false;
      if (matched.length > 1) {
        const names = matched.map((index) => nameOf(list, index)).join(", ");
        return fail(run, `only one of the documented shapes, but it has several: ${names}`);
      }
      return explain({ list, branches, discriminator: schema.discriminator }, value, run, compiler);
    };
  };

export const conditionOf: Maker = (schema, compiler) => {
  const condition = compiler.compile(schema.if);
  const then = compiler.compile(schema.then);
  const otherwise = compiler.compile(schema.else);
  return (value, run, seen) =>
    (isAllowed(condition, value, run, seen) ? then : otherwise)(value, run, seen);
};

export const notOf: Maker = ({ not }, compiler) => {
  const check = compiler.compile(not);
  return (value, run) =>
    !check(value, run.quiet ?? run) || fail(run, "a value that the document does not rule out");
};

export const dependentOf: Maker = ({ dependentSchemas }, compiler) => {
  const checks = entriesOf(dependentSchemas).map(
    ([name, one]) => [name, compiler.compile(one)] as const,
  );
  return (value, run, seen) => {
    if (!isObject(value)) return true;
    const dependent = checks.filter(([name]) => Object.hasOwn(value, name));
    return every(dependent.map(([, check]) => check))(value, run, seen);
  };
};

/** Comes last: it checks what all other keywords have not. */
export function unevaluatedOf(schema: JsonObject, compiler: Compiler, check: Check): Check {
  const [properties, items] = ["unevaluatedProperties", "unevaluatedItems"].map((key) =>
    schema[key] === undefined ? undefined : compiler.compile(schema[key]),
  );
  if (properties === undefined && items === undefined) return check;
  return (value, run, seen) => {
    const own = new Set<string | number>();
    if (!check(value, run, own)) return false;
    const rest = Array.isArray(value) ? items : isObject(value) ? properties : undefined;
    const all = rest && (Array.isArray(value) ? [...value.keys()] : Object.keys(Object(value)));
    let isValid = true;
    for (const key of all ?? []) {
      if (own.has(key)) continue;
      own.add(key);
      isValid =
        within(run, key, typeof key === "number", rest ?? accept, Object(value)[key]) && isValid;
    }
    if (seen !== undefined) for (const key of own) seen.add(key);
    return isValid;
  };
}

interface Union {
  readonly list: readonly unknown[];
  readonly branches: readonly Check[];
  readonly discriminator: unknown;
}

/** Reports what is wrong with a value in the branch that is meant, if that is clear. */
function explain(union: Union, value: unknown, run: Run, compiler: Compiler): false {
  const { list, branches, discriminator } = union;
  const facts = list.map((one) => factsOf(one, compiler));
  const ofType = [...list.keys()].filter(
    (index) => facts[index]?.types?.some((type) => isOfType(type, value)) ?? true,
  );
  if (ofType.length === 0)
    return fail(run, or([...new Set(facts.flatMap(({ types = [] }) => types.map(String)))]));
  let left = ofType;
  const { propertyName } = Object(discriminator);
  if (isObject(value) && typeof propertyName === "string") {
    const kinds = kindsOf(union);
    const index = kinds.get(String(value[propertyName]));
    const expected = or([...kinds.keys()].map((kind) => JSON.stringify(kind)));
    if (index === undefined) {
      within(run, propertyName, true, (_, inner) => fail(inner, expected), value);
      return false;
    }
    left = [index];
  } else if (isObject(value)) {
    const keep = (fits: (one: Facts) => boolean) => {
      const some = left.filter((index) => facts[index] !== undefined && fits(facts[index]));
      if (some.length > 0) left = some;
    };
    keep(({ constants }) =>
      constants.every(([name, values]) => values.includes(value[name] ?? values[0])),
    );
    keep(({ required }) => required.every((name) => value[name] !== undefined));
  }
  const [index = 0, ...others] = left;
  const names = left.map((one) => nameOf(list, one)).join(", ");
  if (others.length > 0) return fail(run, `one of the documented shapes: ${names}`);
  return reword(
    run,
    () => branches[index]?.(value, run),
    ofType.length === 1 ? "" : ` (as ${names})`,
  );
}

/** The branch of each value of the discriminator (OpenAPI 3.1.1, Discriminator Object). */
function kindsOf({ list, discriminator }: Union): ReadonlyMap<string, number> {
  const kinds = new Map([...list.keys()].map((index) => [nameOf(list, index), index]));
  for (const [kind, $ref] of entriesOf(Object(discriminator).mapping)) {
    const index = list.findIndex((one) => isObject(one) && one.$ref === $ref);
    if (index === -1) continue;
    kinds.delete(nameOf(list, index));
    kinds.set(kind, index);
  }
  return kinds;
}

function nameOf(list: readonly unknown[], index: number): string {
  const name = /^#\/\$defs\/([^~]+)$/.exec(String(Object(list[index]).$ref))?.[1];
  return name ?? `shape ${index + 1}`;
}

/** What a schema says at first sight. */
interface Facts {
  readonly types: readonly unknown[] | undefined;
  /** The values of properties that tell the branches of a union apart. */
  readonly constants: readonly (readonly [name: string, values: readonly unknown[]])[];
  readonly required: readonly string[];
}

const NOTHING: Facts = { types: undefined, constants: [], required: [] };
const FACTS = new WeakMap<object, Facts>();

function factsOf(schema: unknown, compiler: Compiler): Facts {
  if (!isObject(schema)) return NOTHING;
  const known = FACTS.get(schema);
  if (known !== undefined) return known;
  // A schema may contain itself.
  FACTS.set(schema, NOTHING);
  const { type, $ref, allOf, properties, required } = schema;
  const target = typeof $ref === "string" ? [compiler.definition($ref)] : [];
  const parts = [...target, ...listOf(allOf)].map((one) => factsOf(one, compiler));
  const own = type === undefined ? valuesOf(schema)?.map(typeName) : [type].flat();
  const constants = entriesOf(properties).flatMap(([name, one]) => {
    const values = valuesOf(
      isObject(one) && typeof one.$ref === "string" ? compiler.definition(one.$ref) : one,
    );
    return values === undefined ? [] : [[name, values] as const];
  });
  const facts: Facts = {
    types: own ?? parts.find(({ types }) => types)?.types,
    constants: [...parts.flatMap((part) => part.constants), ...constants],
    required: [...parts.flatMap((part) => part.required), ...listOf(required).map(String)],
  };
  FACTS.set(schema, facts);
  return facts;
}

function valuesOf(schema: unknown): readonly unknown[] | undefined {
  if (!isObject(schema)) return undefined;
  if ("const" in schema) return [schema.const];
  return Array.isArray(schema.enum) ? schema.enum : undefined;
}
