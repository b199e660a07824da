/** Makes checks of schemas: each keyword, or several that belong together, becomes a closure. */
import { isObject, listOf } from "./json.js";
import { arrayOf, numberOf, objectOf, stringOf, typeOf, valuesOf } from "./keywords.js";
import { accept, type Check, type Compiler, every, fail, type Maker } from "./run.js";
import { conditionOf, dependentOf, notOf, unevaluatedOf, unionOf } from "./union.js";

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
  [["allOf"], ({ allOf }, compiler) => every(listOf(allOf).map((one) => compiler.compile(one)))],
  [["anyOf"], unionOf("anyOf")],
  [["oneOf"], unionOf("oneOf")],
  [["not"], notOf],
  [["if"], conditionOf],
  [["dependentSchemas"], dependentOf],
];
const MAKER_OF: ReadonlyMap<string, Maker> = new Map(
  MAKERS.flatMap(([keywords, maker]) => keywords.map((keyword) => [keyword, maker] as const)),
);

export class SchemaCompiler implements Compiler {
  readonly definition: (reference: string) => unknown;
  readonly #references = new Map<string, Check>();

  constructor(definition: (reference: string) => unknown) {
    this.definition = definition;
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
