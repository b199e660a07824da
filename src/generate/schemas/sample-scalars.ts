/** Strings and numbers that a schema allows, as far as each of its keywords tells alone. */
import RandExp from "randexp";
import type { JsonObject } from "../document/source-file.js";

/** So many different values, and so long a text, at most. */
const MOST_VALUES = 1200;
const MOST_BY_PATTERN = 100;
const MOST_PADDING = 10_000;

const BY_FORMAT: Readonly<Record<string, (index: number) => string>> = {
  "date-time": (index) =>
    new Date(Date.UTC(2026, 0, 1 + index, 12)).toISOString().replace(".000", ""),
  date: (index) => new Date(Date.UTC(2026, 0, 1 + index)).toISOString().slice(0, 10),
  time: (index) => `12:00:${String(index % 60).padStart(2, "0")}Z`,
  duration: (index) => `P${index + 1}D`,
  uuid: (index) =>
    `7f6f2a1e-6c0f-4f2b-9d0b-${(0x0e3c4d1a2b3c + index).toString(16).padStart(12, "0")}`,
  email: (index) => `ada${index || ""}@service.example`,
  hostname: (index) => `service${index || ""}.example`,
  uri: (index) => `https://service.example/${index || ""}`,
  "uri-reference": (index) => `/${index || ""}`,
  ipv4: (index) => `192.0.2.${(index % 254) + 1}`,
  ipv6: (index) => `2001:db8::${(index + 1).toString(16)}`,
  "json-pointer": (index) => `/${index}`,
  "relative-json-pointer": String,
  byte: (index) => Buffer.from(`text${index || ""}`).toString("base64"),
  // For a schema that has only a pattern or a length.
  "": (index) => `text${index || ""}`,
};
const SAME_FORMATS: Readonly<Record<string, string>> = {
  "idn-email": "email",
  "idn-hostname": "hostname",
  iri: "uri",
  url: "uri",
  "iri-reference": "uri-reference",
};

export function* strings(schema: JsonObject): Generator<string> {
  const { minLength = 0, maxLength = MOST_PADDING } = schema as Partial<Record<string, number>>;
  const fitted = (text: string) =>
    text.padEnd(Math.min(minLength, MOST_PADDING), "x").slice(0, maxLength);
  const name = schema.contentEncoding === "base64" ? "byte" : String(schema.format ?? "");
  const format = BY_FORMAT[SAME_FORMATS[name] ?? name] ?? BY_FORMAT[""];
  const patterns = [schema.pattern ?? []].flat().map(String);
  for (let index = 0; index < MOST_VALUES; index += 1) {
    const plain = format?.(index) ?? "";
    for (const pattern of index < MOST_BY_PATTERN ? patterns : []) {
      for (const text of matching(pattern, index, minLength)) {
        yield text.slice(0, maxLength);
        // A pattern that has no end allows more behind it.
        yield text + plain;
      }
    }
    // Cut short, the first texts would be one; their last characters differ.
    yield plain.length > maxLength && index > 0
      ? index.toString(36).slice(-maxLength)
      : fitted(plain);
  }
}

/**
 * Texts of a pattern. Each repetition is as short as it may be, then longer; a higher index takes
 * other characters.
 */
function matching(pattern: string, index: number, length: number): string[] {
  try {
    const expression = new RegExp(pattern);
    const shifts = index === 0 ? [0, 1, 4, length] : [index];
    return shifts.map((shift) => {
      // Letters and digits read better, but a pattern may have a place that takes neither.
      const plain = textOf(expression, shift, LEAST_PLAIN);
      return expression.test(plain) ? plain : textOf(expression, shift, LEAST_PRINTED);
    });
  } catch {
    return [];
  }
}

const LEAST_PRINTED = " ".charCodeAt(0);
const LEAST_PLAIN = "0".charCodeAt(0);

/** A text of characters from the code `least` on. */
function textOf(expression: RegExp, shift: number, least: number): string {
  const made = new RandExp(expression);
  made.defaultRange.subtract(0, least - 1);
  made.max = Math.max(shift, 1);
  made.randInt = (from, to) => from + (shift % (to - from + 1));
  return made.gen();
}

export function* numbers(schema: JsonObject, isInteger: boolean): Generator<number> {
  const { multipleOf, minimum, exclusiveMinimum, maximum, exclusiveMaximum } = schema as Partial<
    Record<string, number>
  >;
  const step = multipleOf ?? 1;
  const low = Math.max(minimum ?? -Infinity, exclusiveMinimum ?? -Infinity);
  const high = Math.min(maximum ?? Infinity, exclusiveMaximum ?? Infinity);
  const start = Number.isFinite(low) ? Math.ceil(low / step) : Math.min(0, Math.floor(high / step));
  const isWhole = isInteger || multipleOf !== undefined;
  if (!isWhole && Number.isFinite(low)) yield low;
  // In each direction, since only the downward one leads away from an upper bound.
  for (let index = 0; index < MOST_VALUES; index += 1) {
    const up = Number(((start + index) * step).toPrecision(15));
    yield up;
    const down = Number(((start - index) * step).toPrecision(15));
    if (index > 0 && down >= low) yield down;
    if (!isWhole) yield Number.isFinite(low + high) ? low + (high - low) / (index + 2) : up + 0.5;
  }
}
