/** `bivariant/validate`: checks the data of calls against the schemas of the documents. The only client module with zod. */
import { z } from "zod";
import { schemas as ownSchemas } from "../generated/schemas.js";
import type { Validate, ValidatedAnswer } from "./client/caller.js";
import { UnexpectedResponseError, type Variant } from "./errors.js";
import { invalidOption } from "./options.js";

export type { Validate, ValidatedAnswer } from "./client/caller.js";

/** `report` emits the event `response_invalid`; `strict` throws. */
export type ValidationMode = "report" | "strict";

/** The part of a generated schemas.ts that is used here. */
export type ValidationSchemas = Readonly<Record<Variant, SchemasOfVariant>>;

interface SchemasOfVariant {
  readonly operations: {
    readonly [operationId: string]: { readonly responses: Readonly<Record<string, () => ResponseSchema>> };
  };
}

/** The part of a zod schema that is used here. The schema may come from another copy of zod. */
export interface ResponseSchema {
  safeParse(data: unknown): { readonly error?: { readonly issues: readonly ResponseIssue[] } | undefined };
}

export interface ResponseIssue {
  readonly code?: string | undefined;
  readonly path: readonly PropertyKey[];
}

/** Further issues are only counted, because every row of a long list may be wrong. */
const mostIssues = 20;

/**
 * Makes the `validate` of `connect`. It checks the data of a success and changes nothing: unknown keys survive.
 * Operations and statuses without a schema pass. An issue names a path and the expected shape, never a value.
 *
 * @param schemas the schemas.ts generated from documents of your own. Pass it whenever you pass `connect({ api })` the
 *   operations.ts next to it; otherwise `connect` refuses the `validate`. Default: the shipped one.
 * @throws ConfigurationError `option_invalid`
 * @example
 * const service = await connect({ baseUrl, tenantId, credentials, validate: validator("strict") });
 */
export function validator(
  mode: ValidationMode,
  schemas: ValidationSchemas | { readonly schemas: ValidationSchemas } = ownSchemas,
): Validate {
  if (mode !== "report" && mode !== "strict") throw invalidOption("mode", 'must be "report" or "strict"');
  const table = "schemas" in Object(schemas) ? (schemas as { schemas: unknown }).schemas : schemas;
  const { A, B } = (table ?? {}) as ValidationSchemas;
  if (typeof A?.operations !== "object" || typeof B?.operations !== "object")
    throw invalidOption("schemas", "must be the schemas.ts module written by `bivariant generate`");
  const validate: Validate = (answer, emit) => {
    const { variant, operationId, status } = answer;
    const issues = issuesOf(answer, variant === "A" ? A : B);
    if (issues.length === 0) return;
    if (mode === "report") return emit({ type: "response_invalid", operationId, status, issues });
    throw new UnexpectedResponseError(
      "response_shape",
      `${operationId} was answered ${status}, but the data does not match the document: ${issues.join("; ")}`,
      { status, variant, issues },
    );
  };
  return Object.assign(validate, { schemas: { A, B } });
}

function issuesOf(
  { operationId, status, data }: ValidatedAnswer,
  { operations }: SchemasOfVariant,
): string[] {
  try {
    // `default` describes refusals, which are not checked.
    const schema = operations[operationId]?.responses?.[status]?.();
    const issues = schema?.safeParse(data).error?.issues;
    if (schema === undefined || issues === undefined) return [];
    const documented = propertyNames(schema);
    const shown = issues.slice(0, mostIssues).map((one) => `${pathOf(one, documented)}: ${expectation(one)}`);
    const rest = issues.length - shown.length;
    return rest > 0 ? [...shown, `and ${rest} more`] : shown;
  } catch (fault) {
    // zod's messages may quote the data, so only the kind of the error is shown.
    const isTooLarge = fault instanceof RangeError;
    return [
      `$: cannot be checked, because ${isTooLarge ? "it is nested too deeply or too long" : "its schema fails"}`,
    ];
  }
}

/** JSONPath (RFC 9535). A name that no schema declares, such as a key of a map, is data, so it becomes a star. */
function pathOf({ path }: ResponseIssue, documented: ReadonlySet<string>): string {
  const segments = path.map((segment) => {
    if (typeof segment === "number") return `[${segment}]`;
    const name = String(segment);
    if (!documented.has(name)) return "[*]";
    return /^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
  });
  return `$${segments.join("")}`;
}

/** Every property name that a schema declares at any depth. */
function propertyNames(schema: ResponseSchema): ReadonlySet<string> {
  const names = new Set<string>();
  const collect = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    for (const [key, value] of Object.entries(node)) {
      if (key === "properties") for (const name of Object.keys(value as object)) names.add(name);
      collect(value);
    }
  };
  try {
    collect(z.toJSONSchema(schema as unknown as z.ZodType, { unrepresentable: "any" }));
  } catch {
    // Without the schemas' names every name becomes a star.
  }
  return names;
}

/** These replace zod's messages, which an application may configure so that they quote the data. */
const expectations: Readonly<Record<string, (issue: Readonly<Record<string, unknown>>) => string>> = {
  invalid_type: ({ expected }) => `${expected === "int" ? "integer" : expected}`,
  invalid_value: ({ values }) =>
    (values as readonly unknown[]).map((one) => JSON.stringify(one)).join(" or "),
  invalid_format: ({ pattern, format }) => `the format ${pattern ?? format}`,
  too_small: ({ inclusive, minimum, origin }) =>
    `${inclusive === false ? "more than" : "at least"} ${minimum}${unitOf(origin)}`,
  too_big: ({ inclusive, maximum, origin }) =>
    `${inclusive === false ? "less than" : "at most"} ${maximum}${unitOf(origin)}`,
  not_multiple_of: ({ divisor }) => `a multiple of ${divisor}`,
  unrecognized_keys: () => "no other properties",
  invalid_union: () => "one of the documented shapes",
};

function expectation(issue: ResponseIssue): string {
  const known = expectations[issue.code ?? ""];
  return `expected ${known?.({ ...issue }) ?? "the documented shape"}`;
}

function unitOf(origin: unknown): string {
  if (origin === "string") return " characters";
  return origin === "array" || origin === "set" ? " entries" : "";
}
