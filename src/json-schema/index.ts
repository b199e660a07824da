/**
 * `bivariant/json-schema`: checks values against JSON Schema 2020-12, for the schemas.ts files that
 * `generate` writes.
 *
 * It is a checker of our own because no other one fits: zod reads JSON Schema with another meaning,
 * Ajv needs `eval`, which edge runtimes forbid, and @cfworker/json-schema compares unique items in
 * pairs, builds a RegExp for each check and quotes the data in its errors. A schema becomes a
 * closure when it is first used. The cost is linear in the value: what one definition says of one
 * object is decided once, however many branches of unions ask.
 *
 * @packageDocumentation
 */
import { z } from "zod";
import { arrayOf, numberOf, objectOf, stringOf, typeOf, valuesOf } from "./keywords.js";
import {
  accept,
  type Check,
  type Compiler,
  every,
  fail,
  isObject,
  type JsonIssue,
  type Maker,
  type Run,
  schemaList,
} from "./run.js";
import { conditionOf, dependentOf, notOf, unevaluatedOf, unionOf } from "./union.js";

export { type JsonIssue, MOST_ISSUES } from "./run.js";

/** By name; each may refer to others as `#/$defs/name`. */
export type Definitions = Readonly<Record<string, unknown>>;

/**
 * Builds the schema at the first call and returns the same one afterwards. Unknown keys survive
 * parsing.
 */
export type LazySchema = () => z.ZodType;

/**
 * Makes the zod schemas of definitions, by name. They change nothing of a value: no default is
 * filled in.
 *
 * @see JSON Schema 2020-12, Core and Validation
 * @example const schema = jsonSchemas({ Device: { type: "object", required: ["id"], properties: {
 * id: { type: "string" } } } }); schema("Device")().safeParse({ id: "pump" }).success; // true
 */
export function jsonSchemas(definitions: Definitions): (name: string) => LazySchema {
  const checker = jsonChecker(definitions);
  const schemas = new Map<string, z.ZodType>();
  const build = (name: string): z.ZodType => {
    const check = checker(name);
    const schema = z.unknown().check(({ value, issues }) => {
      for (const { path, message, place } of check(value))
        issues.push({ code: "custom", input: value, path: [...path], message, params: { place } });
    });
    schemas.set(name, schema);
    return schema;
  };
  return (name) => () => schemas.get(name) ?? build(name);
}

/**
 * Makes checks of definitions, by name, without zod: each returns what is wrong with a value, at
 * most {@link MOST_ISSUES}.
 *
 * @see JSON Schema 2020-12, Core and Validation
 * @example
 * const check = jsonChecker({ Device: { type: "object", required: ["id"] } });
 * check("Device")({}); // one issue, whose message says that the member "id" is missing
 */
export function jsonChecker(
  definitions: Definitions,
): (name: string) => (value: unknown) => JsonIssue[] {
  const compiler = new DefinitionCompiler(definitions);
  return (name) => {
    const check = compiler.reference(`#/$defs/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
    return (value) => {
      const shared = { path: [], shown: [], verdicts: new Map() };
      const quiet: Run = { ...shared, issues: undefined };
      const issues: JsonIssue[] = [];
      try {
        if (check(value, quiet)) return [];
        const run: Run = { ...shared, issues, known: new Set(), quiet };
        check(value, run);
        if (issues.length === 0) fail(run, "the documented shape");
        return issues;
      } catch (fault) {
        if (!(fault instanceof RangeError)) throw fault;
        // The stack overflowed.
        const message = "cannot be checked, because it is nested too deeply or too long";
        return [{ path: [], place: "$", message }];
      }
    };
  };
}

const MAKERS: readonly (readonly [keywords: readonly string[], maker: Maker])[] = [
  [["enum", "const"], valuesOf],
  [["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"], numberOf],
  [["minLength", "maxLength", "pattern", "format"], stringOf],
  [["minItems", "maxItems", "uniqueItems", "items", "prefixItems", "contains"], arrayOf],
  [
    [
      ...["properties", "patternProperties", "additionalProperties", "propertyNames", "required"],
      ...["minProperties", "maxProperties", "dependentRequired"],
    ],
    objectOf,
  ],
  [["$ref"], ({ $ref }, compiler) => compiler.reference(String($ref))],
  [
    ["allOf"],
    ({ allOf }, compiler) => every(schemaList(allOf).map((one) => compiler.compile(one))),
  ],
  [["anyOf"], unionOf("anyOf")],
  [["oneOf"], unionOf("oneOf")],
  [["not"], notOf],
  [["if"], conditionOf],
  [["dependentSchemas"], dependentOf],
];
const MAKER_OF: ReadonlyMap<string, Maker> = new Map(
  MAKERS.flatMap(([keywords, maker]) => keywords.map((keyword) => [keyword, maker] as const)),
);

class DefinitionCompiler implements Compiler {
  readonly #definitions: Definitions;
  readonly #references = new Map<string, Check>();

  constructor(definitions: Definitions) {
    this.#definitions = definitions;
  }

  compile(schema: unknown): Check {
    if (schema === false) return (_, run) => fail(run, "no value");
    if (!isObject(schema)) return accept;
    const makers = new Set(Object.keys(schema).map((keyword) => MAKER_OF.get(keyword)));
    const others = every([...makers].map((maker) => maker?.(schema, this)));
    const whole = unevaluatedOf(schema, this, others);
    const typed = schema.type === undefined ? undefined : typeOf(schema, this);
    if (typed === undefined) return whole;
    // A value of another type has nothing else to be told.
    return whole === accept
      ? typed
      : (value, run, seen) => typed(value, run) && whole(value, run, seen);
  }

  definition(reference: string): unknown {
    const name = reference.slice("#/$defs/".length).replaceAll("~1", "/").replaceAll("~0", "~");
    return Object.hasOwn(this.#definitions, name) ? this.#definitions[name] : true;
  }

  reference(reference: string): Check {
    const known = this.#references.get(reference);
    if (known !== undefined) return known;
    let compiled: Check | undefined;
    const check: Check = (value, run, seen) => {
      compiled ??= this.compile(this.definition(reference));
      if (typeof value !== "object" || value === null || seen !== undefined)
        return compiled(value, run, seen);
      const verdicts = run.verdicts.get(check) ?? new Map<object, boolean | "reported">();
      run.verdicts.set(check, verdicts);
      const verdict = verdicts.get(value);
      if (verdict === true) return true;
      if (verdict !== undefined && (run.issues === undefined || verdict === "reported"))
        return false;
      const isValid = compiled(value, run);
      verdicts.set(value, isValid || (run.issues !== undefined && "reported"));
      return isValid;
    };
    this.#references.set(reference, check);
    return check;
  }
}
