/** JSON that a terminal shows as it is: what a server sent must not move the cursor or turn the text around. */

/** DEL and C1 controls, line and paragraph separators, and the marks that reorder text. */
const unprintable = /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Still the same JSON: such characters stand in strings only, where an escape means the same. */
export function printableJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent) ?? "null";
  return text.replace(unprintable, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
