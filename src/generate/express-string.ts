/** The keywords of strings as patterns: zod counts UTF-16 units, JSON Schema counts characters. */
import { checkPattern } from "./check-pattern.js";
import type { Expression } from "./expression.js";
import { type JsonObject, pointerTo } from "./json-pointer.js";

const CHARACTER = "(?:[\\uD800-\\uDBFF][\\uDC00-\\uDFFF]|(?![\\uD800-\\uDBFF][\\uDC00-\\uDFFF])[\\s\\S])";
const LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";

// zod's own checks differ here: a time without seconds, the versions of UUIDs, hosts without a dot.
const FORMAT_PATTERNS: Readonly<Record<string, string>> = {
  "date-time":
    "[Tt\\s](?:[01]\\d|2[0-3]):[0-5]\\d:(?:[0-5]\\d|60)(?:\\.\\d+)?(?:[Zz]|[+-]\\d\\d(?::?\\d\\d)?)$",
  uuid: "^(?:urn:uuid:)?[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}$",
  email: `^[A-Za-z0-9.!#$%&'*+/=?^_\`{|}~-]+@${LABEL}(?:\\.${LABEL})+$`,
};

/** Formats whose check in zod means the same. Every other format is an annotation, as in JSON Schema itself. */
const FORMATS: ReadonlySet<string> = new Set(["date", "ipv4", "ipv6", "uri"]);

/** One entry per pattern or format, as zod takes one of each. */
export function expressString(source: JsonObject, pointer: string, to: Expression): JsonObject[] {
  const found: JsonObject[] = [];
  const { minLength: least, maxLength: most, pattern, format } = source;
  if (typeof pattern === "string") {
    checkPattern(pattern, pointerTo(pointer, "pattern"), to);
    found.push({ pattern });
  }
  if (least === 1 && most === undefined) found.push({ minLength: 1 });
  else if (least !== undefined || most !== undefined) {
    found.push({ pattern: `^${CHARACTER}{${least ?? 0},${most ?? ""}}$` });
  }
  if (typeof format === "string") found.push(...expressFormat(format));
  return found;
}

function expressFormat(format: string): JsonObject[] {
  const pattern = FORMAT_PATTERNS[format];
  if (format === "date-time") return [{ pattern: `^${DATE}${pattern}` }];
  if (pattern !== undefined) return [{ pattern }];
  return FORMATS.has(format) ? [{ format }] : [];
}

// RFC 3339 full-date; the 29th of February is left to every year, as one pattern cannot count centuries briefly.
const DATE =
  "\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|[12]\\d))";
