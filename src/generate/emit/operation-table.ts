/**
 * The runtime table of operations. It names only what is not the default, since every program that
 * calls has it.
 */
import type { Variant } from "../document/document.js";
import type { ListedDocument, Operation } from "../operations/list-operations.js";
import {
  type Content,
  isJson,
  mediaTypeSent,
  type Parameter,
  type Response,
} from "../operations/messages.js";
import { isFilledIn, isNeeded, isParameter, isSuccess } from "./call-types.js";

/** One row of the runtime table; it also has the other members of `OperationEntry`. */
export type OperationRow = Pick<Operation, "method" | "path" | "scope">;

export function operationTable({
  variant,
  operations,
}: ListedDocument): Readonly<Record<string, OperationRow>> {
  const rows = operations.map(({ id, method, path, responses, body, ...operation }) => {
    const statuses = responses.flatMap((response) => response.statuses).sort((a, b) => a - b);
    const parameters = operation.parameters.flatMap((parameter) =>
      parameterEntry(variant, parameter),
    );
    const unusual = responses.filter(isUnusual);
    // Beside such a range a success of JSON would look like one of the range.
    const isInRange = unusual.some(({ key }) => /^2XX$/i.test(key));
    const written = responses.filter(
      (one) => unusual.includes(one) || (isInRange && one.key[0] === "2" && one.all.length > 0),
    );
    const answers = Object.fromEntries(written.map(answerEntry));
    const entry = {
      method,
      path,
      success: statuses.filter(isSuccess),
      failure: statuses.filter((status) => !isSuccess(status)),
      ...(parameters.length > 0 && { parameters }),
      ...(body && {
        contentType: mediaTypeSent(body) ?? body.mediaType,
        ...contentsEntry(body.all),
      }),
      ...(body?.required && { bodyRequired: true }),
      ...(Object.keys(answers).length > 0 && { answers }),
      ...(operation.anonymous && { anonymous: true }),
      ...(operation.scope !== undefined && { scope: operation.scope }),
      ...(operation.deviceParameter !== undefined && {
        deviceParameter: operation.deviceParameter,
      }),
      ...(!operation.takesPluginTokens && { takesPluginTokens: false }),
    };
    return [id, entry] as const;
  });
  return Object.fromEntries(rows);
}

function parameterEntry(variant: Variant, parameter: Parameter): object[] {
  const { in: place, name, form } = parameter;
  const isRequired = place !== "path" && isNeeded(variant, parameter);
  if (!isParameter(parameter) || isFilledIn(variant, parameter)) return [];
  if (!isRequired && place !== "cookie" && Object.keys(form).length === 0) return [];
  return [{ in: place, name, ...(isRequired && { required: true }), ...form }];
}

function contentsEntry(all: readonly Content[]): object {
  const [first, second] = all;
  const isUsual =
    second === undefined &&
    !first?.mediaType.includes("*") &&
    Object.keys(first?.encoding ?? {}).length === 0;
  if (isUsual) return {};
  return {
    contents: Object.fromEntries(all.map(({ mediaType, encoding }) => [mediaType, encoding])),
  };
}

/** Whether an answer has other media types than the client expects without a row of the table. */
function isUnusual({ statuses: [status = 0], all }: Response): boolean {
  const isUsual = isSuccess(status)
    ? (mediaType: string) => /^application\/json\s*(?:;|$)/i.test(mediaType)
    : (mediaType: string) => isJson(mediaType) || mediaType === "*/*";
  return !all.every(({ mediaType }) => isUsual(mediaType));
}

function answerEntry({ key, all }: Response): [key: string, types: string[]] {
  return [key.toUpperCase().replace("DEFAULT", "default"), all.map(({ mediaType }) => mediaType)];
}
