/** Emits the lookup types of one variant: the arguments and answers of each operation, by operationId. */
import type { Variant } from "./document.js";
import { type Operation, type Parameter, PLACES, type Response } from "./operations.js";
import { literal, propertyName } from "./source-text.js";

/** Parameters that the client fills in, so that a caller may leave them out. */
const FILLED_IN: Readonly<Record<Variant, ReadonlySet<string>>> = { A: new Set(["tenantId"]), B: new Set() };
/** X-Envelope is an option of each call; OpenAPI ignores the other three as parameters (3.1, Parameter Object). */
const IGNORED_HEADERS: ReadonlySet<string> = new Set([
  "x-envelope",
  "accept",
  "content-type",
  "authorization",
]);

/** Emits only direct lookups: with a thousand operations conditional types take the compiler seconds. */
export function callTypes(
  variant: Variant,
  operations: readonly Operation[],
  otherStatusName: (responses: readonly Response[]) => string,
): string {
  const inits = operations.map(
    (operation) => `  ${propertyName(operation.id)}: ${initType(variant, operation)};\n`,
  );
  const calls = operations.map((operation) => {
    const key = literal(operation.id);
    const answer = (response: Response) => bodyType(variant, operation, response);
    const otherBody = operation.responses.find((response) => response.key === "default");
    return [
      `  ${propertyName(operation.id)}: {\n`,
      `    args: [init${initRequired(variant, operation) ? "" : "?"}: Inits${variant}[${key}]];\n`,
      `    success: ${statusTable(operation, isSuccess, answer)};\n`,
      `    failure: ${statusTable(operation, (status) => !isSuccess(status), answer)};\n`,
      `    other: ${otherStatusName(operation.responses)};\n`,
      ...(otherBody ? [`    otherBody: ${answer(otherBody)};\n`] : []),
      "  };\n",
    ].join("");
  });
  return [
    `/** Variant ${variant}: the options of each call. */\nexport interface Inits${variant} {\n${inits.join("")}}\n`,
    `/** Variant ${variant}: arguments and answers of each call. */\nexport interface Operations${variant} {\n${calls.join("")}}\n`,
  ].join("\n");
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Whether the document requires a body or a parameter that only the caller knows. */
export function initRequired(variant: Variant, operation: Operation): boolean {
  return (
    operation.body?.required === true ||
    operation.parameters.some((parameter) => isNeeded(variant, parameter))
  );
}

function isNeeded(variant: Variant, parameter: Parameter): boolean {
  return parameter.required && isParameter(parameter) && !isFilledIn(variant, parameter);
}

function isFilledIn(variant: Variant, parameter: Parameter): boolean {
  return parameter.in === "path" && FILLED_IN[variant].has(parameter.name);
}

function isParameter(parameter: Parameter): boolean {
  return parameter.in !== "header" || !IGNORED_HEADERS.has(parameter.name.toLowerCase());
}

function initType(variant: Variant, operation: Operation): string {
  const own = `${variant}.operations[${literal(operation.id)}]`;
  const fields: string[] = [];
  const groups = PLACES.flatMap((place) => parameterGroup(variant, operation, own, place));
  if (groups.length > 0) {
    const needed = operation.parameters.some((parameter) => isNeeded(variant, parameter));
    fields.push(`params${needed ? "" : "?"}: { ${groups.join("; ")} }`);
  }
  if (operation.body) {
    const { mediaType, required } = operation.body;
    const holder = required ? `${own}["requestBody"]` : `NonNullable<${own}["requestBody"]>`;
    fields.push(`body${required ? "" : "?"}: ${holder}["content"][${literal(mediaType)}]`);
  }
  return fields.length === 0 ? "CallOptions" : `{ ${fields.join("; ")} } & CallOptions`;
}

function parameterGroup(
  variant: Variant,
  operation: Operation,
  own: string,
  place: Parameter["in"],
): string[] {
  const all = operation.parameters.filter((parameter) => parameter.in === place);
  const kept = all.filter(isParameter);
  if (kept.length === 0) return [];
  const mark = kept.some((parameter) => isNeeded(variant, parameter)) ? "" : "?";
  const group = `NonNullable<${own}["parameters"][${literal(place)}]>`;
  const whole = kept.length === all.length && !kept.some((parameter) => isFilledIn(variant, parameter));
  if (whole) return [`${place}${mark}: ${group}`];
  const fields = kept.map((parameter) => {
    const optional = isNeeded(variant, parameter) ? "" : "?";
    const lookup = `${group}[${literal(parameter.name)}]`;
    // The lookup of an optional property includes undefined, which would be accepted despite exactOptionalPropertyTypes.
    const type = parameter.required ? lookup : `NonNullable<${lookup}>`;
    return `${propertyName(parameter.name)}${optional}: ${parameter.keyword ?? type}`;
  });
  return [`${place}${mark}: { ${fields.join("; ")} }`];
}

function statusTable(
  operation: Operation,
  include: (status: number) => boolean,
  answer: (response: Response) => string,
): string {
  const rows = operation.responses
    .flatMap((response) => response.statuses.map((status) => ({ status, response })))
    .filter(({ status }) => include(status))
    .sort((a, b) => a.status - b.status);
  if (rows.length === 0) return "Record<never, never>";
  return `{\n${rows.map(({ status, response }) => `      ${status}: ${answer(response)};\n`).join("")}    }`;
}

function bodyType(variant: Variant, operation: Operation, response: Response): string {
  if (response.content === undefined) return "undefined";
  const key = /^\d+$/.test(response.key) ? response.key : literal(response.key);
  return `${variant}.operations[${literal(operation.id)}]["responses"][${key}]["content"][${literal(response.content.mediaType)}]`;
}
