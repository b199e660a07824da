/**
 * The secrets of a run, and whether a text repeats one of them or a part of one, in any case or
 * usual encoding.
 */
import { base64url } from "jose";

/**
 * A text that shares so many characters with a secret repeats it. Chance and ordinary words do not
 * come to that.
 */
const longestShared = 12;
/** What is shorter is in every other text. */
const shortest = 4;
/** A deployment can send a token of any length, which must not cost the memory of the machine. */
const mostCharacters = 16_384;

export class Secrets {
  /** Parts of secrets in lower case, because header names are, by their length. */
  readonly #parts = new Map<number, Set<string>>();

  /** Remembers a value that no report may show. What is not a text is ignored. */
  keep(value: unknown): void {
    if (typeof value !== "string" || value.length < shortest) return;
    for (const form of formsOf(value.slice(0, mostCharacters))) {
      const length = Math.min(longestShared, Math.max(shortest, form.length - 2));
      const parts = this.#parts.get(length) ?? new Set();
      for (const part of partsOf(form.toLowerCase(), length)) parts.add(part);
      this.#parts.set(length, parts);
    }
  }

  areIn(text: string): boolean {
    const lower = text.toLowerCase();
    for (const [length, parts] of this.#parts)
      for (const part of partsOf(lower, length)) if (parts.has(part)) return true;
    return false;
  }
}

/** A value as it is, as JSON and URLs have it, and as base64 and hexadecimal digits. */
function formsOf(value: string): ReadonlySet<string> {
  const bytes = new TextEncoder().encode(value);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return new Set([
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value),
    base64,
    base64url.encode(bytes),
    hex,
  ]);
}

function* partsOf(text: string, length: number): Generator<string> {
  for (let start = 0; start + length <= text.length; start++)
    yield text.slice(start, start + length);
}
