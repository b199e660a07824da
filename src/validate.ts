/**
 * `bivariant/validate`: checks the data of calls against the schemas of the documents.
 * @packageDocumentation
 */
import { schemas as ownSchemas } from "../generated/schemas.js";
import type { Validate, ValidatedAnswer } from "./client-options.js";
import { UnexpectedResponseError, type Variant } from "./errors.js";
import { MOST_ISSUES } from "./json-schema/index.js";
import { invalidOption } from "./options.js";

export type { Validate, ValidatedAnswer } from "./client-options.js";

/** `report` emits the event `response_invalid`; `strict` throws. */
export type ValidationMode = "report" | "strict";

/** The part of a generated schemas.ts that is used here. */
export type ValidationSchemas = Readonly<Record<Variant, SchemasOfVariant>>;

interface SchemasOfVariant {
  readonly operations: {
    readonly [operationId: string]: {
      readonly responses: Readonly<Record<string, () => ResponseSchema>>;
    };
  };
}

/**
 * The part of a generated schema that is used here. The schema may come from another copy of zod.
 */
export interface ResponseSchema {
  /** Returns what is wrong with the data, and does not throw. */
  safeParse(data: unknown): {
    readonly error?: { readonly issues: readonly ResponseIssue[] } | undefined;
  };
}

/** One thing that is wrong with the data of an answer, as zod reports it. */
export interface ResponseIssue {
  readonly message: string;
  readonly params?: Readonly<Record<string, unknown>> | undefined;
}

/** Further issues are only counted, because every row of a long list may be wrong. */
const mostIssues = 20;

/**
 * Makes the `validate` of `connect`. It checks the data of a success and changes nothing: unknown
 * keys survive. Operations and statuses without a schema pass. An issue names a path and the
 * expected shape, never a value.
 *
 * @param schemas the schemas.ts generated from documents of your own. Pass it whenever you pass
 *   `connect({ api })` the operations.ts next to it; otherwise `connect` refuses the `validate`.
 *   Default: the shipped one.
 * @throws ConfigurationError `option_invalid`
 * @example
 * const service = await connect({ baseUrl, tenantId, credentials, validate: validator("strict") });
 */
export function validator(
  mode: ValidationMode,
  schemas: ValidationSchemas | { readonly schemas: ValidationSchemas } = ownSchemas,
): Validate {
  if (mode !== "report" && mode !== "strict")
    throw invalidOption("mode", 'must be "report" or "strict"');
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
      `${operationId} was answered ${status}, but the data does not match the ` +
        `document: ${issues.join("; ")}`,
      { status, variant, issues },
    );
  };
  return Object.assign(validate, { schemas: { A, B } });
}

function issuesOf(
  { operationId, status, data }: ValidatedAnswer,
  { operations }: SchemasOfVariant,
): string[] {
  // `default` describes refusals, which are not checked.
  const issues =
    operations[operationId]?.responses?.[status]?.().safeParse(data).error?.issues ?? [];
  const shown = issues.slice(0, mostIssues).map(({ message, params }) =>
    // A schema that `generate` did not write may quote the data.
    typeof params?.place === "string"
      ? `${params.place}: ${message}`
      : "$: expected the documented shape",
  );
  const rest = issues.length - shown.length;
  if (rest === 0) return shown;
  return [...shown, issues.length < MOST_ISSUES ? `and ${rest} more` : `and at least ${rest} more`];
}
