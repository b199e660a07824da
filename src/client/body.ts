/** Values as text, JSON and fields of a form, for parameters and bodies. Loaded lazily. */
import { invalidOption } from "../options.js";

/** application/json and what is built on it. Text with many values, such as application/json-seq, is not. */
export const jsonType: RegExp = /^[^/;]+\/(?:[^/;]+\+)?json\s*(?:;|$)/i;

export const formType = "application/x-www-form-urlencoded";

/** The fields of a member of a form: a list is repeated, and an object is JSON. */
export function formFields([name, value]: readonly [string, unknown]): [string, string][] {
  return [plain(value)]
    .flat()
    .map(plain)
    .filter((one) => one !== undefined && one !== null)
    .map((one) => [name, isText(one) ? String(one) : jsonOf(one)]);
}

/** A date and the like, as JSON.stringify would write it. */
export function plain(value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("toJSON" in value)) return value;
  return typeof value.toJSON === "function" ? value.toJSON() : value;
}

export function isText(value: unknown): value is string | number | boolean | bigint {
  const type = typeof value;
  return type === "string" || type === "number" || type === "boolean" || type === "bigint";
}

export function formMembers(body: unknown): [string, unknown][] {
  if (Object.prototype.toString.call(body) === "[object Object]") return Object.entries(Object(body));
  throw invalidOption("body", "must be an object, since the operation accepts a form");
}

/** JSON.stringify would write these as `{}`, or as an object of numbered bytes. */
const notJson = /^\[object (?:FormData|Blob|File|URLSearchParams|ReadableStream|ArrayBuffer|\w+Array)\]$/;

export function jsonOf(value: unknown, option = "body"): string {
  if (notJson.test(Object.prototype.toString.call(value)))
    throw invalidOption(option, "must be an object or a list, not a form, bytes or a stream");
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    // The engine's message may quote the value.
  }
  if (text !== undefined) return text;
  const problem = "must be JSON: it is a function, contains a bigint or itself, or its toJSON fails";
  throw invalidOption(option, problem);
}
