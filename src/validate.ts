/** `bivariant/validate`: holds the data of calls against the documents' schemas. Brings zod along. */
import { z } from "zod";
import { schemas as ownSchemas } from "../generated/schemas.js";
import type { Validate, ValidatedAnswer } from "./client/validate.js";
import { ConfigurationError, UnexpectedResponseError } from "./errors.js";

export type { Validate, ValidatedAnswer } from "./client/validate.js";

/** `report` tells an event `response_invalid`; `strict` throws. */
export type ValidationMode = "report" | "strict";

/** What `bivariant generate` writes to schemas.ts, as far as it is needed here. */
export interface ValidationSchemas {
  readonly A: SchemasOfVariant;
  readonly B: SchemasOfVariant;
}

export interface SchemasOfVariant {
  readonly operations: {
    readonly [operationId: string]: {
      readonly responses: { readonly [status: string]: () => ResponseSchema };
    };
  };
}

/** The part of a zod schema that is used: it may come from another copy of zod. */
export interface ResponseSchema {
  safeParse(data: unknown): {
    readonly success: boolean;
    readonly error?: { readonly issues: readonly ResponseIssue[] } | undefined;
  };
}

export interface ResponseIssue {
  readonly code?: string | undefined;
  readonly path: readonly PropertyKey[];
}

/** Issues beyond these are only counted: a list of ten thousand rows may be wrong in every one. */
const mostIssues = 20;

/**
 * Makes the `validate` of `connect`. It looks at the data of a success and hands it out untouched: unknown keys
 * survive. Operations and statuses that the documents give no schema pass. Issues name paths and what was expected
 * there, never a value.
 *
 * @param schemas the schemas.ts generated from documents of your own. Give it whenever you give `connect({ api })` the
 *   operations.ts beside it: without it your operations are not looked at. Default: ours.
 * @throws ConfigurationError `option_invalid`
 * @example
 * const service = await connect({ baseUrl, tenantId, credentials, validate: validator("strict") });
 */
export function validator(
  mode: ValidationMode,
  schemas: ValidationSchemas | { readonly schemas: ValidationSchemas } = ownSchemas,
): Validate {
  const held =
    "schemas" in (schemas ?? {})
      ? (schemas as { schemas: ValidationSchemas }).schemas
      : (schemas as ValidationSchemas);
  if (mode !== "report" && mode !== "strict")
    throw new ConfigurationError(
      "option_invalid",
      'The mode of validation is neither "report" nor "strict".',
      {
        option: "mode",
      },
    );
  if (typeof held?.A?.operations !== "object" || typeof held.B?.operations !== "object")
    throw new ConfigurationError("option_invalid", "schemas is no schemas.ts that bivariant/generate made.", {
      option: "schemas",
    });
  return (answer, tell) => {
    const issues = issuesOf(answer, held);
    if (issues.length === 0) return;
    const { variant, operationId, status } = answer;
    if (mode === "report") return tell({ type: "response_invalid", operationId, status, issues });
    throw new UnexpectedResponseError(
      "response_shape",
      `${operationId} was answered ${status}, but not in the shape that the document says: ${issues.join("; ")}`,
      { status, variant, issues },
    );
  };
}

function issuesOf(
  { variant, operationId, status, data }: ValidatedAnswer,
  schemas: ValidationSchemas,
): string[] {
  // Own keys only: an operation may be called "constructor". `default` is for refusals, which do not come here.
  const { operations } = schemas[variant];
  const responses = Object.hasOwn(operations, operationId) ? operations[operationId]?.responses : undefined;
  const lazySchema = responses?.[status];
  if (lazySchema === undefined) return [];
  const schema = lazySchema();
  const { error } = schema.safeParse(data);
  if (error === undefined) return [];
  const documented = namesIn(schema);
  const told = error.issues
    .slice(0, mostIssues)
    .map((issue) => `${pathOf(issue, documented)}: ${expectation(issue)}`);
  const rest = error.issues.length - told.length;
  return rest > 0 ? [...told, `and ${rest} more`] : told;
}

/** JSONPath (RFC 9535). A name that no schema declares is the server's data, a key of a map say: shown as a star. */
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
function namesIn(schema: ResponseSchema): ReadonlySet<string> {
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
    // Without them every name is shown as a star.
  }
  return names;
}

/** Words of our own: zod's messages may be configured by the application, and then may quote the input. */
function expectation(issue: ResponseIssue): string {
  const told = issue as unknown as Readonly<Record<string, unknown>>;
  switch (issue.code) {
    case "invalid_type":
      return `expected ${told.expected === "int" ? "integer" : told.expected}`;
    case "invalid_value":
      return `expected ${(told.values as readonly unknown[]).map((value) => JSON.stringify(value)).join(" or ")}`;
    case "invalid_format":
      return `expected the format ${told.pattern ?? told.format}`;
    case "too_small":
      return `expected ${told.inclusive === false ? "more than" : "at least"} ${told.minimum}${unitOf(told.origin)}`;
    case "too_big":
      return `expected ${told.inclusive === false ? "less than" : "at most"} ${told.maximum}${unitOf(told.origin)}`;
    case "not_multiple_of":
      return `expected a multiple of ${told.divisor}`;
    case "unrecognized_keys":
      return "expected no other properties";
    case "invalid_union":
      return "expected one of the documented shapes";
    default:
      return "expected what the document says";
  }
}

function unitOf(origin: unknown): string {
  if (origin === "string") return " characters";
  return origin === "array" || origin === "set" ? " entries" : "";
}
