/** One check of one value: where it is, what it has found, and how a check reports. */
import type { JsonObject } from "./json.js";

/** What is wrong with a value, and where in it. */
export interface JsonIssue {
  /** As in zod: property names and indexes. */
  readonly path: readonly (string | number)[];
  /**
   * JSONPath (RFC 9535). A name that the schema does not declare, such as a key of a map, is data,
   * so it is a star.
   */
  readonly place: string;
  /** What the schema expects there. It never holds a value of the data. */
  readonly message: string;
}

/** The names and indexes that were checked, for `unevaluatedProperties` and `unevaluatedItems`. */
export type Seen = Set<string | number> | undefined;
export type Check = (value: unknown, run: Run, seen?: Seen) => boolean;

/** One check of one value. */
export interface Run {
  /** Undefined while only the verdict counts, as for the branches of a union. */
  readonly issues: JsonIssue[] | undefined;
  readonly known?: Set<string>;
  /** The same without issues; undefined if this one has none. */
  readonly quiet?: Run;
  readonly path: (string | number)[];
  readonly shown: string[];
  /** What a definition says of an object; "reported" if its issues are among `issues` already. */
  readonly verdicts: Map<Check, Map<object, boolean | "reported">>;
}

/** Further issues are not looked for, because every row of a long list may be wrong. */
export const MOST_ISSUES = 1000;

export const or = (words: readonly string[]): string =>
  [words.slice(0, -1).join(", "), ...words.slice(-1)].filter((word) => word !== "").join(" or ");

export function fail({ issues, known, path, shown }: Run, expected: string): false {
  if (issues === undefined || issues.length >= MOST_ISSUES) return false;
  // Several members of an `allOf` may find the same.
  const key = JSON.stringify([path, expected]);
  if (known?.has(key)) return false;
  known?.add(key);
  issues.push({ path: [...path], place: `$${shown.join("")}`, message: `expected ${expected}` });
  return false;
}

/** Checks a member of an object or a list. */
export function within(
  run: Run,
  key: string | number,
  isDocumented: boolean,
  check: Check,
  value: unknown,
): boolean {
  if (run.issues === undefined) return check(value, run);
  if (run.issues.length >= MOST_ISSUES) return false;
  const name = /^[A-Za-z_]\w*$/.test(String(key)) ? `.${key}` : `[${JSON.stringify(key)}]`;
  run.path.push(key);
  run.shown.push(isDocumented ? name : "[*]");
  const isValid = check(value, run);
  run.path.pop();
  run.shown.pop();
  return isValid;
}

export const accept: Check = () => true;

export function every(list: readonly (Check | undefined)[]): Check {
  const checks = list.filter((check) => check !== undefined);
  if (checks.length < 2) return checks[0] ?? accept;
  return (value, run, seen) => {
    let isValid = true;
    for (const check of checks) {
      if (check(value, run, seen)) continue;
      if (run.issues === undefined) return false;
      isValid = false;
    }
    return isValid;
  };
}

/** Adds to what a check reports. */
export function reword(run: Run, check: () => unknown, addition: string): false {
  const before = run.issues?.length ?? 0;
  check();
  const added = run.issues?.splice(before) ?? [];
  run.issues?.push(...added.map((one) => ({ ...one, message: one.message + addition })));
  return false;
}

/** Tries a branch, whose annotations count only if it allows the value. */
export function isAllowed(check: Check, value: unknown, run: Run, seen: Seen): boolean {
  const own: Seen = seen && new Set();
  if (!check(value, run.quiet ?? run, own)) return false;
  for (const one of own ?? []) seen?.add(one);
  return true;
}

/** What makes the checks of schemas, each once: compiler.ts. */
export interface Compiler {
  compile(schema: unknown): Check;
  /** The check of a definition, which is compiled when it is first used. */
  reference(reference: string): Check;
  definition(reference: string): unknown;
}

/** Makes the check of one keyword, or of several that belong together. */
export type Maker = (schema: JsonObject, compiler: Compiler) => Check | undefined;
