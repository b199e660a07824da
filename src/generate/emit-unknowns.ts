/** Emits unknowns.ts: what the documents mark with `x-not-shown`, one entry per id. */
import { type Document, documentError, VARIANTS, type Variant } from "./document.js";
import { isObject, pointerTo } from "./json-pointer.js";
import { fileHeader, prettyLiteral } from "./source-text.js";
import { walkDocument } from "./walk-document.js";

interface Unknown {
  readonly id: string;
  readonly section: string;
  readonly says: string;
  readonly variants: Variant[];
  readonly pointers: Partial<Record<Variant, string[]>>;
}

/** @throws {GenerateError} not_shown_invalid */
export function emitUnknowns(documents: readonly Document[]): string {
  const unknowns = new Map<string, Unknown>();
  for (const document of documents) collect(document, unknowns);
  const list = [...unknowns.values()].sort(
    (a, b) => compareSections(a.section, b.section) || (a.id < b.id ? -1 : 1),
  );
  return [
    fileHeader("What the description does not show, from the x-not-shown marks of the documents.", documents),
    DECLARATION,
    `export const unknowns: readonly Unknown[] = ${prettyLiteral(list)};\n`,
  ].join("\n");
}

const DECLARATION = `export interface Unknown {
  readonly id: string;
  /** Section of the description that leaves it open. */
  readonly section: string;
  readonly says: string;
  readonly variants: readonly (${VARIANTS.map((variant) => `"${variant}"`).join(" | ")})[];
  /** Where the marks stand: JSON pointers into the document of each variant. */
  readonly pointers: { ${VARIANTS.map((variant) => `readonly ${variant}?: readonly string[]`).join("; ")} };
}
`;

function collect(document: Document, unknowns: Map<string, Unknown>): void {
  walkDocument(document.root, (value, pointer) => {
    const marks = value["x-not-shown"];
    if (marks === undefined) return;
    const place = pointerTo(pointer, "x-not-shown");
    if (!Array.isArray(marks)) throw invalid(document, place, "must be a list of { id, section, says }");
    for (const [index, mark] of marks.entries()) {
      const { id, section, says } = readMark(document, mark, pointerTo(place, index));
      const known = unknowns.get(id) ?? { id, section, says, variants: [], pointers: {} };
      if (known.section !== section || known.says !== says) {
        throw invalid(
          document,
          pointerTo(place, index),
          `${id} is described in another way at another place`,
        );
      }
      if (!known.variants.includes(document.variant)) known.variants.push(document.variant);
      known.pointers[document.variant] = [...(known.pointers[document.variant] ?? []), pointer];
      unknowns.set(id, known);
    }
  });
}

function readMark(
  document: Document,
  mark: unknown,
  pointer: string,
): Pick<Unknown, "id" | "section" | "says"> {
  if (isObject(mark)) {
    const { id, section, says } = mark;
    const texts = typeof id === "string" && typeof section === "string" && typeof says === "string";
    if (texts && /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(id) && says !== "") return { id, section, says };
  }
  throw invalid(document, pointer, "needs id (kebab-case), section and says, each a string");
}

function invalid(document: Document, pointer: string, message: string): Error {
  return documentError(document, "not_shown_invalid", pointer, message);
}

function compareSections(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}
