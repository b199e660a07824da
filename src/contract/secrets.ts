/** The secrets of a run, and whether a text repeats one of them or a part of one. */

/** A text that shares so many characters with a secret repeats it. Chance and ordinary words do not come to that. */
const longestShared = 12;

export class Secrets {
  readonly #parts = new Set<string>();
  readonly #short = new Set<string>();

  /** Remembers a value that no report may show, also as JSON and URLs encode it. Others than texts are ignored. */
  keep(value: unknown): void {
    if (typeof value !== "string" || value.length < 6) return;
    for (const form of new Set([value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value)]))
      if (form.length < longestShared) this.#short.add(form);
      else for (const part of partsOf(form)) this.#parts.add(part);
  }

  areIn(text: string): boolean {
    for (const part of partsOf(text)) if (this.#parts.has(part)) return true;
    return [...this.#short].some((secret) => text.includes(secret));
  }
}

function* partsOf(text: string): Generator<string> {
  for (let start = 0; start + longestShared <= text.length; start++)
    yield text.slice(start, start + longestShared);
}
