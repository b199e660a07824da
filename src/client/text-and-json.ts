/** Values as text and JSON, for parameters and bodies. Loaded lazily. */
import { invalidOption, isPlain } from "../options.js";
import { isJson } from "./request.js";

/**
 * application/json and what is built on it. Text with many values, such as application/json-seq, is
 * not.
 */
export const jsonType: RegExp = /^[^/;]+\/(?:[^/;]+\+)?json\s*(?:;|$)/i;

export const formType = "application/x-www-form-urlencoded";

/**
 * A date and the like, as JSON.stringify would write it. A Buffer of Node stays what it is, bytes.
 */
export function plain(value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("toJSON" in value)) return value;
  return typeof value.toJSON === "function" && !ArrayBuffer.isView(value) ? value.toJSON() : value;
}

/** UTF-8 has no form for half a surrogate pair: another character would arrive. */
export function textOf(value: string | number | boolean | bigint, option: string): string {
  const text = String(value);
  if (/\p{Surrogate}/u.test(text))
    throw invalidOption(option, "holds half a surrogate pair, which no text can hold");
  return text;
}

export function formMembers(body: unknown): [string, unknown][] {
  if (isPlain(body))
    return Object.entries(Object(body)).map(([name, value]) => [textOf(name, "body"), value]);
  throw invalidOption("body", "must be an object, since the operation accepts a form");
}

export function jsonOf(value: unknown, option = "body"): string {
  let text: string | undefined;
  try {
    if (isJson(value)) text = JSON.stringify(value);
  } catch {
    // The engine's message may quote the value.
  }
  if (text !== undefined) return text;
  throw invalidOption(
    option,
    "must be JSON, without a bigint, a circle, NaN, a Map, undefined in a list and the like",
  );
}
