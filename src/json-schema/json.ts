/** JSON values: which kind a value is, and pointers into it (RFC 6901). */

export type JsonObject = { readonly [key: string]: unknown };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value if it is an object, else an empty one. */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

export function entriesOf(value: unknown): [name: string, value: unknown][] {
  return Object.entries(objectOf(value));
}

/** The value if it is a list, else an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function pointerTo(base: string, ...keys: readonly (string | number)[]): string {
  const encode = (key: string | number) => String(key).replaceAll("~", "~0").replaceAll("/", "~1");
  return [base, ...keys.map(encode)].join("/");
}

export function keysOf(pointer: string): string[] {
  const tokens = pointer.split("/").slice(1);
  return tokens.map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}
