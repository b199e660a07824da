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
import { SchemaCompiler } from "./compiler.js";
import { pointerTo } from "./json.js";
import { fail, type JsonIssue, type Run } from "./run.js";

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
 * @example
 * const schema = jsonSchemas({
 *   Device: { type: "object", required: ["id"], properties: { id: { type: "string" } } },
 * });
 * schema("Device")().safeParse({ id: "pump" }).success; // true
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
  const compiler = new SchemaCompiler((reference) => {
    const name = reference.slice("#/$defs/".length).replaceAll("~1", "/").replaceAll("~0", "~");
    return Object.hasOwn(definitions, name) ? definitions[name] : true;
  });
  return (name) => {
    const check = compiler.reference(pointerTo("#/$defs", name));
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
